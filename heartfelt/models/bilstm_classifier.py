"""Bi-LSTM emotion classifiers from scratch, the baselines of joint2021: with and without attention on top."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.heads import Classes, Classifier, Heads, ordered
from heartfelt.models.words import word_tokenizer


@dataclass(frozen=True)
class Settings:
    attention: bool = False
    vocabulary: int = 20_000
    embedding: int = 300
    hidden: int = 384  # each way; both together are the paper's 768
    dropout: float = 0.3
    max_tokens: int = 80  # the paper's


class BiLSTMConfig(PretrainedConfig):
    model_type = "heartfelt_bilstm_classifier"

    def __init__(
        self,
        vocabulary: int = 0,
        embedding: int = 300,
        hidden: int = 384,
        attention: bool = False,
        dropout: float = 0.3,
        classes: Classes | None = None,  # head → number of labels
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.vocabulary, self.embedding, self.hidden = vocabulary, embedding, hidden
        self.attention, self.dropout, self.classes = attention, dropout, ordered(classes)


class BiLSTMClassifier(Classifier):
    config_class = BiLSTMConfig

    def __init__(self, config: BiLSTMConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocabulary, config.embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True, bidirectional=True)
        self.query = nn.Linear(2 * config.hidden, 1, bias=False) if config.attention else None
        self.heads = Heads(2 * config.hidden, config.classes, config.dropout)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's own: with transformers' small embeddings an LSTM takes hundreds of steps to wake up."""

    def vector(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(batch, tokens) → (batch, 2 × hidden)"""
        lengths = attention_mask.sum(1)
        embedded = self.dropout(self.embedding(input_ids))
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        if self.query is None:
            return torch.cat([last[0], last[1]], dim=-1)  # the last state each way
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=input_ids.shape[1])
        fit = self.query(states).squeeze(-1).masked_fill(attention_mask == 0, float("-inf"))
        return (torch.softmax(fit, dim=-1).unsqueeze(-1) * states).sum(1)


def build(
    settings: Settings, classes: dict[str, int], texts: list[str]
) -> tuple[BiLSTMClassifier, Tokenizer]:
    tokenizer = word_tokenizer(texts, settings.vocabulary)
    config = BiLSTMConfig(
        vocabulary=len(tokenizer), embedding=settings.embedding, hidden=settings.hidden, attention=settings.attention,
        dropout=settings.dropout, classes=classes,
    )  # fmt: skip
    return BiLSTMClassifier(config), tokenizer


def load(folder: Path) -> BiLSTMClassifier:
    model: BiLSTMClassifier = BiLSTMClassifier.from_pretrained(folder)
    return model
