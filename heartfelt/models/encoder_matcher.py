"""Retrieval on a pretrained encoder: rashkin2019's with BERT, and ours with MiniLM.

    context: vector of the last turns     reply: vector of the reply         (batch, size) each, by one encoder or two
    score = scale · context · reply       with vectors of length one, or as they are with scale 1

One encoder for both sides has half the parameters; a projection of its own for each side lets a reply be near to what
it answers, which is not what it resembles.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.backbone import copy_weights, empty_encoder, load_encoder, load_tokenizer
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.matcher import Matcher, own_projection, unit

Pooling = Literal["mean", "first"]
FIXED = ("pooling", "shared", "projected", "normal")
STARTS_FROM = ("encoder_classifier",)  # whose encoder and heads it takes over


@dataclass(frozen=True)
class Settings:
    checkpoint: str = "minilm"
    pooling: Pooling = "mean"  # "first" is BERT's [CLS]
    shared: bool = True  # one encoder for both sides
    projected: bool = True  # a projection of its own for each side
    normal: bool = True  # vectors of length one
    scale: float = 20.0
    window: int = 4  # turns of context, as in the paper
    max_tokens: int = 100  # of a context, as in the paper
    max_reply_tokens: int = 100
    heads: tuple[str, ...] = ()  # "emotion": the context's vector tells it too
    head_weight: float = 1.0


class EncoderMatcherConfig(PretrainedConfig):
    model_type = "heartfelt_encoder_matcher"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,  # the encoder's own config
        pooling: Pooling = "mean",
        shared: bool = True,
        projected: bool = True,
        normal: bool = True,
        scale: float = 20.0,
        classes: Classes | None = None,  # head → number of labels
        head_weight: float = 1.0,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.pooling, self.shared, self.projected = encoder, pooling, shared, projected
        self.normal, self.scale = normal, scale
        self.classes, self.head_weight = ordered(classes), head_weight


class EncoderMatcher(Matcher):
    config_class = EncoderMatcherConfig
    base_model_prefix = "encoder"
    drawn = ("context_projection.", "reply_projection.")  # which a classifier does not have
    _supports_sdpa = True

    def __init__(self, config: EncoderMatcherConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        self.reply_encoder = None if config.shared else empty_encoder(config.encoder)
        size = self.encoder.config.hidden_size
        self.context_projection = own_projection(size) if config.projected else nn.Identity()
        self.reply_projection = own_projection(size) if config.projected else nn.Identity()
        self.scale, self.head_weight = config.scale, config.head_weight
        self.heads = Heads(size, config.classes) if config.classes else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """As drawn: pretrained weights follow, and projections begin as nothing."""

    def read_context(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._pooled(self.encoder, ids, mask)

    def read_reply(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._pooled(self.reply_encoder or self.encoder, ids, mask)

    def place_context(self, read: Tensor) -> Tensor:
        return unit(self.context_projection(read), self.config.normal)

    def place_reply(self, read: Tensor) -> Tensor:
        return unit(self.reply_projection(read), self.config.normal)

    def _pooled(self, encoder: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        if self.config.pooling == "first":
            return states[:, 0]
        counted = mask.unsqueeze(-1).to(states.dtype)
        return (states * counted).sum(1) / counted.sum(1)


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[EncoderMatcher, Tokenizer]:
    """The model with its pretrained encoder; its vocabulary is the checkpoint's, not the texts'."""
    pretrained = load_encoder(settings.checkpoint)
    config = EncoderMatcherConfig(
        encoder=pretrained.config.to_dict(), pooling=settings.pooling, shared=settings.shared,
        projected=settings.projected, normal=settings.normal, scale=settings.scale,
        classes=classes, head_weight=settings.head_weight,
    )  # fmt: skip
    model = EncoderMatcher(config)
    for encoder in filter(None, (model.encoder, model.reply_encoder)):
        copy_weights(pretrained, encoder)
    return model, load_tokenizer(settings.checkpoint)


def load(folder: Path) -> EncoderMatcher:
    model: EncoderMatcher = EncoderMatcher.from_pretrained(folder)
    return model
