"""meed2's predictor of what the next reply does: a small Transformer that also reads each turn's label and speaker.

    x_i = word + position + emotion + segment       emotion: the label of the turn that the token belongs to
    r_1 … r_N = Transformer(x_1 … x_N)              (batch, tokens, size)
    α = softmax_i(vᵀ r_i)                           (batch, tokens), v is learned
    r = Σ_i α_i r_i, a hidden layer, a linear one   (batch, labels)

Where the paper is silent (layer norm after the sum, tanh in the hidden layer) this follows the authors' code; α is the
paper's, where the code has one more tanh layer before v. A turn may come without a label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue
from heartfelt.labels import LABELS, label_id
from heartfelt.models.backbone import load_tokenizer
from heartfelt.models.heads import Classes, Classifier, Heads, ordered
from heartfelt.models.words import word_tokenizer

UNLABELLED_TURN = len(LABELS)  # has an emotion embedding of its own, after those of the 41


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

    def __post_init__(self) -> None:
        if self.attention_heads < 1 or self.size % self.attention_heads:
            raise InvalidValue(f"settings.size {self.size} does not divide by {self.attention_heads} heads")


class Meed2PlannerConfig(PretrainedConfig):
    model_type = "heartfelt_meed2_planner"

    def __init__(
        self,
        vocabulary: int = 0,
        size: int = 300,
        layers: int = 4,
        attention_heads: int = 6,
        inner: int = 1200,
        positions: int = 100,
        dropout: float = 0.1,
        classes: Classes | None = None,  # head → number of labels
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.vocabulary, self.positions, self.size = vocabulary, positions, size
        self.layers, self.attention_heads, self.inner = layers, attention_heads, inner
        self.dropout, self.classes = dropout, ordered(classes)


class Meed2Planner(Classifier):
    config_class = Meed2PlannerConfig

    def __init__(self, config: Meed2PlannerConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary, config.size)
        self.positions = nn.Embedding(config.positions, config.size)
        self.emotions = nn.Embedding(len(LABELS) + 1, config.size)
        self.segments = nn.Embedding(2, config.size)
        self.norm = nn.LayerNorm(config.size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                config.size, config.attention_heads, config.inner, config.dropout, "gelu", batch_first=True
            )
            for _ in range(config.layers)
        )
        self.v = nn.Linear(config.size, 1, bias=False)
        self.hidden = nn.Linear(config.size, config.size)
        self.heads = Heads(config.size, config.classes, config.dropout)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """The authors', which are Keras' own: with transformers' smaller ones it long learns nothing but how frequent
        the labels are (docs/log.md)."""
        if isinstance(module, nn.Embedding):
            nn.init.uniform_(module.weight, -0.05, 0.05)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def vector(self, input_ids: Tensor, attention_mask: Tensor, emotions: Tensor, segments: Tensor) -> Tensor:
        """(batch, tokens), four times → (batch, size)"""
        states = self.states(input_ids, attention_mask, emotions, segments)
        pooled = (self.weights(states, attention_mask).unsqueeze(-1) * states).sum(1)
        return torch.tanh(self.hidden(pooled))

    def states(self, input_ids: Tensor, attention_mask: Tensor, emotions: Tensor, segments: Tensor) -> Tensor:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        told = self.positions(positions) + self.emotions(emotions) + self.segments(segments)
        states = self.dropout(self.norm(self.words(input_ids) + told))
        for layer in self.layers:
            states = layer(states, src_key_padding_mask=attention_mask == 0)
        return states

    def weights(self, states: Tensor, attention_mask: Tensor) -> Tensor:
        """How much each token counts, (batch, tokens): none for padding."""
        fit = self.v(states).squeeze(-1).masked_fill(attention_mask == 0, float("-inf"))
        return torch.softmax(fit, dim=-1)


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[Meed2Planner, Tokenizer]:
    chosen, words = settings.tokenizer, settings.vocabulary
    tokenizer = load_tokenizer(chosen) if chosen else word_tokenizer(texts, words)
    config = Meed2PlannerConfig(
        vocabulary=len(tokenizer), size=settings.size, layers=settings.layers, attention_heads=settings.attention_heads,
        inner=settings.inner, positions=settings.max_tokens, dropout=settings.dropout, classes=classes,
    )  # fmt: skip
    return Meed2Planner(config), tokenizer


def load(folder: Path) -> Meed2Planner:
    model: Meed2Planner = Meed2Planner.from_pretrained(folder)
    return model


def encode(settings: Settings, tokenizer: Tokenizer, turns: Sequence[Turn]) -> dict[str, list[int]]:
    """<s> turn </s> <s> turn </s> …, each token with the label and the speaker of its turn; of a long one, the end."""
    limit = settings.max_tokens
    tokens: dict[str, list[int]] = {"input_ids": [], "emotions": [], "segments": []}
    for turn in turns:
        ids = tokenizer(turn.text, truncation=True, max_length=limit)["input_ids"]
        emotion = UNLABELLED_TURN if turn.label is None else label_id(turn.label)
        segment = int(turn.speaker != turns[-1].speaker)  # 0: whoever spoke last and is answered
        tokens["input_ids"] += ids
        tokens["emotions"] += [emotion] * len(ids)
        tokens["segments"] += [segment] * len(ids)
    return {name: numbers[-limit:] for name, numbers in tokens.items()}
