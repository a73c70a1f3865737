"""What a run said of every item of a split, kept in its folder, and read again beside the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.files import writing
from heartfelt.text import same_key
from heartfelt.training.pairs import PAIRS
from heartfelt.training.run import Run
from heartfelt.training.scores import Array, by_head, scores
from heartfelt.training.talks import TALKS
from heartfelt.training.tasks import Item, Task, find

_FARTHEST = -60_000.0  # half precision ends at 65,504


@dataclass(frozen=True)
class Head:
    """One head's logits for the items that have a label of it."""

    name: str
    labels: tuple[str, ...]
    items: tuple[Item, ...]
    logits: Array  # (items, labels)
    gold: NDArray[np.intp]  # (items,)


@dataclass(frozen=True)
class Predicted:
    """A split as a run saw it."""

    task: Task  # with the heads of the run, in the order of its outputs
    items: tuple[Item, ...]
    logits: Array  # (items, all classes)

    def heads(self) -> list[Head]:
        """Those heads that some item has a label of."""
        parts = by_head(self.task, self.logits)
        found = [self._head(name, labels, parts[name]) for name, labels in self.task.heads.items()]
        return [head for head in found if head.items]

    def _head(self, name: str, labels: tuple[str, ...], logits: Array) -> Head:
        known = [i for i, item in enumerate(self.items) if item.labels.get(name)]
        items = tuple(self.items[i] for i in known)
        gold = np.array([labels.index(item.labels[name]) for item in items], np.intp)
        return Head(name, labels, items, logits[known], gold)

    def only(self, wanted: Sequence[bool]) -> "Predicted":
        """The items for which this is true."""
        chosen = [i for i, is_wanted in enumerate(wanted) if is_wanted]
        return replace(self, items=tuple(self.items[i] for i in chosen), logits=self.logits[chosen])


def save(run: Run, split: str, task: Task, items: Sequence[Item], logits: Array) -> None:
    below = np.concatenate([halved(part) for part in by_head(task, logits).values()], axis=-1)
    with writing(run.folder / "predictions" / f"{split}.npz", "wb") as file:
        np.savez_compressed(file, ids=[item.id for item in items], logits=below)


def halved(logits: Array) -> NDArray[np.float16]:
    """One head's logits below its best, which changes no chance: half precision is finest near 0, and ends."""
    return np.maximum(logits - logits.max(-1, keepdims=True), _FARTHEST).astype(np.float16)


def labelled_by(task: str) -> Task:
    """The task of that name, or for one of replies the one whose labels are learned beside them."""
    if task in PAIRS and not PAIRS[task].labelled:
        raise InvalidValue(f"{task} has no labels, only replies")
    return find(PAIRS[task].labelled if task in PAIRS else task)


def load(run: Run, split: str, data: Path | None = None) -> Predicted:
    """What a finished run said of a split, with texts and labels from the corpora at hand."""
    if run.recipe.task in TALKS:
        raise InvalidValue(f"{run.folder} has learned what to say ({run.recipe.task}): it predicts no labels")
    known = labelled_by(run.recipe.task)
    if run.results is None:
        raise InvalidValue(f"{run.folder} is not a finished run: heartfelt train RECIPE --to {run.folder}")
    heads = {head: tuple(labels) for head, labels in run.labels.items()}
    task = replace(known, heads=heads)
    ids, logits = _arrays(run.folder / "predictions" / f"{split}.npz")
    width = sum(map(len, heads.values()))
    if logits.shape != (len(ids), width):
        raise BadData(
            f"{run.folder} keeps {logits.shape} predictions, and its labels.json has {width} labels"
        )
    items = {item.id: item for item in task.read(split, data)}
    if unknown := [id_ for id_ in ids if id_ not in items]:
        raise BadData(
            f"{len(unknown):,} of the {len(ids):,} items that {run.folder} predicted are not in the {split} split of "
            f"{task.name} at hand, the first is {unknown[0]}: it was scored on other data (--data)"
        )
    found = tuple(items[id_] for id_ in ids)
    for head, labels in heads.items():
        if other := {item.labels[head] for item in found if item.labels.get(head)} - set(labels):
            raise BadData(
                f"{run.folder} has no label '{min(other)}' of the head {head}: its task has changed"
            )
    return Predicted(task, found, logits)


def _arrays(path: Path) -> tuple[list[str], Array]:
    try:
        with np.load(path) as kept:
            return kept["ids"].tolist(), kept["logits"].astype(np.float64)
    except FileNotFoundError:
        raise MissingData(f"There is no {path}: the run keeps no predictions of that split") from None
    except (OSError, ValueError, KeyError, BadZipFile) as problem:
        raise BadData(f"{path} is not a file of predictions: {problem}") from None


def seen(items: Sequence[Item], train: Sequence[Item]) -> list[bool]:
    """Which items have the text of a training item; case, punctuation and spacing do not count."""
    known = {same_key(item.text) for item in train}
    return [same_key(item.text) in known for item in items]


def unseen_scores(run: Run, data: Path | None = None, resamples: int = 1000) -> dict[str, Any]:
    """What a finished run scores on the test items whose text no training item has; results.json has all of them."""
    predicted = load(run, "test", data)
    again = seen(predicted.items, list(predicted.task.read("train", data)))
    new = predicted.only([not known for known in again])
    return {"seen": sum(again), "scores": scores(new.task, new.items, new.logits, resamples)}
