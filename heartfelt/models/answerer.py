"""What all models that write replies do: read a context, then say the reply token by token.

    read(context) → Read                    what was understood: states, one vector, what the heads say of it
    say(reply so far, Read) → states        (batch, tokens, size), each state for the token that comes next
    speak(states) → logits                  by the table that words are read with, where a model does not say otherwise

In training all tokens of a reply are said at once, and logits are made only where there is a token. For decoding this
is an encoder-decoder of transformers: `generate()` with all that it can, and diverse beams beside (diverse_beams.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Cache, EncoderDecoderCache, GenerationConfig, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils.generic import ModelOutput

from heartfelt.dialogue import Turn
from heartfelt.labels import LABELS, label_id
from heartfelt.models.heads import Heads, Lesson
from heartfelt.models.matcher import encode_context
from heartfelt.models.segmenting import Segmenting
from heartfelt.models.two_tokenizers import reader_of

TOKENS_A_REPLY = (
    16  # a constant near the mean: what a sum over tokens is divided by, whatever the batch holds
)


@dataclass
class Read(ModelOutput):
    """What a model has understood of contexts. Every tensor has the batch first, so that beams can repeat it."""

    last_hidden_state: Tensor | None = None  # (batch, tokens, size): what the decoder looks at
    mask: Tensor | None = None  # (batch, tokens)
    vector: Tensor | None = None  # (batch, size): the whole; what heads read
    told: Tensor | None = None  # (batch, all classes): what the heads say
    reply_label: Tensor | None = None  # (batch,): what the reply should do, where a model is told
    prompt: Tensor | None = None  # (batch, tokens), padded left: what the decoder reads before the reply
    prompt_mask: Tensor | None = None


class Answerer(PreTrainedModel, GenerationMixin):
    keeps = True  # what it computed for the tokens before, in transformers' cache
    words: nn.Embedding
    heads: Heads | None  # labels that are learned beside
    head_weight: float = 1.0
    accepts_loss_kwargs = False
    main_input_name = "input_ids"

    @property
    def labelling(self) -> Heads | None:
        return self.heads

    def read(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Read:
        """(batch, tokens), padded right, and what else the model's `encode` tells; in training, the heads' labels."""
        raise NotImplementedError

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        """past: what was computed for the tokens before these."""
        raise NotImplementedError

    def speak(self, states: Tensor) -> Tensor:
        return F.linear(states, self.words.weight)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        reply_ids: Tensor | None = None,
        reply_mask: Tensor | None = None,
        labels: Tensor | None = None,
        smoothing: float = 0.0,
        lesson: Lesson | None = None,
        encoder_outputs: Read | None = None,
        decoder_input_ids: Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **others: Any,
    ) -> Any:
        """Contexts and their replies, (batch, tokens) each → the loss, and "logits": (batch, 1 + all classes), the nats
        of each reply and what the heads say. labels: (batch, 1 + heads), the number of tokens and the heads' own

        With encoder_outputs it is generate() that asks, for the token after decoder_input_ids.
        """
        if encoder_outputs is not None:
            assert decoder_input_ids is not None
            state = self.say(decoder_input_ids, encoder_outputs, past_key_values)[:, -1:]
            logits: Any = self.speak(state)
            return Seq2SeqLMOutput(logits=logits, past_key_values=past_key_values)
        assert input_ids is not None and attention_mask is not None
        assert reply_ids is not None and reply_mask is not None
        of_heads = None if labels is None else labels[:, 1:]
        read = self.read(input_ids, attention_mask, labels=of_heads if self.training else None, **others)
        nats = self.nats(read, reply_ids, reply_mask)
        found = [nats.unsqueeze(1)]
        # A sum over tokens by a constant: the mean over equal shards is the mean over the batch (see Heads.loss).
        loss = nats.mean() / TOKENS_A_REPLY
        if self.labelling is not None and read.told is not None:
            found.append(read.told)
            if of_heads is not None:
                loss = loss + self.head_weight * self.labelling.loss(read.told, of_heads, smoothing, lesson)
        return {"loss": loss, "logits": torch.cat(found, 1)}

    def nats(self, read: Read, reply_ids: Tensor, reply_mask: Tensor) -> Tensor:
        """(batch,): how unlikely each reply is; its first token, which begins it, is given."""
        said = reply_mask[:, 1:] == 1
        logits = self.speak(self.say(reply_ids[:, :-1], read)[said])
        nats = torch.zeros(said.shape, device=logits.device)
        nats[said] = F.cross_entropy(logits.float(), reply_ids[:, 1:][said], reduction="none")
        return nats.sum(1)

    def begin_with(self, tokenizer: Any) -> None:
        """Which tokens begin, end and pad a reply."""
        first, last = reply_ends(tokenizer)
        self.generation_config = GenerationConfig(
            decoder_start_token_id=first, bos_token_id=first, eos_token_id=last,
            pad_token_id=int(tokenizer.pad_token_id), use_cache=self.keeps,
        )  # fmt: skip


class Recomputing(Answerer):
    """One that keeps nothing between two tokens: each time it says the whole reply so far."""

    keeps = False


def reply_ends(tokenizer: Any) -> tuple[int, int]:
    """The tokens that begin and end a text: <s> and </s>, or BERT's [CLS] and [SEP]."""
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.cls_token_id
    last = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    return int(first), int(last)


def mean_state(states: Tensor, mask: Tensor) -> Tensor:
    """(batch, tokens, size) → (batch, size), over what is no padding."""
    counted = mask.unsqueeze(-1).to(states.dtype)
    return (states * counted).sum(1) / counted.sum(1)


def encode_pair(
    module: ModuleType,
    settings: Any,
    tokenizer: Any,
    context: Sequence[Turn],
    reply: str = "",
    context_label: str = "",
    reply_label: str | None = None,
    concepts: str = "",
) -> dict[str, Any]:
    """A context, by the model's own `encode` where its file has one, and a reply, as tokens.

    context_label: words that are put before the context; reply_label: one of the 41, what the reply does; concepts:
    what the decoder reads before the reply, where a model asks for it.
    """
    if isinstance(tokenizer, Segmenting):
        context, reply, tokenizer = tokenizer.cut_turns(context), tokenizer.cut(reply), tokenizer.inner
    reader = reader_of(tokenizer)
    if hasattr(module, "encode"):
        tokens = module.encode(settings, reader, context)
    else:
        tokens = {"input_ids": encode_context(settings, reader, context, context_label)}
    if getattr(settings, "concepts", 0):
        tokens["prompt_ids"] = _words(tokenizer, concepts, settings.concepts)
    first, last = reply_ends(tokenizer)
    return {
        **tokens,
        "reply_ids": [first, *_words(tokenizer, reply, settings.max_reply_tokens - 2), last],
        "reply_label": label_id(reply_label) if reply_label in LABELS else len(LABELS),
    }


def _words(tokenizer: Any, text: str, limit: int) -> list[int]:
    """Of a long text, the start."""
    tokenizer.truncation_side = "right"
    found: list[int] = tokenizer(text, add_special_tokens=False, truncation=True, max_length=limit)[
        "input_ids"
    ]
    return found


def in_batch(examples: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Tensor]:
    """What encode_pair gives, as tensors: lists are padded on the right; what stands before a reply, on the left."""
    batch = {}
    for name in (name for name in examples[0] if name not in ("reply_label", "labels", "prompt_ids")):
        rows = [torch.tensor(example[name]) for example in examples]
        fill = (
            pad_id if name == "reply_ids" else 0
        )  # the reader's words may be others; 0 is one, and is masked
        batch[name] = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=fill)
    if "prompt_ids" in examples[0]:
        turned = [torch.tensor(example["prompt_ids"][::-1], dtype=torch.long) for example in examples]
        batch["prompt_ids"] = nn.utils.rnn.pad_sequence(turned, batch_first=True, padding_value=pad_id).flip(
            1
        )
        lengths = torch.tensor([[len(row)] for row in turned])
        places = torch.arange(batch["prompt_ids"].shape[1]).flip(0)
        batch["prompt_mask"] = (places < lengths).long()
    for name, mask in (("input_ids", "attention_mask"), ("reply_ids", "reply_mask")):
        lengths = torch.tensor([[len(example[name])] for example in examples])
        batch[mask] = (torch.arange(batch[name].shape[1]) < lengths).long()
    batch["reply_label"] = torch.tensor([example["reply_label"] for example in examples])
    if "labels" in examples[0]:
        batch["labels"] = torch.tensor([example["labels"] for example in examples])
    return batch
