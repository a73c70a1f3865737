"""How likely a language model finds what people said: perplexity by token and word, bits per byte.

Every reply is scored given all that was said before it, and a prefix that tells more or less of it (PREFIXES).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import msgspec
import numpy as np

from heartfelt.agent.listen import Listener, shipped
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.models import module_of
from heartfelt.models.listener_lm import SLOTS, Told, as_labelled
from heartfelt.recipe import fill
from heartfelt.training.gradient import Encode
from heartfelt.training.predict import in_batches
from heartfelt.training.run import Run
from heartfelt.training.talks import TALKS, Talk

METRICS = ("ppl", "ppl_word", "bits_per_byte")
# What the prefix tells of a reply that is scored: the share of emotions, and of plans, that are left open.
PREFIXES: dict[str, Mapping[str, float]] = {
    "gold prefix": {"emotion": 0.0, "plan": 0.0},
    "emotion only": {"emotion": 0.0, "plan": 1.0},
    "no prefix": {"emotion": 1.0, "plan": 1.0},
}
PREDICTED = "predicted prefix"  # what the shipped encoder hears and plans


def score(
    run: Run,
    prefix: str,
    split: str = "test",
    data: Path | None = None,
    base: bool = False,
    step: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Metric → [value, low, high] of a split's replies by a finished run; base: by the checkpoint before training."""
    if prefix not in (*PREFIXES, PREDICTED):
        raise UnknownName("prefix", prefix, (*PREFIXES, PREDICTED))
    recipe = run.recipe
    module = module_of(recipe.model)
    if recipe.task not in TALKS or run.results is None:
        raise InvalidValue(f"{run.folder} is not a finished run of a language model")
    settings, _ = fill(module.Settings, recipe.settings)
    if base:
        model, tokenizer = module.build(replace(settings, lora_rank=0))  # type: ignore[type-var]
    else:
        from heartfelt.models.backbone import saved_tokenizer

        model, tokenizer = module.load(run.folder / "model"), saved_tokenizer(run.folder / "model")
    talks = list(TALKS[recipe.task].read(split, data))
    told = foretold([talk.dialogue for talk in talks]) if prefix == PREDICTED else left_open(PREFIXES[prefix])
    encode = encoder(module, settings, tokenizer, told)
    talks = whole(talks, encode, settings.max_tokens)  # type: ignore[union-attr]
    nats = in_batches(model.eval(), [encode(talk) for talk in talks], int(tokenizer.pad_token_id or 0), step)
    return likelihoods(talks, nats, encode)


def foretold(dialogues: Sequence[Dialogue], listener: Listener | None = None) -> Told:
    """The prefix as an agent without a policy would write it before each reply, by what was said up to there."""
    asked = {}
    for dialogue in dialogues:
        for index, turn in enumerate(dialogue.turns):
            if index and turn.speaker != dialogue.speaker:
                asked[dialogue.id, index] = msgspec.structs.replace(dialogue, turns=dialogue.turns[:index])
    listener = listener or shipped()
    found: dict[tuple[str, int], tuple[str | None, str | None]] = {}
    for name, heard in zip(asked, listener(list(asked.values())), strict=True):
        plan = listener.plan(heard)
        found[name] = (heard.feeling, max(plan, key=lambda label: plan[label]) if plan else None)
    return lambda dialogue, index: found.get((dialogue.id, index), (None, None))


def left_open(share: Mapping[str, float]) -> Told:
    """The prefix as labelled, but for a share of emotions and of plans.

    Which ones is decided by the dialogue's id, not by chance: a resumed run sees what an unbroken one would.
    """

    def told(dialogue: Dialogue, index: int) -> tuple[str | None, str | None]:
        known = dict(zip(("emotion", "plan"), as_labelled(dialogue, index), strict=True))
        for part, of_all in share.items():
            if crc32(f"{dialogue.id}:{index}:{part}".encode()) % 1000 < 1000 * of_all:
                known[part] = None
        return known["emotion"], known["plan"]

    return told


def encoder(module: ModuleType, settings: Any, tokenizer: Any, told: Told) -> Encode:
    """How a talk becomes tokens; its labels are how many of them are reply, and prefix, slot by slot."""

    def encode(talk: Talk) -> dict[str, Any]:
        tokens = module.encode_dialogue(settings, tokenizer, talk.dialogue, talk.replies, told)
        return {**tokens, "labels": module.counts(tokens["purpose"])}

    return encode


def whole(talks: Sequence[Talk], encode: Encode, max_tokens: int) -> list[Talk]:
    """The same replies, as many of a dialogue in one talk as have slots of their own and lose nothing at the front."""
    found: list[Talk] = []
    for talk in (Talk(several.dialogue, (reply,)) for several in talks for reply in several.replies):
        last = found[-1] if found else None
        if last and last.dialogue == talk.dialogue and len(last.replies) + len(talk.replies) <= SLOTS:
            both = Talk(talk.dialogue, (*last.replies, *talk.replies))
            if len(encode(both)["input_ids"]) < max_tokens:
                found[-1] = both
                continue
        found.append(talk)
    return found


def perplexity(predicted: Any) -> dict[str, float]:
    # (items, SLOTS, 2) each
    nats, tokens = np.asarray(predicted.predictions), np.asarray(predicted.label_ids)
    return {"ppl": float(np.exp(nats[..., 0].sum() / tokens[..., 0].sum()))}


def likelihoods(talks: Sequence[Talk], nats: np.ndarray, encode: Encode) -> dict[str, Any]:
    """Metric → [value, low, high] of replies, from the (talks, SLOTS, 2) nats of each; intervals by dialogue."""
    rows = []
    for talk, found in zip(talks, nats, strict=True):
        counts = encode(talk)["labels"][: len(talk.replies)]
        for reply, lost, counted in zip(talk.replies, found[: len(counts)], counts, strict=True):
            said = talk.dialogue.turns[reply].text
            rows.append(
                Output(
                    talk.dialogue.id, reply, reference=said, log_likelihood=-float(lost[0]), tokens=counted[0]
                )
            )
    found = evaluate(Outputs(Header(system="replies"), tuple(rows)), METRICS, 1000).scores
    return {
        name: [None if n is None else round(n, 4) for n in (score.value, score.low, score.high)]
        for name, score in found.items()
    } | {"items": len(rows)}
