"""What all retrieval models do: a context and a reply become vectors, and their product says how well they match.

A batch's other replies are what the right one is told from (rashkin2019), so batches are large; they are encoded in
chunks, and what the encoder computed on the way is computed again for the gradient, chunk by chunk: a batch of 512
takes the memory of one of 64 (gradient caching, Gao et al. 2021).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.nn.functional import all_gather
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Turn
from heartfelt.models.backbone import separator
from heartfelt.models.heads import Heads

CHUNK = 64  # texts that are encoded at once

Encoder = Callable[[Tensor, Tensor], Tensor]  # (texts, tokens) ids and mask → (texts, size)


class Matcher(PreTrainedModel):
    contexts: Encoder
    replies: Encoder
    scale: float = 1.0  # of the products, before softmax
    heads: Heads | None = None  # labels that a context's vector tells too
    head_weight: float = 1.0
    accepts_loss_kwargs = False

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        reply_ids: Tensor,
        reply_mask: Tensor,
        labels: Tensor | None = None,
        smoothing: float = 0.0,
        **others: Any,
    ) -> dict[str, Tensor]:
        """Contexts and their replies, (batch, tokens) each → (batch, 2, size) vectors.

        labels: (batch, 2 + heads); the first two number distinct replies and distinct contexts.
        """
        contexts = self.in_chunks(self.contexts, input_ids, attention_mask)
        replies = self.in_chunks(self.replies, reply_ids, reply_mask)
        found = {"logits": torch.stack([contexts, replies], 1)}
        if labels is not None:
            found["loss"] = matching_loss(contexts, replies, labels[:, :2], self.scale)
            if self.heads is not None:
                told = self.heads.loss(self.heads(contexts), labels[:, 2:], smoothing)
                found["loss"] = found["loss"] + self.head_weight * told
        return found

    def in_chunks(self, encode: Encoder, ids: Tensor, mask: Tensor) -> Tensor:
        """Texts of like length together, so that little is padding."""
        lengths = mask.sum(1)
        order = lengths.argsort(descending=True, stable=True)
        parts = []
        for rows in order.split(CHUNK):
            longest = int(lengths[rows[0]])
            part = ids[rows, :longest], mask[rows, :longest]
            again = torch.is_grad_enabled() and len(ids) > CHUNK
            parts.append(checkpoint(encode, *part, use_reentrant=False) if again else encode(*part))
        return torch.cat(parts)[order.argsort()]


def matching_loss(contexts: Tensor, replies: Tensor, groups: Tensor, scale: float) -> Tensor:
    """Cross entropy of the right reply among all of the batch, over all processes.

    A reply that is equal to the right one, or that was given to an equal context, is no wrong one.
    """
    rank = 0
    everywhere, theirs = replies, groups
    if dist.is_available() and dist.is_initialized() and torch.is_grad_enabled():
        rank = dist.get_rank()
        everywhere, theirs = torch.cat(all_gather(replies)), torch.cat(all_gather(groups))
    right = torch.arange(len(contexts), device=contexts.device) + rank * len(contexts)
    alike = (groups[:, None] == theirs[None]).any(-1)  # (batch, batch of all)
    alike[torch.arange(len(right)), right] = False
    scores = (scale * contexts @ everywhere.T).masked_fill(alike, float("-inf"))
    return F.cross_entropy(scores, right)


def unit(vectors: Tensor, normal: bool) -> Tensor:
    return F.normalize(vectors, dim=-1) if normal else vectors


def own_projection(size: int) -> nn.Linear:
    """A linear layer that at first changes nothing."""
    layer = nn.Linear(size, size, bias=False)
    nn.init.eye_(layer.weight)
    return layer


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
