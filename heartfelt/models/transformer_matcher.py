"""rashkin2019's retrieval Transformer, from scratch: one encoder for contexts, one for replies, one word table.

    h = mean over tokens of Transformer(word + position)      (batch, size), each side by its own encoder
    score = h_context · h_reply

Four layers, six heads, 300 numbers a word; the larger variant has five layers. Where the paper is silent (the size of
the feed-forward layers, mean over tokens, layer norm after the sum) this follows the common Transformer.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import InvalidValue
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.matcher import Matcher, learn_as, refuse_unreadable
from heartfelt.models.words import word_tokenizer, word_vectors

FIXED = ("size", "layers", "attention_heads", "inner")


@dataclass(frozen=True)
class Settings:
    vocabulary: int = 30_000  # the most frequent words of the training texts
    vectors: str = ""  # a file of word vectors to begin with: a word and its numbers a line
    size: int = 300
    layers: int = 4
    attention_heads: int = 6
    inner: int = 1200  # of the feed-forward layers
    dropout: float = 0.1
    window: int = 4  # turns of context
    max_tokens: int = 100
    max_reply_tokens: int = 100
    heads: tuple[str, ...] = ()  # "emotion": the context's vector tells it too
    head_weight: float = 1.0
    recompute: bool = True  # false: a batch of 256 takes gigabytes, and less time
    both_ways: bool = False  # a reply also learns which of the contexts it answers: costs nothing
    word_dropout: float = 0.0  # of tokens left out in training: quicker, less learned by heart

    def __post_init__(self) -> None:
        refuse_unreadable(self)
        if self.attention_heads < 1 or self.size % self.attention_heads:
            raise InvalidValue(f"settings.size {self.size} does not divide by {self.attention_heads} heads")


class TransformerMatcherConfig(PretrainedConfig):
    model_type = "heartfelt_transformer_matcher"

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
        head_weight: float = 1.0,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.vocabulary, self.positions, self.size = vocabulary, positions, size
        self.layers, self.attention_heads, self.inner = layers, attention_heads, inner
        self.dropout, self.classes, self.head_weight = dropout, ordered(classes), head_weight


class Side(nn.Module):
    """The Transformer of one side."""

    def __init__(self, config: TransformerMatcherConfig) -> None:
        super().__init__()
        self.positions = nn.Embedding(config.positions, config.size)
        self.norm = nn.LayerNorm(config.size)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                config.size, config.attention_heads, config.inner, config.dropout, "gelu", batch_first=True
            )
            for _ in range(config.layers)
        )

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """(batch, tokens, size) → (batch, size)"""
        positions = torch.arange(words.shape[1], device=words.device)
        states = self.dropout(self.norm(words + self.positions(positions)))
        for layer in self.layers:
            states = layer(states, src_key_padding_mask=mask == 0)
        counted = mask.unsqueeze(-1).to(states.dtype)
        return (states * counted).sum(1) / counted.sum(1)


class TransformerMatcher(Matcher):
    config_class = TransformerMatcherConfig

    def __init__(self, config: TransformerMatcherConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary, config.size)
        self.context_side, self.reply_side = Side(config), Side(config)
        self.head_weight = config.head_weight
        # Products of vectors with hundreds of numbers begin too far apart for softmax to learn from.
        self.scale = config.size**-0.5
        self.heads = Heads(config.size, config.classes) if config.classes else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.size**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def read_context(self, ids: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = self.context_side(self.words(ids), mask)
        return found

    def read_reply(self, ids: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = self.reply_side(self.words(ids), mask)
        return found


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[TransformerMatcher, Tokenizer]:
    """tokenizer: that of the run it will start from; else the texts' own words."""
    tokenizer = tokenizer or word_tokenizer(texts, settings.vocabulary)
    config = TransformerMatcherConfig(
        vocabulary=len(tokenizer), size=settings.size, layers=settings.layers,
        attention_heads=settings.attention_heads, inner=settings.inner,
        positions=max(settings.max_tokens, settings.max_reply_tokens), dropout=settings.dropout,
        classes=classes, head_weight=settings.head_weight,
    )  # fmt: skip
    model = TransformerMatcher(config)
    learn_as(model, settings)
    if settings.vectors:
        with torch.no_grad():
            for place, vector in word_vectors(Path(settings.vectors), tokenizer.get_vocab(), settings.size):
                model.words.weight[place] = torch.from_numpy(vector)
    return model, tokenizer


def load(folder: Path) -> TransformerMatcher:
    model: TransformerMatcher = TransformerMatcher.from_pretrained(folder)
    return model
