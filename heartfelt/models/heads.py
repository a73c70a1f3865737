"""Classification heads that share one vector: several label sets, each example labelled for some of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

UNLABELLED = -100


Classes = Mapping[str, int] | Sequence[Sequence[Any]]


def ordered(classes: Classes | None) -> list[tuple[str, int]]:
    """Head and number of labels, as a config must keep them: transformers sorts the keys of what it saves, and heads
    in another order would read each other's outputs."""
    pairs = classes.items() if isinstance(classes, Mapping) else classes or ()
    return [(str(name), int(count)) for name, count in pairs]


class Lesson(NamedTuple):
    """What a teacher says of a batch, and how much it counts."""

    logits: Tensor  # (batch, all classes); NaN for a head that the teacher does not have
    weight: float
    temperature: float


class Heads(nn.Module):
    """One linear layer a head, and their common loss."""

    def __init__(self, size: int, classes: Classes, dropout: float = 0.1) -> None:
        super().__init__()
        self.size = size
        self.classes: dict[str, int] = dict(ordered(classes))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleDict({name: nn.Linear(size, count) for name, count in self.classes.items()})

    def forward(self, vector: Tensor) -> Tensor:
        """(batch, size) → (batch, all classes of all heads), head after head."""
        vector = self.dropout(vector)
        return torch.cat([layer(vector) for layer in self.layers.values()], dim=-1)

    def loss(
        self, logits: Tensor, labels: Tensor, smoothing: float = 0.0, lesson: Lesson | None = None
    ) -> Tensor:
        """Cross entropy, (batch, heads) labels. The sum over an example's heads, averaged over the batch: so the
        mean over equal shards of a batch is the mean over the batch, and two processes learn what one would."""
        sizes = list(self.classes.values())
        parts = logits.split(sizes, dim=-1)
        taught = lesson.logits.split(sizes, dim=-1) if lesson else [None] * len(sizes)
        losses = []
        for i, (part, teacher) in enumerate(zip(parts, taught, strict=True)):
            loss = F.cross_entropy(
                part, labels[:, i], ignore_index=UNLABELLED, reduction="none", label_smoothing=smoothing
            )
            if lesson and teacher is not None:
                loss = _with_lesson(loss, part, teacher, lesson)
            losses.append(loss.sum())
        return torch.stack(losses).sum() / len(labels)


def _with_lesson(loss: Tensor, logits: Tensor, teacher: Tensor, lesson: Lesson) -> Tensor:
    """(batch,) loss of one head, part of it replaced by the distance to the teacher's chances.

    The square of the temperature keeps gradients as large as those of the labels (Hinton et al. 2015).
    """
    heard = ~teacher.isnan().any(-1)
    wanted = torch.softmax(teacher.nan_to_num() / lesson.temperature, -1)
    given = torch.log_softmax(logits / lesson.temperature, -1)
    distance = lesson.temperature**2 * F.kl_div(given, wanted, reduction="none").sum(-1)
    return torch.where(heard, (1 - lesson.weight) * loss + lesson.weight * distance, loss)


class Classifier(PreTrainedModel):
    """What all our classifiers do: a text becomes a vector, in a way of its own, and the heads read it."""

    heads: Heads
    # Token ids and mask, (batch, tokens), padded right, and what else the model's `encode` tells → (batch, size)
    vector: Callable[..., Tensor]
    accepts_loss_kwargs = (
        False  # forward's other keywords are inputs, whatever transformers' Trainer may think
    )

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor | None = None,
        smoothing: float = 0.0,
        lesson: Lesson | None = None,
        **others: Tensor,
    ) -> dict[str, Tensor]:
        logits = self.heads(self.vector(input_ids, attention_mask, **others))
        if labels is None:
            return {"logits": logits}
        return {"loss": self.heads.loss(logits, labels, smoothing, lesson), "logits": logits}
