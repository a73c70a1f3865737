"""meed2's generator: a Transformer that reads what each turn expresses and who says it, and is told what to express.

    x_i = word + position + emotion + segment        in the context: the label and the speaker of the token's turn
    y_i = word + position + emotion + segment        in the reply: the label that it should carry; who answers
    next token ~ softmax(words · Decoder(y, Encoder(x)))

Encoder and decoder share their tables. The reply's label comes from people in training, and from the planner
(meed2_planner.py) or whoever asks when it speaks. A turn, or a reply, may come without a label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue
from heartfelt.labels import LABELS
from heartfelt.models import meed2_planner
from heartfelt.models.answerer import Answerer, Read, mean_state
from heartfelt.models.transformer_generator import (
    TransformerGeneratorConfig,
    draw,
    transformer_without_words,
    words_of,
)

FIXED = ("size", "layers", "attention_heads", "inner")
ANSWERS = 1  # the segment of whoever does not speak last in the context, and answers


@dataclass(frozen=True)
class Settings:
    tokenizer: str | None = None  # a checkpoint's (the paper's is roberta-base), or the texts' own words
    vocabulary: int = 20_000  # so many words, where they are the texts' own
    size: int = 300
    layers: int = 4
    attention_heads: int = 6
    inner: int = 1200  # of the feed-forward layers
    dropout: float = 0.1
    max_tokens: int = 100
    max_reply_tokens: int = 100
    labelled: bool = True  # turns and replies are told what they express; False: of none it is known
    open_share: float = 0.0  # of replies in training that come without their label
    heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.attention_heads < 1 or self.size % self.attention_heads:
            raise InvalidValue(f"settings.size {self.size} does not divide by {self.attention_heads} heads")
        if self.heads:
            raise InvalidValue("settings.heads: meed2's planner is a model of its own (meed2_planner)")


class Meed2Config(TransformerGeneratorConfig):
    model_type = "heartfelt_meed2"

    def __init__(self, **others: Any) -> None:  # without one, transformers would write its own
        super().__init__(**others)


class Meed2(Answerer):
    config_class = Meed2Config
    _supports_sdpa = True

    def __init__(self, config: Meed2Config) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary, config.size, padding_idx=0)
        self.emotions = nn.Embedding(len(LABELS) + 1, config.size)
        self.segments = nn.Embedding(2, config.size)
        self.reader, self.writer = transformer_without_words(config.bart())
        self.heads = None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        draw(module, self.config.size)

    def read(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        emotions: Tensor | None = None,
        segments: Tensor | None = None,
        reply_label: Tensor | None = None,
        **others: Any,
    ) -> Read:
        """(batch, tokens), four times; the reply's label, (batch,)"""
        assert emotions is not None and segments is not None and reply_label is not None
        told = self.words(input_ids) + self.emotions(emotions) + self.segments(segments)
        states = self.reader(inputs_embeds=told, attention_mask=attention_mask).last_hidden_state
        mean = mean_state(states, attention_mask)
        return Read(states, attention_mask, mean, reply_label=reply_label)

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        answers = torch.full_like(reply_ids, ANSWERS)
        assert read.reply_label is not None
        told = self.words(reply_ids) + self.emotions(read.reply_label)[:, None] + self.segments(answers)
        found: Tensor = self.writer(
            inputs_embeds=told, encoder_hidden_states=read.last_hidden_state, encoder_attention_mask=read.mask,
            past_key_values=past, use_cache=past is not None,
        ).last_hidden_state  # fmt: skip
        return found


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[Meed2, Tokenizer]:
    tokenizer = words_of(settings, texts, tokenizer)
    config = Meed2Config(
        vocabulary=len(tokenizer), size=settings.size, layers=settings.layers,
        attention_heads=settings.attention_heads, inner=settings.inner,
        positions=max(settings.max_tokens, settings.max_reply_tokens), dropout=settings.dropout,
    )  # fmt: skip
    return Meed2(config), tokenizer


def load(folder: Path) -> Meed2:
    model: Meed2 = Meed2.from_pretrained(folder)
    return model


def encode(settings: Any, tokenizer: Tokenizer, turns: Sequence[Turn]) -> dict[str, list[int]]:
    """As the planner reads: each token with the label and the speaker of its turn."""
    return meed2_planner.encode(settings, tokenizer, turns)
