"""A pretrained encoder with classification heads: the recogniser of liu2021 and naous2021, and our best one.

Unusual: a causal language model serves as encoder too. Its last state has read everything, so pooling can be
"last_and_mean", and a suffix such as " I feel" makes that last state one that is about to name a feeling.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.backbone import copy_weights, empty_encoder, load_encoder, load_tokenizer
from heartfelt.models.heads import Classes, Classifier, Heads, ordered

Pooling = Literal["mean", "first", "last_and_mean"]
FIXED = ("pooling", "suffix")  # settings without which learned weights mean something else


@dataclass(frozen=True)
class Settings:
    checkpoint: str = "minilm"
    pooling: Pooling = "mean"
    max_tokens: int = 128
    suffix: str = ""  # put after the text, for causal encoders
    dropout: float = 0.1  # before the heads
    frozen_layers: int = 0  # so many of the lowest layers, and the embeddings, stay as they are; 0: all learn


class EncoderClassifierConfig(PretrainedConfig):
    model_type = "heartfelt_encoder_classifier"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,  # the encoder's own config
        classes: Classes | None = None,  # head → number of labels
        pooling: Pooling = "mean",
        dropout: float = 0.1,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.classes, self.pooling, self.dropout = encoder, ordered(classes), pooling, dropout


class EncoderClassifier(Classifier):
    config_class = EncoderClassifierConfig
    base_model_prefix = "encoder"
    _supports_sdpa = True

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        size = self.encoder.config.hidden_size * (2 if config.pooling == "last_and_mean" else 1)
        self.heads = Heads(size, config.classes, config.dropout)
        self.post_init()

    def vector(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(batch, tokens) → (batch, size). Padding is on the right."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if self.config.pooling == "first":
            return states[:, 0]
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1)
        if self.config.pooling == "mean":
            return mean
        last = states[torch.arange(len(states)), attention_mask.sum(1) - 1]
        return torch.cat([last, mean], dim=-1)


def build(
    settings: Settings, classes: dict[str, int], texts: list[str]
) -> tuple[EncoderClassifier, Tokenizer]:
    """The model with its pretrained encoder and new heads. Its vocabulary is the checkpoint's, not the texts'."""
    encoder = load_encoder(settings.checkpoint)
    config = EncoderClassifierConfig(
        encoder=encoder.config.to_dict(), classes=classes, pooling=settings.pooling, dropout=settings.dropout
    )
    model = EncoderClassifier(config)
    copy_weights(encoder, model.encoder)
    if settings.frozen_layers:
        model.encoder.get_input_embeddings().requires_grad_(False)
        for layer in layers_of(model.encoder)[: settings.frozen_layers]:
            layer.requires_grad_(False)
    return model, load_tokenizer(settings.checkpoint)


def load(folder: Path) -> EncoderClassifier:
    model: EncoderClassifier = EncoderClassifier.from_pretrained(folder)
    return model


def layers_of(encoder: nn.Module) -> nn.ModuleList:
    """The stack of layers, whatever the architecture calls it."""
    return max((m for m in encoder.modules() if isinstance(m, nn.ModuleList)), key=len)
