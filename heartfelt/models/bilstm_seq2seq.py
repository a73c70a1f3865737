"""naous2021's baseline: a Bi-LSTM reads, an LSTM with attention writes; from scratch. EmoPrepend is a recipe over it.

Where the paper is silent (it used OpenNMT's defaults of its time): one layer, Luong attention with input feeding, the
decoder starts from the encoder's last states, both ways together.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import Cache, PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.answerer import Read, Recomputing
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.luong import LuongDecoder
from heartfelt.models.words import word_tokenizer

FIXED = ("embedding", "hidden")


@dataclass(frozen=True)
class Settings:
    vocabulary: int = 20_000
    embedding: int = 300
    hidden: int = 500  # of both ways together, and of the decoder
    dropout: float = 0.3
    window: int = 1  # turns of context
    max_tokens: int = 80
    max_reply_tokens: int = 60
    heads: tuple[str, ...] = ()
    head_weight: float = 1.0


class BiLSTMSeq2SeqConfig(PretrainedConfig):
    model_type = "heartfelt_bilstm_seq2seq"

    def __init__(
        self,
        vocabulary: int = 0,
        embedding: int = 300,
        hidden: int = 500,
        dropout: float = 0.3,
        classes: Classes | None = None,  # head → number of labels
        head_weight: float = 1.0,
        **others: Any,
    ) -> None:
        super().__init__(**{**others, "is_encoder_decoder": True})
        self.vocabulary, self.embedding, self.hidden = vocabulary, embedding, hidden
        self.dropout, self.classes, self.head_weight = dropout, ordered(classes), head_weight


class BiLSTMSeq2Seq(Recomputing):
    config_class = BiLSTMSeq2SeqConfig

    def __init__(self, config: BiLSTMSeq2SeqConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary, config.embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        self.reader = nn.LSTM(config.embedding, config.hidden // 2, batch_first=True, bidirectional=True)
        self.writer = LuongDecoder("lstm", config.embedding, config.hidden, config.hidden, config.dropout)
        self.out = nn.Linear(config.hidden, config.vocabulary)
        self.heads = Heads(config.hidden, config.classes, config.dropout) if config.classes else None
        self.head_weight = config.head_weight
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own: with transformers' small embeddings an LSTM takes hundreds of steps to wake up."""

    def read(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Read:
        states, last = read_both_ways(self.reader, self.dropout(self.words(input_ids)), attention_mask)
        return Read(states, attention_mask, last, self.heads(last) if self.heads else None)

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        words = self.dropout(self.words(reply_ids))
        found: Tensor = self.writer(words, read.vector, read.last_hidden_state, read.mask)
        return found

    def speak(self, states: Tensor) -> Tensor:
        found: Tensor = self.out(states)
        return found


def read_both_ways(reader: nn.LSTM | nn.GRU, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(batch, tokens, embedding) → all states, both ways together, and the last one each way, put together."""
    packed = pack_padded_sequence(words, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    states, last = reader(packed)
    if isinstance(last, tuple):  # an LSTM's, with its cells
        last = last[0]
    whole, _ = pad_packed_sequence(states, batch_first=True, total_length=words.shape[1])
    return whole, torch.cat([last[0], last[1]], -1)


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[BiLSTMSeq2Seq, Tokenizer]:
    """tokenizer: that of the run it will start from; else the texts' own words."""
    tokenizer = tokenizer or word_tokenizer(texts, settings.vocabulary)
    config = BiLSTMSeq2SeqConfig(
        vocabulary=len(tokenizer), embedding=settings.embedding, hidden=settings.hidden, dropout=settings.dropout,
        classes=classes, head_weight=settings.head_weight,
    )  # fmt: skip
    return BiLSTMSeq2Seq(config), tokenizer


def load(folder: Path) -> BiLSTMSeq2Seq:
    model: BiLSTMSeq2Seq = BiLSTMSeq2Seq.from_pretrained(folder)
    return model
