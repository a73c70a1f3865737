"""Late interaction (ColBERT; Khattab & Zaharia 2020): vectors find replies, words read them once more

    fit = scale · context · reply                                           as encoder_matcher: these two vectors find
        + word_scale · mean over the reply's words of max over the context's of  word · word
        + word_scale · mean over the context's words of max over the reply's     these read what was found once more

Each word of a reply looks for its like in what was said, and the other way round.

Both sides are still read apart: a reply's words can be kept, and a context is read once for all of its candidates. One
vector forgets the details that tell one dog's story from another's; words do not. Both ways of matching learn, each by
a loss of its own, so the vectors alone are as good as encoder_matcher's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import InvalidValue
from heartfelt.models import encoder_matcher
from heartfelt.models.encoder_matcher import EncoderMatcher, EncoderMatcherConfig, pooled
from heartfelt.models.matcher import Both, learn_as, matching_loss, own_projection, right_one

FIXED = (*encoder_matcher.FIXED, "words")
STARTS_FROM = ("encoder_matcher", *encoder_matcher.STARTS_FROM)
_BLOCK = 64  # texts of each side whose words are compared at once
_NOWHERE = -4.0  # below every product of two vectors of length one: where there is no word


@dataclass(frozen=True)
class Settings(encoder_matcher.Settings):
    words: int = 128  # numbers a word
    word_scale: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.second or self.lora_rank or self.words < 1:
            raise InvalidValue(
                "settings: late_matcher has words of at least one number, no second and no lora_rank"
            )


class LateMatcherConfig(EncoderMatcherConfig):
    model_type = "heartfelt_late_matcher"

    def __init__(self, words: int = 128, word_scale: float = 10.0, **others: Any) -> None:
        super().__init__(**others)
        self.words, self.word_scale = words, word_scale


class LateMatcher(EncoderMatcher):
    config_class = LateMatcherConfig
    drawn = (*EncoderMatcher.drawn, "context_words.", "reply_words.")

    def __init__(self, config: LateMatcherConfig) -> None:
        super().__init__(config)
        size = self.encoder.config.hidden_size
        self.context_words = own_projection(size, config.words)
        self.reply_words = own_projection(size, config.words)

    def matched(
        self, ids: Tensor, mask: Tensor, reply_ids: Tensor, reply_mask: Tensor, groups: Tensor | None
    ) -> tuple[Both, Both, Tensor | None]:
        """As Matcher's; of several processes each compares its own words alone."""
        context, said = self.read_words(ids, mask)
        reply, answered = self.read_words(reply_ids, reply_mask, of_reply=True)
        contexts, replies = self.place_context(context), self.place_reply(reply)
        if groups is None:
            return (context, reply), (contexts, replies), None
        fit = self.scale * contexts @ replies.T + compared(
            said, mask, answered, reply_mask, self.config.word_scale
        )
        right = torch.arange(len(fit), device=fit.device)
        losses = [right_one(fit, groups, groups, right)]
        if self.both_ways:
            losses.append(right_one(fit.T, groups, groups, right))
        loss = matching_loss(contexts, replies, groups, self.scale, self.both_ways)
        return (context, reply), (contexts, replies), loss + torch.stack(losses).mean()

    def read_words(self, ids: Tensor, mask: Tensor, of_reply: bool = False) -> tuple[Tensor, Tensor]:
        """(batch, tokens) → (batch, size) as read_context or read_reply, and (batch, tokens, words) of length one."""
        encoder = (self.reply_encoder if of_reply else None) or self.encoder

        def states_of(ids: Tensor, mask: Tensor) -> Tensor:
            found: Tensor = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            return found

        states = self.in_chunks(states_of, ids, mask)
        words = (self.reply_words if of_reply else self.context_words)(states)
        return pooled(states, mask, self.config.pooling), F.normalize(words, dim=-1)


def compared(said: Tensor, mask: Tensor, answered: Tensor, reply_mask: Tensor, scale: float) -> Tensor:
    """(contexts, words, size) and (replies, words, size) with their masks → (contexts, replies)

    Texts of like length are compared together: in a batch most of the places for words are empty.
    """
    contexts, replies = (one.sum(1).argsort(descending=True, stable=True) for one in (mask, reply_mask))
    rows = [
        torch.cat(
            [
                _compared(*_cut(said, mask, here), *_cut(answered, reply_mask, there))
                for there in replies.split(_BLOCK)
            ],
            1,
        )
        for here in contexts.split(_BLOCK)
    ]
    return scale * torch.cat(rows)[contexts.argsort()][:, replies.argsort()]


def _cut(words: Tensor, mask: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    longest = int(mask[rows[0]].sum())
    return words[rows, :longest], mask[rows, :longest]


def _compared(said: Tensor, mask: Tensor, answered: Tensor, reply_mask: Tensor) -> Tensor:
    # Two numbers more, so that a product with what is no word is below all others: nothing has to be masked later.
    nowhere, nor_here = (_NOWHERE * (one == 0).to(said.dtype).unsqueeze(-1) for one in (mask, reply_mask))
    said = torch.cat([said, nowhere, torch.ones_like(nowhere)], -1)
    answered = torch.cat([answered, torch.ones_like(nor_here), nor_here], -1)
    like = torch.einsum("ctw,rsw->ctrs", said, answered)
    # max, not amax: its gradient keeps where the largest were, and not the products, which are gigabytes.
    by_reply = (like.max(1).values * reply_mask).sum(2) / reply_mask.sum(1)
    by_context = (like.max(3).values * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    return by_reply + by_context


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[LateMatcher, Tokenizer]:
    plain, tokenizer = encoder_matcher.build(settings, classes, texts)
    config = LateMatcherConfig(
        words=settings.words, word_scale=settings.word_scale,
        **{name: getattr(plain.config, name) for name in
           ("encoder", "second", "pooling", "shared", "projected", "normal", "scale", "classes", "head_weight")},
    )  # fmt: skip
    if settings.words > plain.encoder.config.hidden_size:
        raise InvalidValue(
            f"settings.words: a word of {settings.checkpoint} has {plain.encoder.config.hidden_size} numbers at most"
        )
    model = LateMatcher(config)
    model.load_state_dict(plain.state_dict(), strict=False)
    learn_as(model, settings)
    return model, tokenizer


def load(folder: Path) -> LateMatcher:
    model: LateMatcher = LateMatcher.from_pretrained(folder)
    return model
