"""Pretrained decoders that look at what was read.

BERT, RoBERTa and GPT-2 have a place for cross-attention, which no checkpoint fills: it is drawn at random. Llama and
its kin have none: some of their layers get one behind them, whose output begins at nought, so that at first the model
says what it always said.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM, Cache, EncoderDecoderCache, PreTrainedModel

from heartfelt.errors import InvalidValue
from heartfelt.models.backbone import load_language_model

PLACED = ("bert", "roberta", "gpt2", "xlm-roberta", "camembert", "electra")  # types that have the place


def empty_writer(config: dict[str, Any] | None, size: int, every: int) -> PreTrainedModel:
    """A language model of this shape without weights. size: of the states it looks at; every: see open_layers."""
    settings = dict(config or {})
    kind = settings.pop("model_type")
    writer: PreTrainedModel = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **settings))
    open_layers(writer, size, every)
    return writer


def load_writer(checkpoint: str) -> PreTrainedModel:
    """The checkpoint as a decoder, with its language-model head, in fp32; layers without the place are not open yet."""
    return load_language_model(checkpoint, PLACED)


def open_layers(writer: PreTrainedModel, size: int, every: int) -> None:
    """Where there is no place for it: behind every so-manieth layer, one that looks at states of this size."""
    if writer.config.model_type in PLACED:
        return
    base: Any = writer.base_model
    if not hasattr(base, "layers"):
        raise InvalidValue(f"settings.writer: {writer.config.model_type} has no layers that could be opened")
    config = writer.config
    for place in range(every - 1, len(base.layers), every):
        base.layers[place] = Opened(base.layers[place], config.hidden_size, size, config.num_attention_heads)


def states_of(
    writer: PreTrainedModel,
    ids: Tensor,
    read: Tensor,
    read_mask: Tensor,
    past: Cache | None,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """(batch, tokens) → (batch, tokens, size). read: (batch, tokens read, its size)

    mask, positions: of all tokens so far and of these, where some of the first are padding.
    """
    if writer.config.model_type in PLACED:
        looks = {"encoder_hidden_states": read, "encoder_attention_mask": read_mask}
    else:
        looks = {"read": read, "read_mask": read_mask}
        if isinstance(past, EncoderDecoderCache):
            past = past.self_attention_cache
    given = {"attention_mask": mask, "position_ids": positions} if mask is not None else {}
    found: Tensor = writer.base_model(
        input_ids=ids, past_key_values=past, use_cache=past is not None, **looks, **given
    ).last_hidden_state
    return found


def logits_of(writer: PreTrainedModel, states: Tensor) -> Tensor:
    """What a language model's own head makes of states."""
    head: Any = writer.cls if hasattr(writer, "cls") else writer.lm_head
    found: Tensor = head(states)
    return found


class Opened(nn.Module):
    """A decoder layer, then attention over what was read."""

    def __init__(self, layer: nn.Module, size: int, read_size: int, heads: int) -> None:
        super().__init__()
        self.layer, self.crossattention = layer, CrossAttention(size, read_size, heads)

    def forward(self, states: Tensor, *, read: Tensor, read_mask: Tensor, **others: Any) -> Tensor:
        states = self.layer(states, **others)
        found: Tensor = states + self.crossattention(states, read, read_mask)
        return found


class CrossAttention(nn.Module):
    def __init__(self, size: int, read_size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(size)
        self.query = nn.Linear(size, size, bias=False)
        self.key = nn.Linear(read_size, size, bias=False)
        self.value = nn.Linear(read_size, size, bias=False)
        self.out = nn.Linear(size, size, bias=False)
        nn.init.zeros_(self.out.weight)

    def forward(self, states: Tensor, read: Tensor, read_mask: Tensor) -> Tensor:
        query = self._parted(self.query(self.norm(states)))  # (batch, heads, tokens, size of a head)
        key, value = self._parted(self.key(read)), self._parted(self.value(read))
        seen = F.scaled_dot_product_attention(query, key, value, read_mask[:, None, None].bool())
        found: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return found

    def _parted(self, rows: Tensor) -> Tensor:
        return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)
