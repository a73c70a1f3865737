"""Warm starts: a pretrained encoder reads, a pretrained language model answers, cross-attention between them is new.

    states = reader(context)                                       (batch, tokens, size)
    emotion ~ heads(tanh(W · first state))                         the "pooled output"
    next token ~ writer(concepts, start, said so far; states)

BERT2BERT (naous2021): two BERTs, no heads; `warm: false` is the paper's uninitialised one, `tied: true` one set of
weights for both. RoBERTa-GPT2 (liu2021): an emotion head whose loss joins the reply's, and before the reply the
concepts of CKECE, which carry no loss; the token that begins the reply parts the two.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Cache, PretrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import InvalidValue
from heartfelt.models.answerer import Answerer, Read
from heartfelt.models.backbone import copy_weights, empty_encoder, load_encoder, load_tokenizer
from heartfelt.models.crossing import PLACED, empty_writer, load_writer, logits_of, open_layers, states_of
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.two_tokenizers import TwoTokenizers

FIXED = ("reader", "writer", "tied", "cross_every")


@dataclass(frozen=True)
class Settings:
    reader: str = "minilm"
    writer: str = "minilm"
    warm: bool = True  # begin with the checkpoints' weights; else with random ones
    tied: bool = False  # reader and writer are one, but for what looks at the other
    cross_every: int = 1  # of a writer without place for cross-attention: behind every so-manieth layer
    dropout: float = 0.1  # of the heads
    window: int = 4  # turns of context
    max_tokens: int = 150
    max_reply_tokens: int = 150
    concepts: int = 0  # tokens at most of what is known, before the reply; 0: nothing is
    heads: tuple[str, ...] = ()
    head_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.tied and self.reader != self.writer:
            raise InvalidValue("settings.tied takes one checkpoint for reader and writer")
        if self.cross_every < 1 or self.concepts < 0:
            raise InvalidValue("settings.cross_every is at least 1, settings.concepts not below 0")


class EncoderDecoderConfig(PretrainedConfig):
    model_type = "heartfelt_encoder_decoder"

    def __init__(
        self,
        reader: dict[str, Any] | None = None,  # their own configs
        writer: dict[str, Any] | None = None,
        tied: bool = False,
        cross_every: int = 1,
        dropout: float = 0.1,
        classes: Classes | None = None,
        head_weight: float = 1.0,
        **others: Any,
    ) -> None:
        # transformers ties what a model says only where this word is set.
        super().__init__(**{**others, "is_encoder_decoder": True, "tie_word_embeddings": tied})
        self.reader, self.writer, self.tied, self.cross_every = reader, writer, tied, cross_every
        self.dropout, self.classes, self.head_weight = dropout, ordered(classes), head_weight
        layers = (writer or {}).get("num_hidden_layers") or (writer or {}).get("n_layer")
        self.num_hidden_layers = layers  # by which transformers makes a cache


class EncoderDecoder(Answerer):
    config_class = EncoderDecoderConfig
    _supports_sdpa = True

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__(config)
        self.reader = empty_encoder(config.reader)
        size = int(self.reader.config.hidden_size)
        self.writer = empty_writer(config.writer, size, config.cross_every)
        wanted = int(self.writer.config.hidden_size)
        # A writer with a place of its own takes states of its own size.
        self.bridge = (
            nn.Linear(size, wanted)
            if size != wanted and self.writer.config.model_type in PLACED
            else nn.Identity()
        )
        self.pooler = nn.Linear(size, size) if config.classes else None
        self.heads = Heads(size, config.classes, config.dropout) if config.classes else None
        self.head_weight = config.head_weight
        if config.tied:
            self._tied_weights_keys = tied_names(self.reader, self.writer)
            self.writer._tied_weights_keys = self.writer.all_tied_weights_keys = {}  # they are among these
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own; reader and writer have drawn theirs by their own rules."""

    def is_pretrained(self, name: str) -> bool:
        """Does this weight come from a checkpoint? What does not may learn faster."""
        return name.startswith(("reader.", "writer.")) and "cross" not in name

    def read(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Read:
        states = self.reader(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        found = Read(self.bridge(states), attention_mask)
        if self.pooler is not None and self.heads is not None:
            found["vector"] = torch.tanh(self.pooler(states[:, 0]))
            found["told"] = self.heads(found["vector"])
        if others.get("prompt_ids") is not None and others["prompt_ids"].shape[1]:
            found["prompt"], found["prompt_mask"] = others["prompt_ids"], others["prompt_mask"]
        return found

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        assert read.last_hidden_state is not None and read.mask is not None
        if read.prompt is None or read.prompt_mask is None:
            return states_of(self.writer, reply_ids, read.last_hidden_state, read.mask, past)
        before = past.get_seq_length() if past is not None else 0
        ids = reply_ids if before else torch.cat([read.prompt, reply_ids], 1)
        said = before + ids.shape[1] - read.prompt.shape[1]  # tokens of the reply so far
        mask = torch.cat([read.prompt_mask, read.prompt_mask.new_ones(len(ids), said)], 1)
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        states = states_of(self.writer, ids, read.last_hidden_state, read.mask, past, mask, positions)
        return states[:, -reply_ids.shape[1] :]

    def speak(self, states: Tensor) -> Tensor:
        return logits_of(self.writer, states)


def tied_names(reader: PreTrainedModel, writer: PreTrainedModel) -> dict[str, str]:
    """The writer's weight → the one that it is: the reader's, where the reader has it."""
    found = {f"writer.{name}": f"writer.{same}" for name, same in (writer._tied_weights_keys or {}).items()}
    base = writer.base_model_prefix
    own = {name for name, _ in writer.base_model.named_parameters()}
    found |= {
        f"writer.{base}.{name}": f"reader.{name}" for name, _ in reader.named_parameters() if name in own
    }
    return {name: found.get(same, same) for name, same in found.items()}


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Any = None
) -> tuple[EncoderDecoder, Any]:
    """tokenizer: that of the run it will start from."""
    reader, writer = load_encoder(settings.reader), load_writer(settings.writer)
    config = EncoderDecoderConfig(
        reader=reader.config.to_dict(), writer=writer.config.to_dict(), tied=settings.tied,
        cross_every=settings.cross_every, dropout=settings.dropout, classes=classes,
        head_weight=settings.head_weight,
    )  # fmt: skip
    model = EncoderDecoder(config)
    if settings.warm:
        copy_weights(reader, model.reader)
        open_layers(writer, int(reader.config.hidden_size), settings.cross_every)
        model.writer.load_state_dict(writer.state_dict())
        model.tie_weights()
    return model, tokenizer or _tokenizers(settings)


def _tokenizers(settings: Settings) -> Tokenizer | TwoTokenizers:
    writer = load_tokenizer(settings.writer)
    return (
        writer
        if settings.reader == settings.writer
        else TwoTokenizers(load_tokenizer(settings.reader), writer)
    )


def load(folder: Path) -> EncoderDecoder:
    model: EncoderDecoder = EncoderDecoder.from_pretrained(folder)
    return model
