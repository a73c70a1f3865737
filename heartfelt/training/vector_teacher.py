"""What retrieval runs teach another one: how well each of a batch's replies fits each context, by vectors of each pair.

They are kept in the teacher's folder, part by part: a large one takes its time, and a second student finds them there.
"""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.files import writing
from heartfelt.recipe import Teacher
from heartfelt.retrieval.embedder import MatcherRun, matches
from heartfelt.terminal import counting
from heartfelt.training.pairs import Pair

Vectors = NDArray[np.floating[Any]]
PART = 1024  # pairs that are encoded between two savings


def teaches_vectors(teacher: Teacher | None, heads: Collection[str]) -> bool:
    """A student that has heads is taught their labels, by a retrieval run that knows them too."""
    return teacher is not None and not heads and any(matches(Path(folder)) for folder in teacher.runs)


def wrong_with_vector_teacher(teacher: Teacher) -> list[str]:
    """What can be known before training."""
    found = []
    if others := [folder for folder in teacher.runs if not matches(Path(folder))]:
        found.append(f"teacher.runs: {others[0]} is no retrieval run as the others are; take one kind")
    if teacher.heads:
        found.append("teacher.heads: a retrieval run teaches which reply fits, and no labels")
    return found


def vector_lessons(teacher: Teacher, pairs: Sequence[Pair]) -> Vectors:
    """(pairs, 2, size) in half precision: the product of a context's and a reply's is what softmax is taken of.

    Several teachers stand side by side, so that the product is the mean of theirs.
    """
    parts = [_of_run(Path(folder), pairs) for folder in teacher.runs]
    for part in parts:
        part[:, 0] /= len(parts)
    return np.concatenate(parts, axis=-1)


def _of_run(folder: Path, pairs: Sequence[Pair]) -> Vectors:
    run = MatcherRun(folder)
    kept = folder / "predictions" / f"vectors-{run.fingerprint[:12]}-{_digest(pairs)}"
    kept.mkdir(parents=True, exist_ok=True)
    parts = []
    with counting(f"{run.name} teaches") as step:
        for start in range(0, len(pairs), PART):
            path, part = kept / f"{start:07}.npy", pairs[start : start + PART]
            if path.is_file():
                parts.append(np.load(path))
            else:
                contexts, replies = (
                    run.contexts([p.context for p in part]),
                    run.replies([p.reply for p in part]),
                )
                parts.append(np.stack([run.reader.model.scale * contexts, replies], 1).astype(np.float16))
                with writing(path, "wb") as file:
                    np.save(file, parts[-1])
            step(f"{start + len(part):,} of {len(pairs):,}")
    return np.concatenate(parts)


def _digest(pairs: Sequence[Pair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(repr(([turn.text for turn in pair.context], pair.reply)).encode())
    return digest.hexdigest()[:12]
