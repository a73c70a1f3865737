"""MoEL (Lin et al. 2019), liu2021's baseline, from its description: listeners who each answer one emotion, combined.

    q = the encoder's state of a query token before the context
    p = softmax(K q)                          (batch, emotions): how the speaker feels; K has a key for each emotion
    V_0 = shared listener(reply so far), V_i = listener_i(reply so far)     a decoder layer each
    V = V_0 + Σ_i p_i V_i                     softly combined
    next token ~ softmax(words · meta listener(V))                          one more decoder layer

Loss: emotion + generation. At first listeners are combined by the true emotion, so that each becomes what it is named
for, and by and by by p: the chance of the true one is ε + (1 − ε) e^(−t/T) at step t.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Cache
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.models.bart.modeling_bart import BartDecoderLayer, BartEncoder

from heartfelt.errors import InvalidValue
from heartfelt.models.answerer import Read, Recomputing
from heartfelt.models.heads import UNLABELLED, Heads
from heartfelt.models.transformer_generator import TransformerGeneratorConfig, draw, words_of

FIXED = ("size", "layers", "attention_heads", "inner")
EMOTION = "emotion"


@dataclass(frozen=True)
class Settings:
    tokenizer: str | None = None  # a checkpoint's, or the texts' own words
    vocabulary: int = 20_000
    size: int = 300
    layers: int = 1  # of the encoder
    attention_heads: int = 2
    inner: int = 300
    dropout: float = 0.1
    window: int = 8  # turns of context
    max_tokens: int = 100
    max_reply_tokens: int = 60
    heads: tuple[str, ...] = (EMOTION,)
    head_weight: float = 1.0
    oracle_least: float = 1e-4  # ε
    oracle_steps: float = 1e4  # T

    def __post_init__(self) -> None:
        if self.attention_heads < 1 or self.size % self.attention_heads:
            raise InvalidValue(f"settings.size {self.size} does not divide by {self.attention_heads} heads")
        if self.heads != (EMOTION,):
            raise InvalidValue(
                "settings.heads: MoEL has a listener for each emotion, and learns no other head"
            )


class MoELConfig(TransformerGeneratorConfig):
    model_type = "heartfelt_moel"

    def __init__(self, oracle_least: float = 1e-4, oracle_steps: float = 1e4, **others: Any) -> None:
        super().__init__(**others)
        self.oracle_least, self.oracle_steps = oracle_least, oracle_steps


class MoEL(Recomputing):
    config_class = MoELConfig
    _supports_sdpa = True
    heads: Heads  # its rows are the keys K
    steps: Tensor  # so many have been learned

    def __init__(self, config: MoELConfig) -> None:
        super().__init__(config)
        bart = self._bart = config.bart()
        emotions = dict(config.classes).get(EMOTION, 0)
        self.words = nn.Embedding(config.vocabulary, config.size, padding_idx=0)
        self.query = nn.Parameter(torch.empty(config.size))
        self.reader = BartEncoder(bart)
        del self.reader.embed_tokens
        self.positions = nn.Embedding(config.positions, config.size)
        self.norm, self.dropout = nn.LayerNorm(config.size), nn.Dropout(config.dropout)
        self.shared = BartDecoderLayer(bart, layer_idx=0)
        self.listeners = nn.ModuleList(BartDecoderLayer(bart, layer_idx=0) for _ in range(emotions))
        self.meta = BartDecoderLayer(bart, layer_idx=0)
        self.heads = Heads(config.size, config.classes, 0.0)
        self.head_weight = config.head_weight
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.post_init()
        nn.init.normal_(self.query, std=config.size**-0.5)

    def _init_weights(self, module: nn.Module) -> None:
        draw(module, self.config.size)

    def read(
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None, **others: Any
    ) -> Read:
        asked = self.query.expand(len(input_ids), 1, -1)
        words = torch.cat([asked, self.words(input_ids)], 1)
        mask = F.pad(attention_mask, (1, 0), value=1)
        states = self.reader(inputs_embeds=words, attention_mask=mask).last_hidden_state
        told = self.heads(states[:, 0])
        chances = torch.softmax(told, -1)
        if labels is not None:  # in training the true emotion takes part
            chances = self._annealed(chances, labels[:, 0])
        return Read(states, mask, chances, told)

    def _annealed(self, chances: Tensor, emotion: Tensor) -> Tensor:
        """(batch, emotions): for some of a batch the true emotion alone, for fewer and fewer."""
        least, steps = self.config.oracle_least, self.config.oracle_steps
        share = least + (1 - least) * math.exp(-float(self.steps) / steps)
        self.steps.add_(1)
        true = F.one_hot(emotion.clamp(min=0), chances.shape[-1]).to(chances.dtype)
        shown = (torch.rand(len(chances), device=chances.device) < share) & (emotion != UNLABELLED)
        return torch.where(shown[:, None], true, chances)

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        states, chances = read.last_hidden_state, read.vector
        assert states is not None and chances is not None
        places = torch.arange(reply_ids.shape[1], device=reply_ids.device)
        words = self.dropout(self.norm(self.words(reply_ids) + self.positions(places)))
        before = create_causal_mask(self._bart, words, None, None)
        context = create_bidirectional_mask(self._bart, words, read.mask, encoder_hidden_states=states)

        def hear(layer: nn.Module, said: Tensor) -> Tensor:
            heard: Tensor = layer(said, before, states, encoder_attention_mask=context)
            return heard

        said = torch.stack([hear(listener, words) for listener in self.listeners], 1)
        combined = hear(self.shared, words) + combine(chances, said)
        return hear(self.meta, combined)


def combine(chances: Tensor, said: Tensor) -> Tensor:
    """(batch, listeners) chances, (batch, listeners, tokens, size) → (batch, tokens, size)"""
    return torch.einsum("bl,blts->bts", chances, said)


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[MoEL, Tokenizer]:
    tokenizer = words_of(settings, texts, tokenizer)
    config = MoELConfig(
        vocabulary=len(tokenizer), size=settings.size, layers=settings.layers,
        attention_heads=settings.attention_heads, inner=settings.inner,
        positions=max(settings.max_tokens + 1, settings.max_reply_tokens), dropout=settings.dropout,
        classes=classes, head_weight=settings.head_weight, oracle_least=settings.oracle_least,
        oracle_steps=settings.oracle_steps,
    )  # fmt: skip
    return MoEL(config), tokenizer


def load(folder: Path) -> MoEL:
    model: MoEL = MoEL.from_pretrained(folder)
    return model
