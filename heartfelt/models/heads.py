"""Classification heads that share one vector: several label sets, each example labelled for some of them."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

UNLABELLED = -100


class Heads(nn.Module):
    """One linear layer a head, and their common loss."""

    def __init__(self, size: int, classes: dict[str, int], dropout: float = 0.1) -> None:
        super().__init__()
        self.classes = dict(classes)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleDict({name: nn.Linear(size, count) for name, count in classes.items()})

    def forward(self, vector: Tensor) -> Tensor:
        """(batch, size) → (batch, all classes of all heads), head after head."""
        vector = self.dropout(vector)
        return torch.cat([layer(vector) for layer in self.layers.values()], dim=-1)

    def loss(self, logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
        """Cross entropy, (batch, heads) labels. The sum over an example's heads, averaged over the batch: so the
        mean over equal shards of a batch is the mean over the batch, and two processes learn what one would."""
        parts = logits.split(list(self.classes.values()), dim=-1)
        losses = [
            F.cross_entropy(
                part, labels[:, i], ignore_index=UNLABELLED, reduction="sum", label_smoothing=smoothing
            )
            for i, part in enumerate(parts)
        ]
        return torch.stack(losses).sum() / len(labels)


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
        **others: Tensor,
    ) -> dict[str, Tensor]:
        logits = self.heads(self.vector(input_ids, attention_mask, **others))
        if labels is None:
            return {"logits": logits}
        return {"loss": self.heads.loss(logits, labels, smoothing), "logits": logits}
