"""A re-ranker: context and reply are read together, and one number says how well they fit (Nogueira & Cho 2019).

    [CLS] context [SEP] reply [SEP]  →  encoder, pooled  →  a number

Slower than two vectors by as many readings as there are replies, and surer: it re-orders a shortlist. It learns to tell
the right reply from others of the shortlist of a retrieval run (hard ones), or from random ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PretrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue
from heartfelt.models.backbone import (
    add_adapters,
    copy_weights,
    empty_encoder,
    load_encoder,
    load_tokenizer,
    separator,
    set_dropout,
)
from heartfelt.models.chunks import in_chunks

FIXED = ("lora_rank", "lora_alpha")
STARTS_FROM = ("encoder_classifier", "encoder_matcher", "late_matcher")  # whose encoder it takes over


@dataclass(frozen=True)
class Settings:
    checkpoint: str = "minilm"
    window: int = 4  # turns of context
    max_tokens: int = 160  # of context and reply together; a long context loses its start
    max_reply_tokens: int = 60
    rivals: int = 7  # other replies that the right one is told from
    shortlist: str = ""  # a retrieval run: rivals are of its first ones; random where left out
    among: int = 50  # so many of its first ones
    lora_rank: int = 0  # of adapters, which learn in the encoder's place; 0: all weights learn
    lora_alpha: int = 32
    dropout: float | None = None  # inside the encoder; as the checkpoint has it where left out

    def __post_init__(self) -> None:
        if not (1 <= self.rivals <= self.among and self.window >= 1):
            raise InvalidValue("settings: rivals is between 1 and among, window at least 1")
        if not 1 <= self.max_reply_tokens <= self.max_tokens - 8:
            raise InvalidValue("settings.max_reply_tokens leaves at least 8 of max_tokens to the context")


class CrossEncoderConfig(PretrainedConfig):
    model_type = "heartfelt_cross_encoder"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,  # its own config
        lora_rank: int = 0,
        lora_alpha: int = 32,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.lora_rank, self.lora_alpha = encoder, lora_rank, lora_alpha


class CrossEncoder(PreTrainedModel):
    config_class = CrossEncoderConfig
    base_model_prefix = "encoder"
    _supports_sdpa = True
    accepts_loss_kwargs = False
    drawn = ("fit.",)

    def __init__(self, config: CrossEncoderConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        if config.lora_rank:
            self.adapt(config.lora_rank, config.lora_alpha)
        self.dropout = nn.Dropout(0.1)
        self.fit = nn.Linear(self.encoder.config.hidden_size, 1)
        self.post_init()

    def adapt(self, rank: int, alpha: int) -> None:
        self.config.lora_rank, self.config.lora_alpha = rank, alpha
        add_adapters(self.encoder, rank, alpha)

    def scores(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(pairs, tokens) → (pairs,)"""
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        counted = mask.unsqueeze(-1).to(states.dtype)
        pooled = (states * counted).sum(1) / counted.sum(1)
        return self.fit(self.dropout(pooled)).squeeze(-1)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None, **others: Any
    ) -> dict[str, Tensor]:
        """(batch · choices, tokens), the right reply first of each context's → (batch, choices) scores.

        labels: (batch, choices), 1 where a choice counts: a rival that equals the right reply does not.
        """
        found = in_chunks(self.scores, input_ids, attention_mask)
        if labels is None:
            return {"logits": found}
        scores = found.reshape(labels.shape).masked_fill(labels == 0, float("-inf"))
        right = torch.zeros(len(labels), dtype=torch.long, device=scores.device)
        return {"loss": F.cross_entropy(scores, right), "logits": scores}


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[CrossEncoder, Tokenizer]:
    pretrained = load_encoder(settings.checkpoint)
    set_dropout(pretrained.config, settings.dropout)
    model = CrossEncoder(CrossEncoderConfig(encoder=pretrained.config.to_dict()))
    copy_weights(pretrained, model.encoder)
    if settings.lora_rank:
        model.adapt(settings.lora_rank, settings.lora_alpha)
    return model, load_tokenizer(settings.checkpoint)


def load(folder: Path) -> CrossEncoder:
    model: CrossEncoder = CrossEncoder.from_pretrained(folder)
    return model


def encode_pair(settings: Settings, tokenizer: Tokenizer, turns: Sequence[Turn], reply: str) -> list[int]:
    """The reply is there however long the context is."""
    said: list[int] = tokenizer(reply, add_special_tokens=False)["input_ids"][: settings.max_reply_tokens]
    text = separator(tokenizer).join(turn.text for turn in turns[-settings.window :])
    tokenizer.truncation_side = "left"
    ids = tokenizer(text, truncation=True, max_length=settings.max_tokens - len(said) - 1)["input_ids"]
    return [*ids, *said, ids[-1]]  # ids end with the separator
