"""Training language models: dialogues in, perplexity of human replies out; the rest is the engine's."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.gradient import Encode, Learner
from heartfelt.training.run import environment, open_run, write_card
from heartfelt.training.talks import TALKS, Talk

METRICS = ("ppl", "ppl_word", "bits_per_byte")
# What the prefix tells of a reply that is scored. Left open are an emotion and a plan that nobody knows.
PREFIXES: dict[str, Mapping[str, float]] = {
    "gold prefix": {},
    "emotion only": {"plan": 1.0},
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
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    run = open_run(folder, recipe)
    if run.results is not None:
        return run.results
    splits = {split: list(task.read(split, data)) for split in ("train", "valid", "test")}
    set_seed(recipe.training.seed)
    model, tokenizer = module.build(settings)
    encode = partial(encoder, module, settings, tokenizer)
    learning = {"emotion": settings.open_share, "plan": settings.open_share}
    learner = Learner(
        folder, recipe, model, tokenizer, encode(PREFIXES["gold prefix"]), perplexity, encode(learning)
    )
    learner.learn(splits["train"], splits["valid"], watch)
    scores = {
        split: {
            name: likelihoods(
                splits[split], learner.logits(splits[split], encode(openness)), encode(openness)
            )
            for name, openness in PREFIXES.items()
        }
        for split in ("valid", "test")
        if splits[split]
    }
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


def encoder(module: ModuleType, settings: Any, tokenizer: Any, openness: Mapping[str, float]) -> Encode:
    """How a talk becomes tokens; its labels are how many of them are reply, and prefix."""

    def encode(talk: Talk) -> dict[str, Any]:
        tokens = module.encode_dialogue(settings, tokenizer, talk.dialogue, talk.replies, openness)
        counts = [tokens["purpose"][1:].count(kind) for kind in (module.REPLY, module.PREFIX)]
        return {**tokens, "labels": counts}

    return encode


def perplexity(predicted: EvalPrediction) -> dict[str, float]:
    nats, tokens = np.asarray(predicted.predictions), np.asarray(predicted.label_ids)  # (items, 2) each
    return {"ppl": float(np.exp(nats[:, 0].sum() / tokens[:, 0].sum()))}


def likelihoods(talks: Sequence[Talk], nats: np.ndarray, encode: Encode) -> dict[str, Any]:
    """Metric → [value, low, high] of replies that were scored one by one; intervals by dialogue."""
    rows = tuple(
        Output(
            talk.dialogue.id, talk.replies[-1], reference=talk.dialogue.turns[talk.replies[-1]].text,
            log_likelihood=-float(found[0]), tokens=encode(talk)["labels"][0],
        )
        for talk, found in zip(talks, nats, strict=True)
    )  # fmt: skip
    found = evaluate(Outputs(Header(system="replies"), rows), METRICS, 1000).scores
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
