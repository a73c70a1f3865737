"""joint2021: what recognises the emotion also starts the decoder, and both learn together.

    C = emotion vector of a classifier over the context       (batch, size)
        layer-attentive BERT (layer_attentive.py); or a Bi-LSTM, with or without attention (bilstm_classifier.py)
    h_1 … h_n = Bi-GRU(context)
    the GRU decoder starts from the mean of C and the Bi-GRU's last states, with Luong attention and input feeding
    loss = emotion + generation

The paper's sizes are all 768. Where classifier and Bi-GRU differ in size, a linear layer takes C to the other's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn
from transformers import Cache, PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import InvalidValue
from heartfelt.models.answerer import Read, Recomputing
from heartfelt.models.backbone import copy_weights, load_encoder, load_tokenizer
from heartfelt.models.bilstm_classifier import BiLSTMClassifier, BiLSTMConfig
from heartfelt.models.bilstm_seq2seq import read_both_ways
from heartfelt.models.heads import Heads, ordered
from heartfelt.models.layer_attentive import LayerAttentive, LayerAttentiveConfig
from heartfelt.models.luong import LuongDecoder
from heartfelt.models.words import word_tokenizer

Listener = Literal["bert", "bilstm", "bilstm_attention"]


@dataclass(frozen=True)
class Settings:
    listener: Listener = "bert"  # what recognises the emotion
    checkpoint: str = "minilm"  # of "bert"; its tokenizer is then everybody's
    vocabulary: int = 20_000  # words, for the others
    embedding: int = 300
    hidden: int = 768  # of the Bi-GRU's two ways together, and of the decoder
    dropout: float = 0.3
    head_dropout: float = 0.1
    window: int = 1  # turns of context; the paper reads the last one
    max_tokens: int = 80
    max_reply_tokens: int = 80
    heads: tuple[str, ...] = ("emotion",)
    head_weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.heads:
            raise InvalidValue("settings.heads: joint_gru learns emotions beside, or it is bilstm_seq2seq")


class JointGRUConfig(PretrainedConfig):
    model_type = "heartfelt_joint_gru"

    def __init__(
        self,
        listener: Listener = "bert",
        listener_config: dict[str, Any] | None = None,
        vocabulary: int = 0,
        embedding: int = 300,
        hidden: int = 768,
        dropout: float = 0.3,
        head_weight: float = 1.0,
        **others: Any,
    ) -> None:
        super().__init__(**{**others, "is_encoder_decoder": True})
        self.listener, self.listener_config = listener, listener_config or {}
        self.vocabulary, self.embedding, self.hidden = vocabulary, embedding, hidden
        self.dropout, self.head_weight = dropout, head_weight


class JointGRU(Recomputing):
    config_class = JointGRUConfig
    base_model_prefix = "listener.encoder"
    _supports_sdpa = True

    def __init__(self, config: JointGRUConfig) -> None:
        super().__init__(config)
        self.listener: LayerAttentive | BiLSTMClassifier
        if config.listener == "bert":
            self.listener = LayerAttentive(LayerAttentiveConfig(**config.listener_config))
        else:
            self.listener = BiLSTMClassifier(BiLSTMConfig(**config.listener_config))
        heard = self.listener.heads.size
        self.words = nn.Embedding(config.vocabulary, config.embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        self.reader = nn.GRU(config.embedding, config.hidden // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(heard, config.hidden) if heard != config.hidden else nn.Identity()
        self.writer = LuongDecoder("gru", config.embedding, config.hidden, config.hidden, config.dropout)
        self.out = nn.Linear(config.hidden, config.vocabulary)
        self.head_weight = config.head_weight
        self.post_init()

    @property
    def labelling(self) -> Heads:
        return self.listener.heads

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own; the listener's are its file's."""

    def read(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Read:
        emotion = self.listener.vector(input_ids, attention_mask)
        states, last = read_both_ways(self.reader, self.dropout(self.words(input_ids)), attention_mask)
        start = (self.bridge(emotion) + last) / 2
        return Read(states, attention_mask, start, self.listener.heads(emotion))

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        words = self.dropout(self.words(reply_ids))
        found: Tensor = self.writer(words, read.vector, read.last_hidden_state, read.mask)
        return found

    def speak(self, states: Tensor) -> Tensor:
        found: Tensor = self.out(states)
        return found


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[JointGRU, Tokenizer]:
    """tokenizer: that of the run it will start from; else the checkpoint's, or the texts' own words."""
    encoder = None
    if settings.listener == "bert":
        encoder = load_encoder(settings.checkpoint)
        tokenizer = tokenizer or load_tokenizer(settings.checkpoint)
        listener = LayerAttentiveConfig(
            encoder=encoder.config.to_dict(), classes=classes, dropout=settings.head_dropout
        ).to_dict()
    else:
        tokenizer = tokenizer or word_tokenizer(texts, settings.vocabulary)
        listener = BiLSTMConfig(
            vocabulary=len(tokenizer), embedding=settings.embedding, hidden=settings.hidden // 2,
            attention=settings.listener == "bilstm_attention", dropout=settings.head_dropout, classes=classes,
        ).to_dict()  # fmt: skip
    config = JointGRUConfig(
        listener=settings.listener, listener_config={**listener, "classes": ordered(classes)},
        vocabulary=len(tokenizer), embedding=settings.embedding, hidden=settings.hidden,
        dropout=settings.dropout, head_weight=settings.head_weight,
    )  # fmt: skip
    model = JointGRU(config)
    if encoder is not None and isinstance(model.listener, LayerAttentive):
        copy_weights(encoder, model.listener.encoder)
    return model, tokenizer


def load(folder: Path) -> JointGRU:
    model: JointGRU = JointGRU.from_pretrained(folder)
    return model


FIXED = ("listener", "embedding", "hidden")
