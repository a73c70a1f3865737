"""Several finished runs as one: their calibrated chances, averaged. Nothing is trained.

Runs may be of different models, and of tasks of which one contains the other's items (`situations` in `everything`):
for each head that all of them have, the items that all of them have.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, InvalidValue
from heartfelt.recipe import Recipe
from heartfelt.training import predictions
from heartfelt.training.calibration import best_temperature
from heartfelt.training.engine import data_hash, finish
from heartfelt.training.predictions import Predicted
from heartfelt.training.run import Run, environment, open_run
from heartfelt.training.scores import Array, by_head, chances, scores
from heartfelt.training.tasks import SPLITS, Item

MODEL = "ensemble"  # what recipe.yaml says in place of a model
_LEAST = 1e-12  # of a chance, so that its logarithm is a number
_STEPS = 500  # of the search for weights; it settles long before

ByRun = Mapping[str, NDArray[np.float64]]  # head → (runs,)


@dataclass(frozen=True)
class Shared:
    """A split that all runs have, with what each says of it: head → (runs, items, labels)."""

    items: tuple[Item, ...]
    logits: Mapping[str, Array]

    def gold(self, head: str, labels: Sequence[str]) -> tuple[list[int], NDArray[np.intp]]:
        """Which items have a label of the head, and which label."""
        known = [i for i, item in enumerate(self.items) if item.labels.get(head)]
        return known, np.array([labels.index(self.items[i].labels[head]) for i in known], np.intp)

    def only(self, heads: Mapping[str, Any]) -> "Shared":
        return replace(self, logits={head: self.logits[head] for head in heads})

    def cooled(self, temperatures: ByRun) -> "Shared":
        cooled = {head: logits / temperatures[head][:, None, None] for head, logits in self.logits.items()}
        return replace(self, logits=cooled)

    def of_run(self, which: int) -> Array:
        """(items, all classes)"""
        return np.concatenate([logits[which] for logits in self.logits.values()], axis=-1)

    def averaged(self, weights: ByRun) -> Array:
        """(items, all classes): logarithms of the averaged chances."""
        means = [np.tensordot(weights[head], chances(x), axes=1) for head, x in self.logits.items()]
        return np.log(np.maximum(np.concatenate(means, axis=-1), _LEAST))


def ensemble(
    runs: Sequence[Run], to: Path, fit: bool = False, data: Path | None = None, resamples: int = 1000
) -> dict[str, Any]:
    """Average runs into a folder that is like a run's; returns its results.

    fit: weights that make the labels on valid most likely, in place of equal ones.
    """
    refuse_too_few(runs)
    spoken = {split: [predictions.load(run, split, data) for run in runs] for split in SPLITS[1:]}
    heads = _heads(runs, spoken["test"])
    shared = {split: align(runs, said, heads) for split, said in spoken.items()}
    taught = {head for item in shared["test"].items for head in item.labels}
    heads = {head: labels for head, labels in heads.items() if head in taught}
    shared = {split: each.only(heads) for split, each in shared.items()}
    temperatures = {head: best_temperatures(shared["valid"], head, labels) for head, labels in heads.items()}
    shared = {split: each.cooled(temperatures) for split, each in shared.items()}
    weights = {head: _weights(shared["valid"], head, labels, fit) for head, labels in heads.items()}
    averaged = {split: each.averaged(weights) for split, each in shared.items()}

    smallest = min(spoken["test"], key=lambda said: (len(said.task.heads), len(said.items)))
    task = replace(smallest.task, heads=heads)
    note = "the calibrated chances of its members, averaged; nothing was trained"
    recipe = Recipe(task.name, MODEL, {"members": [named(run) for run in runs], "fit": fit}, note=note)
    members = [
        {
            **named(run),
            "items": {split: len(said[i].items) for split, said in spoken.items()},
            "temperatures": {head: round(float(temperatures[head][i]), 4) for head in heads},
            "weights": {head: round(float(weights[head][i]), 4) for head in heads},
            "scores": {
                split: scores(task, each.items, each.of_run(i), resamples) for split, each in shared.items()
            },
        }
        for i, run in enumerate(runs)
    ]
    results = {
        "task": task.name,
        "model": MODEL,
        "scores": {
            split: scores(task, each.items, averaged[split], resamples) for split, each in shared.items()
        },
        "members": members,
        "parameters": sum((run.results or {})["parameters"] for run in runs),
        "minutes": round(sum((run.results or {})["minutes"] for run in runs), 2),
        "items": {split: len(each.items) for split, each in shared.items()},
        "recipe": recipe.hash(),
        "data": data_hash({split: list(each.items) for split, each in shared.items()}),
        "environment": environment(),
    }
    run = open_run(to, recipe)
    for split, each in shared.items():
        predictions.save(run, split, task, each.items, averaged[split])
    finish(run, recipe, task, results)
    return results


def refuse_too_few(runs: Sequence[Run]) -> None:
    if len(runs) < 2:
        raise InvalidValue("there is nothing to average: name two runs at the least")
    (folder, times), *_ = Counter(run.folder.resolve() for run in runs).most_common()
    if times > 1:
        raise InvalidValue(f"the run {folder.name} is named {times} times")


def align(runs: Sequence[Run], said: Sequence[Predicted], heads: Mapping[str, tuple[str, ...]]) -> Shared:
    """The items that all runs have, in the first one's order, with the labels that all of them know."""
    places = [{item.id: i for i, item in enumerate(each.items)} for each in said]
    shared = [item.id for item in said[0].items if all(item.id in place for place in places)]
    items = []
    for id_ in shared:
        same = [each.items[place[id_]] for each, place in zip(said, places, strict=True)]
        if differs := next((i for i, item in enumerate(same) if item.turns != same[0].turns), 0):
            raise BadData(
                f"{id_} is another text in {runs[differs].folder} than in {runs[0].folder}: they do not go together"
            )
        labels = {head: same[0].labels[head] for head in heads if all(item.labels.get(head) for item in same)}
        if any(item.labels[head] != label for item in same for head, label in labels.items()):
            raise BadData(f"{id_} has different labels in the tasks of these runs: they do not go together")
        if labels:
            items.append(same[0]._replace(labels=labels))
    if not items:
        raise InvalidValue(
            f"{', '.join(str(run.folder) for run in runs)} have no item in common: "
            f"their tasks are {', '.join(each.task.name for each in said)}"
        )
    logits: dict[str, list[Array]] = {head: [] for head in heads}
    for each, place in zip(said, places, strict=True):
        chosen = each.logits[[place[item.id] for item in items]]
        for head, part in by_head(each.task, chosen).items():
            if head in heads:  # in the order of the first run's labels
                logits[head].append(part[:, [each.task.heads[head].index(label) for label in heads[head]]])
    return Shared(tuple(items), {head: np.stack(parts) for head, parts in logits.items()})


def _heads(runs: Sequence[Run], said: Sequence[Predicted]) -> dict[str, tuple[str, ...]]:
    """The heads that all runs have, with the first one's labels."""
    first, *others = (each.task.heads for each in said)
    shared = {head: labels for head, labels in first.items() if all(head in other for other in others)}
    if not shared:
        has = "; ".join(
            f"{run.folder} has {', '.join(e.task.heads)}" for run, e in zip(runs, said, strict=True)
        )
        raise InvalidValue(f"the runs have no head in common: {has}")
    for head, labels in shared.items():
        for run, other in zip(runs[1:], others, strict=True):
            if set(other[head]) != set(labels):
                raise InvalidValue(f"{runs[0].folder} and {run.folder} have other labels for the head {head}")
    return shared


def best_temperatures(valid: Shared, head: str, labels: tuple[str, ...]) -> NDArray[np.float64]:
    """One a run, fitted on the very items that are averaged."""
    known, gold = valid.gold(head, labels)
    if not known:
        return np.ones(len(valid.logits[head]))
    return np.array([best_temperature(logits[known], gold) for logits in valid.logits[head]])


def _weights(valid: Shared, head: str, labels: tuple[str, ...], fit: bool) -> NDArray[np.float64]:
    known, gold = valid.gold(head, labels)
    if not fit or not known:
        runs = len(valid.logits[head])
        return np.full(runs, 1 / runs)
    return best_weights(chances(valid.logits[head][:, known])[:, np.arange(len(gold)), gold])


def best_weights(of_gold: Array) -> NDArray[np.float64]:
    """The weights of a mixture that make the gold labels most likely, from what each run gives them: (runs, items).

    Expectation-maximisation from equal weights. The likelihood has one summit, so there is nothing to tune.
    """
    given = np.maximum(of_gold, _LEAST)
    weights = np.full(len(given), 1 / len(given))
    for _ in range(_STEPS):
        owed = weights[:, None] * given
        new: NDArray[np.float64] = (owed / owed.sum(axis=0)).mean(axis=1)
        if np.abs(new - weights).max() < 1e-9:
            break
        weights = new
    return weights


def named(run: Run) -> dict[str, str]:
    """Which run it was, without where it lies."""
    results = run.results or {}
    return {"run": run.name, "task": results["task"], "model": results["model"],
            "recipe": results["recipe"]}  # fmt: skip
