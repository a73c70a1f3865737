"""joint2021's emotion classifier: attention over the [CLS] states of all layers of a BERT, not the last one alone.

    h_1 … h_L   the first state of each layer             (batch, layers, size)
    α = softmax_l(h_lᵀ W h_L)                             (batch, layers)
    C = Σ_l α_l h_l, dropout .1, then a linear layer      (batch, labels)

C is also the emotion vector that starts joint2021's decoder.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.backbone import copy_weights, empty_encoder, load_encoder, load_tokenizer
from heartfelt.models.heads import Classes, Classifier, Heads, ordered


@dataclass(frozen=True)
class Settings:
    checkpoint: str = "minilm"
    max_tokens: int = 80  # the paper's
    dropout: float = 0.1  # the paper's, before the softmax


class LayerAttentiveConfig(PretrainedConfig):
    model_type = "heartfelt_layer_attentive"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        classes: Classes | None = None,  # head → number of labels
        dropout: float = 0.1,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.classes, self.dropout = encoder, ordered(classes), dropout


class LayerAttentive(Classifier):
    config_class = LayerAttentiveConfig
    base_model_prefix = "encoder"
    _supports_sdpa = True

    def __init__(self, config: LayerAttentiveConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        size = self.encoder.config.hidden_size
        self.attention = nn.Linear(size, size, bias=False)
        self.heads = Heads(size, config.classes, config.dropout)
        self.post_init()

    def vector(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True)
        # The first of hidden_states is the embeddings, which the paper does not count as a layer.
        first = torch.stack(
            [layer[:, 0] for layer in states.hidden_states[1:]], dim=1
        )  # (batch, layers, size)
        return attend(first, self.attention(first[:, -1]))


def attend(states: Tensor, query: Tensor) -> Tensor:
    """(batch, n, size) states weighted by their fit to a (batch, size) query → (batch, size)."""
    weights = torch.softmax((states * query.unsqueeze(1)).sum(-1), dim=-1)
    return (weights.unsqueeze(-1) * states).sum(1)


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[LayerAttentive, Tokenizer]:
    encoder = load_encoder(settings.checkpoint)
    config = LayerAttentiveConfig(encoder=encoder.config.to_dict(), classes=classes, dropout=settings.dropout)
    model = LayerAttentive(config)
    copy_weights(encoder, model.encoder)
    return model, load_tokenizer(settings.checkpoint)


def load(folder: Path) -> LayerAttentive:
    model: LayerAttentive = LayerAttentive.from_pretrained(folder)
    return model
