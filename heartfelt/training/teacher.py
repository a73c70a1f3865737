"""What teachers say of a student's training items: kept in the teacher's folder, asked anew if it changed."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from heartfelt.errors import InvalidValue
from heartfelt.files import writing
from heartfelt.models import MODELS
from heartfelt.recipe import Teacher
from heartfelt.terminal import counting
from heartfelt.training.predict import answers, fit_for, labels_of, made_at_last, seen_of
from heartfelt.training.predictions import halved
from heartfelt.training.run import Run
from heartfelt.training.scores import by_head
from heartfelt.training.tasks import Item, Task

Array = NDArray[np.floating[Any]]
PART = 4096  # items kept at once: what a killed student does not ask again


def wrong_with_teacher(teacher: Teacher, task: str, heads: Mapping[str, Sequence[str]]) -> list[str]:
    """What can be known before training."""
    found = []
    if foreign := [head for head in teacher.heads if head not in heads]:
        found.append(f"teacher.heads: {task} has no {', '.join(foreign)}; it has {', '.join(heads)}")
    if not (0 <= teacher.weight <= 1 and teacher.temperature > 0):
        found.append("teacher.weight is between 0 and 1, teacher.temperature above 0")
    if not teacher.runs:
        found.append("teacher.runs names no run")
    for folder in teacher.runs:
        run = Run(Path(folder))
        if not (run.folder / "recipe.yaml").is_file():
            found.append(f"teacher.runs: {folder} is not a run folder")
        elif run.results is None:
            found.append(f"teacher.runs: {folder} is not finished")
        elif run.recipe.model not in MODELS:
            found.append(f"teacher.runs: {folder} has no model to ask ({run.recipe.model}); name its members")
    return found


def teach(teacher: Teacher, task: Task, items: Sequence[Item]) -> Array:
    """(items, all classes of the task) logits; NaN for a head that no teacher has, or on which they are not heard.

    Several teachers are averaged.

    Items that are labelled only for what no teacher knows they are not asked about, and NaN: they would guess, and it
    is their time that a student waits for.
    """
    known = {head for folder in teacher.runs for head in labels_of(Path(folder))} & _heard(teacher, task)
    asked = [i for i, item in enumerate(items) if not item.labels or known & item.labels.keys()]
    found = [_of_run(Path(folder), task, [items[i] for i in asked]) for folder in teacher.runs]
    logits = np.full((len(items), sum(map(len, task.heads.values()))), np.nan, np.float32)
    logits[asked] = found[0] if len(found) == 1 else mean_of_chances(found, task)
    for head, part in by_head(task, logits).items():
        if head not in known:
            part[:] = np.nan
    return logits


def _heard(teacher: Teacher, task: Task) -> set[str]:
    return set(teacher.heads or task.heads)


def mean_of_chances(found: Sequence[Array], task: Task) -> Array:
    """Log of the mean chances, head by head; a teacher without the head does not count."""
    sizes = [len(labels) for labels in task.heads.values()]
    parts = []
    for logits in zip(*(np.split(one, np.cumsum(sizes)[:-1], axis=-1) for one in found), strict=True):
        chances = np.stack([log_softmax(part, axis=-1) for part in logits])  # (teachers, items, labels)
        known = ~np.isnan(chances).any((1, 2))
        chosen = chances[known] if known.any() else chances
        parts.append(logsumexp(chosen, axis=0) - np.log(len(chosen)))
    return np.concatenate(parts, axis=-1).astype(np.float32)


def _of_run(folder: Path, task: Task, items: Sequence[Item]) -> Array:
    labels = labels_of(folder)
    if not any(tuple(labels.get(head, ())) == wanted for head, wanted in task.heads.items()):
        raise InvalidValue(
            f"{folder} cannot teach {task.name}: it knows {', '.join(labels)}, not {', '.join(task.heads)}"
        )
    if not items:
        return np.empty((0, sum(map(len, task.heads.values()))), np.float32)
    kept = Kept(folder)
    unknown = kept.unknown(items)
    with counting(f"{folder.name} teaches") as step:
        for start in range(0, len(unknown), PART):
            part = unknown[start : start + PART]
            kept.add(part, answers(folder, part))
            step(f"{start + len(part):,} of {len(unknown):,}")
    return fit_for(task, kept.of(items), labels).astype(np.float32)


class Kept:
    """What a teacher said so far, item by item: a task that grows asks it only of what is new.

    The folder's name tells which teacher it was: one that was trained or exported again there is asked anew.
    """

    def __init__(self, folder: Path) -> None:
        made = hashlib.sha256(made_at_last(folder).read_bytes()).hexdigest()
        self._folder = folder / "predictions" / f"taught-{made[:16]}"
        self._rows: dict[bytes, int] = {}
        self._parts: list[dict[str, Array]] = []
        for path in sorted(self._folder.glob("*.npz")):
            with np.load(path) as file:
                self._take({name: file[name] for name in file.files})

    def unknown(self, items: Sequence[Item]) -> list[Item]:
        """Those that it was not asked of, each once."""
        found = {_key(item): item for item in items}
        return [item for key, item in found.items() if key not in self._rows]

    def add(self, items: Sequence[Item], said: Mapping[str, Array]) -> None:
        part: dict[str, Any] = {head: halved(logits) for head, logits in said.items()}
        part[_ITEMS] = np.array([_key(item) for item in items])
        self._folder.mkdir(parents=True, exist_ok=True)
        with writing(self._folder / f"{len(self._parts):05}.npz", "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **part)
        self._take(part)

    def of(self, items: Sequence[Item]) -> dict[str, NDArray[np.float64]]:
        rows = [self._rows[_key(item)] for item in items]
        heads = [name for name in self._parts[0] if name != _ITEMS]
        return {
            head: np.concatenate([part[head] for part in self._parts])[rows].astype(np.float64)
            for head in heads
        }

    def _take(self, part: dict[str, Array]) -> None:
        start = len(self._rows)
        self._rows.update({key: start + i for i, key in enumerate(part[_ITEMS].tolist())})
        self._parts.append(part)


_ITEMS = "of what"  # no head is called so


def _key(item: Item) -> bytes:
    # 20 hexadecimal digits: numpy's bytes would lose zeros at an end.
    return hashlib.sha256(repr(seen_of(item)).encode()).hexdigest()[:20].encode()
