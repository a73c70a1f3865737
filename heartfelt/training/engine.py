"""The engine: `train(recipe, folder)` is all that a caller needs.

Called again on the same folder, it goes on from the last whole checkpoint, or returns what was measured if the run is
finished. Under torchrun every process calls it. A model learns by gradient (its file has `build`) or is counted in one
go (its file has `fit`); either way the run folder is the same.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import UnknownName
from heartfelt.models import GENERATORS, MATCHERS, RERANKERS, module_of
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training import extra, predictions
from heartfelt.training.pairs import PAIRS
from heartfelt.training.run import Run, environment, finished, open_run, write_card
from heartfelt.training.scores import scores
from heartfelt.training.start import start_from, started_from, wrong_with_start
from heartfelt.training.talks import TALKS
from heartfelt.training.tasks import SPLITS, TASKS, Item, Task
from heartfelt.training.teacher import teach, wrong_with_teacher

Splits = dict[str, list[Item]]
Facts = dict[str, Any]  # for results.json
Logits = Callable[[list[Item]], NDArray[np.floating[Any]]]


def train(recipe: Recipe, folder: Path, data: Path | None = None, watch: Any = None) -> dict[str, Any]:
    """Train what a recipe says into a run folder; returns its results. `watch`: a TrainerCallback of your own."""
    module = module_of(recipe.model)
    if (done := finished(folder, recipe)) is not None:
        return done
    if recipe.segment and not (recipe.task in PAIRS and recipe.model in GENERATORS):
        raise BadRecipe(f"segment is for models that write replies: {', '.join(GENERATORS)}")
    if recipe.task in TALKS:
        from heartfelt.training.language import train_language

        return train_language(recipe, module, folder, data, watch)
    if recipe.task in PAIRS:
        if recipe.model == "jury":
            from heartfelt.training.jury import train_jury

            return train_jury(recipe, module, folder, data)
        if recipe.model in RERANKERS and recipe.model not in MATCHERS:
            from heartfelt.training.reranking import train_reranking

            return train_reranking(recipe, module, folder, data, watch)
        if recipe.model in GENERATORS:
            from heartfelt.training.answering import train_answering

            return train_answering(recipe, module, folder, data, watch)
        from heartfelt.training.matching import train_matching

        return train_matching(recipe, module, folder, data, watch)
    if recipe.task not in TASKS:
        raise UnknownName("task", recipe.task, (*TASKS, *TALKS, *PAIRS))
    task = TASKS[recipe.task]
    settings = check(recipe, module, task)
    run = open_run(folder, recipe)
    splits = {split: list(task.read(split, data)) for split in SPLITS}
    told = {}
    if recipe.extra:
        added = extra.read(recipe.extra, task, splits, data)
        splits["train"] += added.items
        told = {"extra": added.facts()}
    job = _Job(run, recipe, module, settings, task, splits, told)
    return _fit(job) if hasattr(module, "fit") else _descend(job, watch)


def check(recipe: Recipe, module: ModuleType, task: Task) -> Any:
    """The model's settings; every problem of the recipe that can be known before training is told at once."""
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    metrics = ("loss", *(f"{head}_accuracy" for head in task.heads))
    if recipe.training.metric not in metrics:
        problems.append(f"training.metric is one of {', '.join(metrics)}, not {recipe.training.metric}")
    if hasattr(module, "fit") and len(task.heads) > 1:
        problems.append(f"{recipe.model} learns one label set, and {task.name} has {len(task.heads)}")
    if hasattr(module, "encode_dialogue"):
        problems.append(
            f"{recipe.model} learns what to say, as in {', '.join(TALKS)}, and {task.name} has labels"
        )
    if recipe.model in (*MATCHERS, *RERANKERS):
        problems.append(
            f"{recipe.model} learns which reply fits, as in {', '.join(PAIRS)}, and {task.name} has labels"
        )
    if recipe.model in GENERATORS:
        problems.append(
            f"{recipe.model} writes replies, as in {', '.join(PAIRS)}, and {task.name} has labels"
        )
    if recipe.prepend:
        problems.append(f"prepend is for models that answer, and {task.name} has labels")
    if recipe.teacher:
        if hasattr(module, "fit"):
            problems.append(f"{recipe.model} cannot learn from a teacher")
        problems += wrong_with_teacher(recipe.teacher, task.name, task.heads)
    if recipe.start:
        problems += wrong_with_start(recipe)
    problems += extra.problems(recipe.extra, task)
    if problems:
        raise BadRecipe("; ".join(problems))
    return settings


@dataclass(frozen=True)
class _Job:
    """All that a training starts from."""

    run: Run
    recipe: Recipe
    module: ModuleType
    settings: Any  # the module's own Settings
    task: Task
    splits: Splits
    told: Facts  # of what joined the data


def _descend(job: _Job, watch: Any) -> Facts:
    from transformers import set_seed

    from heartfelt.training.gradient import Learner, accuracies, encoder

    recipe, task, folder = job.recipe, job.task, job.run.folder
    set_seed(recipe.training.seed)  # before the heads are drawn
    classes = {head: len(labels) for head, labels in task.heads.items()}
    train, lessons = job.splits["train"], None
    model, tokenizer = job.module.build(job.settings, classes, [item.text for item in train])
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, task.heads)
    encode = encoder(job.module, job.settings, tokenizer, task)
    learner = Learner(folder, recipe, model, tokenizer, encode, accuracies(task))
    if recipe.teacher:
        lessons = teach(recipe.teacher, task, train)
    else:
        train = [item for item in train if item.labels]
    learner.learn(train, job.splits["valid"], watch, lessons)
    facts = {
        "best_step": learner.keeper.best_step,
        "parameters": sum(p.numel() for p in model.parameters()),
        "minutes": round(learner.minutes.spent(), 1),
    }
    job = replace(job, splits={**job.splits, "train": train})
    results = _measure(job, learner.logits, facts, keep=learner.first_process)
    if learner.first_process:
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        finish(job.run, recipe, task, results)
        learner.finish()
    return results


def _fit(job: _Job) -> Facts:
    started = time.monotonic()
    ((head, labels),) = job.task.heads.items()
    items = job.splits["train"]
    model = job.module.fit(
        job.settings,
        [item.text for item in items],
        [labels.index(item.labels[head]) for item in items],
        len(labels),
    )
    facts = {"parameters": model.parameters, "minutes": round((time.monotonic() - started) / 60, 2)}
    results = _measure(job, lambda chosen: model.logits([item.text for item in chosen]), facts, keep=True)
    model.save(job.run.folder / "model")
    finish(job.run, job.recipe, job.task, results)
    return results


def _measure(job: _Job, logits: Logits, facts: Facts, keep: bool) -> Facts:
    """Score valid and test, and keep what was predicted."""
    measured = {}
    for split in SPLITS[1:]:
        if items := job.splits[split]:
            found = logits(items)
            measured[split] = scores(job.task, items, found)
            if keep:
                predictions.save(job.run, split, job.task, items, found)
    return {
        "task": job.task.name,
        "model": job.recipe.model,
        "scores": measured,
        **facts,
        **job.told,
        **started_from(job.recipe),
        "items": {split: len(items) for split, items in job.splits.items()},
        "recipe": job.recipe.hash(),
        "data": data_hash(job.splits),
        "environment": environment(),
    }


def finish(run: Run, recipe: Recipe, task: Task, results: Facts) -> None:
    """Labels, card, and results."""
    run.write("labels.json", {head: list(labels) for head, labels in task.heads.items()})
    write_card(run, recipe, task.what, results)
    run.write("results.json", results)  # last: a run that has it is finished


def data_hash(splits: Splits) -> str:
    """What was learned from and scored on: texts and labels of all splits, and who spoke where the task tells."""
    digest = hashlib.sha256()
    for split, items in splits.items():
        for item in items:
            told = [part for part in (item.speakers, item.turn_labels) if part]
            digest.update(repr((split, *item[:3], sorted(item.labels.items()), *told)).encode())
    return digest.hexdigest()[:12]
