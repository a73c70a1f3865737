"""Training language models: dialogues in, perplexity of human replies out; the rest is the engine's."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.dialogue import Dialogue
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.models.listener_lm import SLOTS, Told
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.gradient import Encode, Learner
from heartfelt.training.run import Run, environment, open_run, write_card
from heartfelt.training.start import start_from, wrong_with_start
from heartfelt.training.talks import TALKS, Talk

METRICS = ("ppl", "ppl_word", "bits_per_byte")
# What the prefix tells of a reply that is scored: the share of emotions, and of plans, that are left open.
PREFIXES: dict[str, Mapping[str, float]] = {
    "gold prefix": {"emotion": 0.0, "plan": 0.0},
    "emotion only": {"emotion": 0.0, "plan": 1.0},
    "no prefix": {"emotion": 1.0, "plan": 1.0},
}


def train_language(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = TALKS[recipe.task]
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if not hasattr(module, "encode_dialogue"):
        problems.append(f"{recipe.model} does not speak, and {task.name} is about what to say")
    if recipe.training.metric not in ("loss", "ppl"):
        problems.append(f"training.metric is loss or ppl, not {recipe.training.metric}")
    if recipe.teacher:
        problems.append("a language model learns from dialogues, not from a teacher")
    if recipe.extra:
        problems.append("a language model learns from dialogues, not from extra turns")
    if recipe.training.label_smoothing:
        problems.append("training.label_smoothing is for classifiers")
    if recipe.start:
        problems += wrong_with_start(recipe)
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    run = open_run(folder, recipe)
    if run.results is not None:
        return run.results
    splits = {split: list(task.read(split, data)) for split in ("train", "valid", "test")}
    set_seed(recipe.training.seed)
    model, tokenizer = module.build(settings)
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, {})
    encodes = {
        name: encoder(module, settings, tokenizer, left_open(share)) for name, share in PREFIXES.items()
    }
    learning = left_open({"emotion": settings.open_share, "plan": settings.open_share})
    gold = encodes["gold prefix"]
    learner = Learner(
        folder, recipe, model, tokenizer, gold, perplexity, encoder(module, settings, tokenizer, learning)
    )
    learner.learn(splits["train"], whole(splits["valid"], gold, settings.max_tokens), watch)
    talks = whole(splits["test"], gold, settings.max_tokens)
    scores = {"test": {"gold prefix": likelihoods(talks, learner.logits(talks, gold), gold)}} if talks else {}
    results = {
        "task": task.name,
        "model": recipe.model,
        "scores": scores,
        "best_step": learner.keeper.best_step,
        "parameters": sum(p.numel() for p in model.parameters()),
        "learned": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "minutes": round(learner.minutes.spent(), 1),
        "items": {split: len(talks) for split, talks in splits.items()},
        "recipe": recipe.hash(),
        "data": data_hash(splits),
        "environment": environment(),
    }
    if learner.first_process:
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        write_card(run, recipe, task.what, results)
        run.write("results.json", results)
        learner.finish()
    return results


def left_open(share: Mapping[str, float]) -> Told:
    """The prefix as labelled, but for a share of emotions and of plans.

    Which ones is decided by the dialogue's id, not by chance: a resumed run sees what an unbroken one would.
    """

    def told(dialogue: Dialogue, index: int) -> tuple[str | None, str | None]:
        known = {"emotion": dialogue.emotion, "plan": dialogue.turns[index].label}
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
    for talk in talks:
        last = found[-1] if found else None
        if last and last.dialogue.id == talk.dialogue.id and len(last.replies) + len(talk.replies) <= SLOTS:
            both = Talk(talk.dialogue, (*last.replies, *talk.replies))
            if len(encode(both)["input_ids"]) < max_tokens:
                found[-1] = both
                continue
        found.append(talk)
    return found


def perplexity(predicted: EvalPrediction) -> dict[str, float]:
    nats, tokens = (
        np.asarray(predicted.predictions),
        np.asarray(predicted.label_ids),
    )  # (items, SLOTS, 2) each
    return {"ppl": float(np.exp(nats[..., 0].sum() / tokens[..., 0].sum()))}


def likelihoods(talks: Sequence[Talk], nats: np.ndarray, encode: Encode) -> dict[str, Any]:
    """Metric → [value, low, high] of replies, from the (talks, SLOTS, 2) nats of each; intervals by dialogue."""
    rows = []
    for talk, found in zip(talks, nats, strict=True):
        for reply, lost, counted in zip(talk.replies, found, encode(talk)["labels"], strict=False):
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


def data_hash(splits: Mapping[str, Sequence[Talk]]) -> str:
    digest = hashlib.sha256()
    for split, talks in splits.items():
        for talk in talks:
            digest.update(f"{split}{talk.replies}{talk.dialogue.to_json()}".encode())
    return digest.hexdigest()[:12]
