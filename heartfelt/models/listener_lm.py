"""A causal language model that answers as a listener, steered by a prefix: heartfelt-en.

    user:       My dog died last night.
    assistant:  [sad | sympathizing] Oh no, I am so sorry. How old was he?

The prefix (heartfelt.models.prompt) names how the speaker feels and what the reply does. Either may be left open
("any"), and is at times in training, so that each can be absent. The prefix itself can carry loss: then the one model
also recognises and plans (joint training in the sense of liu2021 and joint2021).

Unusual: logits are made only for the tokens that are learned or scored. The vocabulary is large, and most tokens are
context. All replies of a dialogue are learned and scored in one pass, each in a slot of its own: what a reply sees
before it is what it would see alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PretrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue
from heartfelt.models.backbone import (
    add_adapters,
    copy_weights,
    empty_encoder,
    load_encoder,
    load_tokenizer,
    merge_adapters,
)
from heartfelt.models.precision import precision
from heartfelt.models.prompt import ANSWERS, END, SPEAKS, plain, prefix

TOKENS_A_REPLY = (
    32  # a constant near the mean: what a sum over tokens is divided by, whatever the batch holds
)
FIXED = ("lora_rank", "lora_alpha")  # settings without which learned weights mean something else
SLOTS = 4  # replies of one dialogue that are told apart; what there are more share the last slot
CONTEXT, REPLY, PREFIX = 0, 1, 2  # what a token is for; of the second reply 3 and 4, of the third 5 and 6 …

# A dialogue and one of its turns → the emotion and the plan that the turn's prefix tells.
Told = Callable[[Dialogue, int], tuple[str | None, str | None]]


@dataclass(frozen=True)
class Settings:
    checkpoint: str = "smollm2"
    lora_rank: int = 64  # of the adapters on all linear layers; 0: all weights learn
    lora_alpha: int = 64
    max_tokens: int = 320  # of a long dialogue, the end
    prefix_weight: float = 0.5  # of a prefix token's loss against a reply token's
    open_share: float = 0.3  # of replies in training whose emotion, and whose plan, is left open

    def __post_init__(self) -> None:
        if not 0 <= self.open_share <= 1 or self.prefix_weight < 0:
            raise InvalidValue("settings.open_share is between 0 and 1, settings.prefix_weight not below 0")


class ListenerLMConfig(PretrainedConfig):
    model_type = "heartfelt_listener_lm"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,  # the language model's own config
        lora_rank: int = 0,
        lora_alpha: int = 64,
        prefix_weight: float = 0.5,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.encoder, self.prefix_weight = encoder, prefix_weight
        self.lora_rank, self.lora_alpha = lora_rank, lora_alpha


class ListenerLM(PreTrainedModel):
    config_class = ListenerLMConfig
    base_model_prefix = "encoder"
    _supports_sdpa = True

    def __init__(self, config: ListenerLMConfig) -> None:
        super().__init__(config)
        self.encoder = empty_encoder(config.encoder)
        if config.lora_rank:
            add_adapters(self.encoder, config.lora_rank, config.lora_alpha)
        self.post_init()

    def _init_weights(self, module: Any) -> None:
        """All weights are loaded, and adapters begin as peft draws them."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        purpose: Tensor,
        labels: Tensor | None = None,
        **_: Any,
    ) -> dict[str, Tensor]:
        """(batch, tokens), three times. "logits": (batch, SLOTS, 2), nats of replies and of prefixes."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        said = purpose[:, 1:] != CONTEXT  # a token is predicted by the state before it
        vocabulary: Any = self.encoder.get_input_embeddings().weight  # tied: (words, size)
        logits = F.linear(states[:, :-1][said], vocabulary)
        nats = torch.zeros(said.shape, device=states.device)
        nats[said] = F.cross_entropy(logits.float(), input_ids[:, 1:][said], reduction="none")
        sums = torch.zeros((len(nats), 1 + 2 * SLOTS), device=nats.device)
        sums = sums.scatter_add(1, purpose[:, 1:], nats)[:, 1:].reshape(-1, SLOTS, 2)
        # A sum over tokens by a constant: the mean over equal shards is the mean over the batch (see Heads.loss).
        reply, prefix = sums.sum(1).unbind(-1)
        loss = (reply + self.config.prefix_weight * prefix).mean() / TOKENS_A_REPLY
        return {"loss": loss, "logits": sums}


def build(settings: Settings) -> tuple[ListenerLM, Tokenizer]:
    encoder = load_encoder(settings.checkpoint)
    if not encoder.config.tie_word_embeddings:  # without its own output layer it would answer at random
        raise InvalidValue(
            f"listener_lm reads and says words by one table, and the checkpoint {settings.checkpoint} has two"
        )
    config = ListenerLMConfig(
        encoder=encoder.config.to_dict(), prefix_weight=settings.prefix_weight, lora_alpha=settings.lora_alpha
    )
    model = ListenerLM(config)
    copy_weights(encoder, model.encoder)
    if settings.lora_rank:
        model.config.lora_rank = settings.lora_rank
        add_adapters(model.encoder, settings.lora_rank, settings.lora_alpha)
    return model, load_tokenizer(settings.checkpoint)


def load(folder: Path) -> ListenerLM:
    model: ListenerLM = ListenerLM.from_pretrained(folder)
    return model


def as_labelled(dialogue: Dialogue, index: int) -> tuple[str | None, str | None]:
    return dialogue.emotion, dialogue.turns[index].label


def encode_dialogue(
    settings: Settings,
    tokenizer: Tokenizer,
    dialogue: Dialogue,
    replies: Sequence[int],
    told: Told = as_labelled,
) -> dict[str, list[int]]:
    """A dialogue up to its last reply, as tokens and what each is for. `replies`: turns that are learned or scored."""
    ids: list[int] = []
    purpose: list[int] = []
    for index, turn in enumerate(dialogue.turns[: max(replies) + 1]):
        known: tuple[str | None, ...] = ()
        if turn.speaker == dialogue.speaker:
            lead, head = SPEAKS, ""
        else:
            known = told(dialogue, index)
            lead, head = ANSWERS, prefix(*known) + " "
        text = f"{lead}{head}{plain(turn.text)}{END}\n"
        bounds = (len(lead), len(lead) + max(len(head) - 1, 0), len(text) - 1)
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids += found["input_ids"]
        if index in replies:
            slot = 2 * min(list(replies).index(index), SLOTS - 1)
            kinds = [_purpose(a, text[a:b], bounds, known) for a, b in found["offset_mapping"]]
            purpose += [kind + slot if kind else CONTEXT for kind in kinds]
        else:
            purpose += [CONTEXT] * len(found["input_ids"])
    limit = settings.max_tokens
    return {"input_ids": ids[-limit:], "purpose": purpose[-limit:]}


def _purpose(start: int, token: str, bounds: tuple[int, int, int], known: Sequence[str | None]) -> int:
    """Of a token that begins at `start` of a turn; bounds: where its prefix begins, its reply, and its end."""
    if not bounds[0] <= start < bounds[2]:
        return CONTEXT
    if start >= bounds[1]:
        return REPLY
    named = token.strip(" []|")  # the frame is always the same, and a part that is left open is not learned
    return PREFIX if named and any(named in (part or "") for part in known) else CONTEXT


def counts(purpose: Sequence[int]) -> list[list[int]]:
    """(SLOTS, 2): how many tokens of replies and of prefixes are scored; the first token of all never is."""
    scored = list(purpose[1:])
    return [[scored.count(REPLY + 2 * slot), scored.count(PREFIX + 2 * slot)] for slot in range(SLOTS)]


def speaking(model: ListenerLM) -> Any:
    """The same weights as a transformers model that has generate(), adapters put into them."""
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = dict(model.config.encoder)
    with torch.device("meta"):
        causal: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(**settings))
    merge_adapters(model.encoder)
    setattr(causal, causal.base_model_prefix, model.encoder)
    causal.lm_head = torch.nn.Linear(1, 1, bias=False)
    causal.lm_head.weight = model.encoder.get_input_embeddings().weight  # tied
    return (causal.to(torch.bfloat16) if precision() == "bf16" else causal).eval()
