"""Retrieval on a pretrained encoder: rashkin2019's with BERT, and ours with MiniLM.

    context: vector of the last turns     reply: vector of the reply         (batch, size) each, by one encoder or two
    score = scale · context · reply       with vectors of length one, or as they are with scale 1

A second, frozen encoder that has learned emotions may read along (rashkin2019's ensemble of encoders): the two
vectors are put side by side, and the projections learn what to take of each. One encoder for both sides has half the
parameters; a projection of its own for each side lets a reply be near to what it answers, which is not what it
resembles.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import InvalidValue, MissingData
from heartfelt.models import encoder_classifier
from heartfelt.models.backbone import (
    add_adapters,
    copy_weights,
    empty_encoder,
    load_encoder,
    load_tokenizer,
    saved_tokenizer,
    set_dropout,
)
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.matcher import Matcher, learn_as, own_projection, refuse_unreadable, unit

Pooling = Literal["mean", "first"]
FIXED = ("pooling", "shared", "projected", "normal", "second", "lora_rank", "lora_alpha")
STARTS_FROM = ("encoder_classifier", "late_matcher")  # whose encoder and heads it takes over


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
    second: str = ""  # a finished run of encoder_classifier, whose encoder reads along
    heads: tuple[str, ...] = ()  # "emotion": the context's vector tells it too
    head_weight: float = 1.0
    recompute: bool = True  # false: a batch of 256 takes gigabytes, and less time
    both_ways: bool = False  # a reply also learns which of the contexts it answers: costs nothing
    word_dropout: float = 0.0  # of tokens left out in training: quicker, less learned by heart
    lora_rank: int = (
        0  # of adapters on all linear layers of the encoder, which alone learn; 0: all weights learn
    )
    lora_alpha: int = 32
    dropout: float | None = (
        None  # inside the encoder; as the checkpoint has it where left out. 0 is quicker on a CPU
    )

    def __post_init__(self) -> None:
        refuse_unreadable(self)
        if self.second and not self.projected:
            raise InvalidValue(
                "settings.second takes settings.projected: two vectors side by side become one"
            )


class EncoderMatcherConfig(PretrainedConfig):
    model_type = "heartfelt_encoder_matcher"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,  # the encoder's own config
        second: dict[str, Any] | None = None,  # and the second one's
        pooling: Pooling = "mean",
        shared: bool = True,
        projected: bool = True,
        normal: bool = True,
        scale: float = 20.0,
        classes: Classes | None = None,  # head → number of labels
        head_weight: float = 1.0,
        lora_rank: int = 0,
        lora_alpha: int = 32,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.second, self.pooling = encoder, second, pooling
        self.lora_rank, self.lora_alpha = lora_rank, lora_alpha
        self.shared, self.projected = shared, projected
        self.normal, self.scale = normal, scale
        self.classes, self.head_weight = ordered(classes), head_weight


class EncoderMatcher(Matcher):
    config_class: type[EncoderMatcherConfig] = EncoderMatcherConfig
    base_model_prefix = "encoder"
    drawn: tuple[str, ...] = ("context_projection.", "reply_projection.")  # which a classifier does not have
    _supports_sdpa = True

    def __init__(self, config: EncoderMatcherConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        self.reply_encoder = None if config.shared else empty_encoder(config.encoder)
        if config.lora_rank:
            self.adapt(config.lora_rank, config.lora_alpha)
        size = wide = self.encoder.config.hidden_size
        self.second = None
        if config.second:
            self.second = empty_encoder(config.second).requires_grad_(False)
            wide += self.second.config.hidden_size
        self.context_projection = own_projection(wide, size) if config.projected else nn.Identity()
        self.reply_projection = own_projection(wide, size) if config.projected else nn.Identity()
        self.scale, self.head_weight = config.scale, config.head_weight
        self.heads = Heads(wide, config.classes) if config.classes else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """As drawn: pretrained weights follow, and projections begin as nothing."""

    def adapt(self, rank: int, alpha: int) -> None:
        """Adapters on the encoders, which learn in their place."""
        self.config.lora_rank, self.config.lora_alpha = rank, alpha
        for encoder in filter(None, (self.encoder, self.reply_encoder)):
            add_adapters(encoder, rank, alpha)

    def read_context(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._pooled(self.encoder, ids, mask)

    def read_reply(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._pooled(self.reply_encoder or self.encoder, ids, mask)

    def place_context(self, read: Tensor) -> Tensor:
        return unit(self.context_projection(read), self.config.normal)

    def place_reply(self, read: Tensor) -> Tensor:
        return unit(self.reply_projection(read), self.config.normal)

    def _pooled(self, encoder: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
        """(batch, tokens) → (batch, size), or with a second encoder (batch, both sizes)"""
        read = pooled(
            encoder(input_ids=ids, attention_mask=mask).last_hidden_state, mask, self.config.pooling
        )
        if self.second is None:
            return read
        along = self.second(input_ids=ids, attention_mask=mask).last_hidden_state
        return torch.cat([read, pooled(along, mask, "mean")], dim=-1)


def pooled(states: Tensor, mask: Tensor, how: Pooling) -> Tensor:
    """(batch, tokens, size) → (batch, size)"""
    if how == "first":
        return states[:, 0]
    counted = mask.unsqueeze(-1).to(states.dtype)
    return (states * counted).sum(1) / counted.sum(1)


def build(settings: Settings, classes: dict[str, int], texts: list[str]) -> tuple[EncoderMatcher, Tokenizer]:
    """The model with its pretrained encoder; its vocabulary is the checkpoint's, not the texts'."""
    pretrained, tokenizer = load_encoder(settings.checkpoint), load_tokenizer(settings.checkpoint)
    set_dropout(pretrained.config, settings.dropout)
    second = _second(settings.second, tokenizer) if settings.second else None
    config = EncoderMatcherConfig(
        encoder=pretrained.config.to_dict(), second=second.config.to_dict() if second else None,
        pooling=settings.pooling, shared=settings.shared,
        projected=settings.projected, normal=settings.normal, scale=settings.scale,
        classes=classes, head_weight=settings.head_weight,
    )  # fmt: skip
    model = EncoderMatcher(config)
    learn_as(model, settings)
    for encoder in filter(None, (model.encoder, model.reply_encoder)):
        copy_weights(pretrained, encoder)
    if second is not None and model.second is not None:
        copy_weights(second, model.second)
    if settings.lora_rank:
        model.adapt(settings.lora_rank, settings.lora_alpha)
    return model, tokenizer


def _second(run: str, tokenizer: Tokenizer) -> PreTrainedModel:
    folder = Path(run) / "model"
    if not folder.is_dir():
        raise MissingData(f"settings.second: {run} is not a finished run of encoder_classifier")
    if saved_tokenizer(folder).get_vocab() != tokenizer.get_vocab():
        raise InvalidValue(f"settings.second: {run} has another vocabulary than settings.checkpoint")
    found: PreTrainedModel = encoder_classifier.load(folder).encoder
    return found


def load(folder: Path) -> EncoderMatcher:
    model: EncoderMatcher = EncoderMatcher.from_pretrained(folder)
    return model
