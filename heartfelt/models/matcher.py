"""What all retrieval models do: a context and a reply become vectors, and their product says how well they match.

A batch's other replies are what the right one is told from (rashkin2019), so batches are large; they are encoded in
chunks (heartfelt/models/chunks.py).
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.nn.functional import all_gather
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue
from heartfelt.models.backbone import separator
from heartfelt.models.chunks import Encoder, in_chunks
from heartfelt.models.heads import UNLABELLED, Heads, Lesson

Both = tuple[Tensor, Tensor]  # of contexts and of replies
NO_REPLY = -1  # in place of a reply's number: this row is there for its labels


class Matcher(PreTrainedModel):
    read_context: Encoder  # what the encoder says of a text; heads read it
    read_reply: Encoder
    scale: float = 1.0  # of the products, before softmax
    heads: Heads | None  # labels that are learned beside
    head_weight: float = 1.0
    recompute: bool = True  # chunk by chunk for the gradient: slower than keeping it all, in little memory
    both_ways: bool = False  # a reply also learns which context it answers
    word_dropout: float = 0.0  # of tokens that are left out in training, others each time
    learns_fits: bool = False  # from another retrieval model: its lesson is of vectors, and not of labels
    accepts_loss_kwargs = False

    def place_context(self, read: Tensor) -> Tensor:
        """Where a context lies among replies."""
        return read

    def place_reply(self, read: Tensor) -> Tensor:
        return read

    def contexts(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.place_context(self.in_chunks(self.read_context, ids, mask))

    def replies(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.place_reply(self.in_chunks(self.read_reply, ids, mask))

    def classify(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        """What the heads say of contexts: (batch, all classes)"""
        if self.heads is None:
            raise InvalidValue("This retrieval model has learned no labels (settings.heads)")
        return {"logits": self.heads(self.in_chunks(self.read_context, input_ids, attention_mask))}

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        reply_ids: Tensor,
        reply_mask: Tensor,
        labels: Tensor | None = None,
        smoothing: float = 0.0,
        lesson: Lesson | None = None,
        **others: Any,
    ) -> dict[str, Tensor]:
        """Contexts and their replies, (batch, tokens) each → (batch, 2, size) vectors.

        labels: (batch, 2 + heads); the first two number distinct replies and distinct contexts.
        lesson: a teacher's logits for contexts and replies, (batch, 2, all classes); or its vectors, (batch, 2, size).
        """
        if self.training and self.word_dropout:
            input_ids, attention_mask = thinned(input_ids, attention_mask, self.word_dropout)
            reply_ids, reply_mask = thinned(reply_ids, reply_mask, self.word_dropout)
        groups = None if labels is None else labels[:, :2]
        read, placed, loss = self.matched(input_ids, attention_mask, reply_ids, reply_mask, groups)
        found = {"logits": torch.stack(placed, 1)}
        if labels is not None and loss is not None:
            if lesson is not None and self.learns_fits:
                learned = self.scale * placed[0] @ placed[1].T
                taught = fits_as_taught(learned, lesson, labels[:, 0] != NO_REPLY, self.both_ways)
                loss, lesson = (1 - lesson.weight) * loss + lesson.weight * taught, None
            if self.heads is not None:
                told = self._told(self.heads, *read, labels[:, 2:], smoothing, lesson)
                loss = loss + self.head_weight * told
            found["loss"] = loss
        return found

    def matched(
        self, ids: Tensor, mask: Tensor, reply_ids: Tensor, reply_mask: Tensor, groups: Tensor | None
    ) -> tuple[Both, Both, Tensor | None]:
        """What was read of contexts and of replies, where they lie, and the loss where groups (batch, 2) are known."""
        context = self.in_chunks(self.read_context, ids, mask)
        reply = self.in_chunks(self.read_reply, reply_ids, reply_mask)
        contexts, replies = self.place_context(context), self.place_reply(reply)
        loss = (
            None if groups is None else matching_loss(contexts, replies, groups, self.scale, self.both_ways)
        )
        return (context, reply), (contexts, replies), loss

    def _told(
        self,
        heads: Heads,
        context: Tensor,
        reply: Tensor,
        labels: Tensor,
        smoothing: float,
        lesson: Lesson | None,
    ) -> Tensor:
        """The heads' loss: labels are of contexts; a teacher also says what replies express."""
        if lesson is None:
            return heads.loss(heads(context), labels, smoothing)
        of_contexts, of_replies = (
            Lesson(lesson.logits[:, side], lesson.weight, lesson.temperature) for side in (0, 1)
        )
        unlabelled = torch.full_like(labels, UNLABELLED)
        return heads.loss(heads(context), labels, smoothing, of_contexts) + heads.loss(
            heads(reply), unlabelled, smoothing, of_replies
        )

    def in_chunks(self, encode: Encoder, ids: Tensor, mask: Tensor) -> Tensor:
        return in_chunks(encode, ids, mask, self.recompute)


def thinned(ids: Tensor, mask: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """(batch, tokens) without a share of each text's tokens, drawn by chance; the first one stays."""
    stays = (torch.rand(ids.shape, device=ids.device) >= share) & (mask > 0)
    stays[:, 0] = True
    order = (~stays).long().argsort(dim=1, stable=True)  # what stays moves to the front, in its order
    return ids.gather(1, order), stays.gather(1, order).to(mask.dtype)


def matching_loss(
    contexts: Tensor, replies: Tensor, groups: Tensor, scale: float, both_ways: bool = False
) -> Tensor:
    """Cross entropy of the right reply among all of the batch, over all processes; both ways: half of it is that of the
    right context among all contexts.

    A reply that is equal to the right one, or that was given to an equal context, is no wrong one.
    """
    loss = _one_way(contexts, replies, groups, scale)
    return (loss + _one_way(replies, contexts, groups, scale)) / 2 if both_ways else loss


def _one_way(asked: Tensor, answers: Tensor, groups: Tensor, scale: float) -> Tensor:
    rank = 0
    everywhere, theirs = answers, groups
    if dist.is_available() and dist.is_initialized() and torch.is_grad_enabled():
        rank = dist.get_rank()
        everywhere, theirs = torch.cat(all_gather(answers)), torch.cat(all_gather(groups))
    right = torch.arange(len(asked), device=asked.device) + rank * len(asked)
    return right_one(scale * asked @ everywhere.T, groups, theirs, right)


def fits_as_taught(scores: Tensor, lesson: Lesson, known: Tensor, both_ways: bool) -> Tensor:
    """How far a batch's chances (batch, batch) are from a teacher's (Kullback-Leibler), within each process.

    What also fits a context is no wrong reply to a teacher: a student learns more of it than which one was given.
    known: (batch,) which rows have a reply.
    """
    contexts, replies = lesson.logits.float().unbind(1)
    told = contexts @ replies.T
    ways = [(scores, told), (scores.T, told.T)] if both_ways else [(scores, told)]
    losses = []
    for here, there in ways:
        ours, theirs = (
            F.log_softmax(one[:, known][known] / lesson.temperature, dim=-1) for one in (here, there)
        )
        losses.append(F.kl_div(ours, theirs, reduction="batchmean", log_target=True))
    return torch.stack(losses).mean() * lesson.temperature**2


def right_one(scores: Tensor, groups: Tensor, theirs: Tensor, right: Tensor) -> Tensor:
    """Cross entropy of the right one in each row of (batch, batch of all) scores; groups: of rows and of columns."""
    hidden = (groups[:, None] == theirs[None]).any(-1) | (theirs[:, 0] == NO_REPLY)
    hidden[torch.arange(len(right)), right] = False
    losses = F.cross_entropy(scores.masked_fill(hidden, float("-inf")), right, reduction="none")
    return (losses * (groups[:, 0] != NO_REPLY)).mean()


def unit(vectors: Tensor, normal: bool) -> Tensor:
    return F.normalize(vectors, dim=-1) if normal else vectors


def own_projection(wide: int, size: int) -> nn.Linear:
    """A linear layer that at first takes the first numbers as they are."""
    layer = nn.Linear(wide, size, bias=False)
    nn.init.eye_(layer.weight)
    return layer


def learn_as(model: Matcher, settings: Any) -> None:
    """What only matters in training, and is no part of the model that is kept."""
    model.recompute, model.both_ways = settings.recompute, settings.both_ways
    model.word_dropout = settings.word_dropout


def refuse_unreadable(settings: Any) -> None:
    if not 0 <= settings.word_dropout < 1:
        raise InvalidValue(f"settings.word_dropout is from 0 up to below 1, not {settings.word_dropout}")
    if settings.window < 1 or min(settings.max_tokens, settings.max_reply_tokens) < 16:
        raise InvalidValue("settings: window is at least 1, max_tokens and max_reply_tokens at least 16")


def encode_context(settings: Any, tokenizer: Tokenizer, turns: Sequence[Turn], label: str = "") -> list[int]:
    """The last turns as one text; of a long one, the end."""
    text = separator(tokenizer).join(turn.text for turn in turns[-settings.window :])
    return _encode(tokenizer, text, label, settings.max_tokens, "left")


def encode_reply(settings: Any, tokenizer: Tokenizer, text: str, label: str = "") -> list[int]:
    """Of a long reply, the start."""
    return _encode(tokenizer, text, label, settings.max_reply_tokens, "right")


def _encode(tokenizer: Tokenizer, text: str, label: str, limit: int, side: str) -> list[int]:
    """The label comes first, and is there however long the text is."""
    words: list[int] = tokenizer(label, add_special_tokens=False)["input_ids"] if label else []
    tokenizer.truncation_side = side
    first, *rest = tokenizer(text, truncation=True, max_length=limit - len(words))["input_ids"]
    return [first, *words, *rest]
