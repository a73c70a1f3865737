"""Finding a jury's weights: on the valid split's shortlists, so that the right reply comes first as surely as can be.

What a reader said of a shortlist is kept in the run folder, part by part: a language model takes its time.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from heartfelt.errors import InvalidValue
from heartfelt.files import writing
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.retrieval.embedder import MatcherRun, matches
from heartfelt.retrieval.reranker import WEIGHTS, JuryRun, MatchReader, Pairs, Reader, open_juror
from heartfelt.terminal import counting
from heartfelt.training.matching import data_hash, read_pairs, refuse_too_few
from heartfelt.training.pairs import PAIRS, PairTask
from heartfelt.training.reranking import Shortlist
from heartfelt.training.run import Run, environment, open_run, write_card

Array = NDArray[np.floating[Any]]
PART = 2000  # pairs that a reader reads between two savings
_CALM = 1e-3  # a pull to zero, per standard deviation: numbers that say the same share their weight


def train_jury(recipe: Recipe, module: ModuleType, folder: Path, data: Path | None) -> dict[str, Any]:
    task = PAIRS[recipe.task]
    settings = _check(recipe, module)
    run = open_run(folder, recipe)
    started = time.monotonic()
    splits = {name: [p for p in pairs if p.reply] for name, pairs in read_pairs(task, data).items()}
    runs = [Path(name) for name in (settings.shortlist, *settings.readers)]
    readers = [open_juror(path) for path in runs]
    every = max(1, len(splits["valid"]) // settings.learn_from)  # evenly over the split
    chosen = {"valid": splits["valid"][::every][: settings.learn_from], "test": splits["test"]}
    found = {}
    for split, pairs in chosen.items():
        with counting(f"The shortlists of {split}") as step:
            found[split] = Shortlist(pairs, MatcherRun(runs[0]), settings.first, step, _within(settings))
    learned = found["valid"]
    if not ((learned.columns == 0) & learned.open).any():
        raise InvalidValue(
            f"settings.within {settings.within} leaves nothing on valid to learn from: take a larger one"
        )
    numbers = {
        split: [
            shortlist.products
            if isinstance(reader, MatchReader) and i == 0
            else _kept(run, split, i, reader, shortlist.asked)
            for i, reader in enumerate(readers)
        ]
        for split, shortlist in found.items()
    }
    read = np.concatenate(numbers["valid"], 1)
    table = np.zeros((*learned.open.shape, read.shape[1]))
    table[learned.open] = read
    weights = weigh(table, (learned.columns == 0) & learned.open, learned.open)
    _write(run, runs, readers, weights)
    scores = {
        split: shortlist.scored((np.concatenate(numbers[split], 1) @ weights).astype(np.float32))
        for split, shortlist in found.items()
    }
    results = {
        "task": recipe.task, "model": recipe.model, "scores": scores, "parameters": len(weights),
        "minutes": round((time.monotonic() - started) / 60, 1),
        "items": {split: len(pairs) for split, pairs in chosen.items()},
        "recipe": recipe.hash(), "data": data_hash(splits), "environment": environment(),
    }  # fmt: skip
    write_card(run, recipe, task.what, results)
    run.write("results.json", results)
    return results


def weigh(numbers: Array, right: NDArray[np.bool_], read: NDArray[np.bool_] | None = None) -> Array:
    """(contexts, replies, numbers), which reply is right, which were read → (numbers,) weights: softmax regression.

    A context whose right reply was not read teaches nothing.
    """
    known = right.any(1)
    read = np.ones_like(right) if read is None else read
    numbers, right, read = numbers[known].astype(np.float64), right[known], read[known]
    spread = numbers[read].std(0) + 1e-9
    scaled, unread = numbers / spread, np.where(read, 0.0, -1e9)

    def loss(weights: Array) -> tuple[float, Array]:
        chances = log_softmax(scaled @ weights + unread, axis=1)
        off = np.exp(chances) - right
        slope = np.einsum("crn,cr->n", scaled, off) / len(scaled)
        return float(-chances[right].mean() + _CALM * weights @ weights), slope + 2 * _CALM * weights

    found = minimize(loss, np.zeros(numbers.shape[-1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x / spread)


def score(
    run: Run, task: PairTask, split: str, data: Path | None, step: Callable[[str], None]
) -> dict[str, Any]:
    """What a finished jury scores on the pairs of any corpus."""
    from heartfelt.models.jury import Settings

    settings: Any = fill(Settings, run.recipe.settings)[0]
    pairs = [pair for pair in task.read(split, data) if pair.reply]
    refuse_too_few(task, split, pairs)
    matcher = MatcherRun(Path(settings.shortlist))
    shortlist = Shortlist(pairs, matcher, settings.first, step, _within(settings))
    return shortlist.scored(JuryRun(run.folder)(shortlist.asked, step))


def _within(settings: Any) -> float:
    return settings.within or float("inf")


def _check(recipe: Recipe, module: ModuleType) -> Any:
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    for name in ("teacher", "extra", "prepend", "start"):
        if getattr(recipe, name):
            problems.append(f"{name}: a jury learns how to weigh its readers, and nothing else")
    if settings and not matches(Path(settings.shortlist)):
        problems.append(f"settings.shortlist is the folder of a retrieval run, not '{settings.shortlist}'")
    if settings and not settings.readers:
        problems.append("settings.readers names no run: a jury has more than one")
    for name in (settings.shortlist, *settings.readers) if settings else ():
        if name and Run(Path(name)).results is None:
            problems.append(f"settings.readers: {name} is not a finished run")
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    return settings


def _kept(run: Run, split: str, number: int, reader: Reader, pairs: Pairs) -> Array:
    """(pairs, names) of one reader; parts that an earlier, broken run has read are not read again."""
    parts = []
    with counting(f"Reader {number + 1} on {split}") as step:
        for start in range(0, len(pairs), PART):
            path = run.folder / "readings" / f"{split}-{number}-{start:07}.npy"
            if path.is_file():
                parts.append(np.load(path))
            else:
                parts.append(reader.read(pairs[start : start + PART]))
                with writing(path, "wb") as file:
                    np.save(file, parts[-1])
            step(f"{min(start + PART, len(pairs)):,} of {len(pairs):,}")
    return np.concatenate(parts) if parts else np.zeros((0, len(reader.names)), np.float32)


def _write(run: Run, runs: Sequence[Path], readers: Sequence[Reader], weights: Array) -> None:
    left = iter(weights.tolist())
    told = [
        {"run": path.name, "weights": {name: next(left) for name in reader.names}}
        for path, reader in zip(runs, readers, strict=True)
    ]
    (run.folder / WEIGHTS).parent.mkdir(exist_ok=True)
    run.write(WEIGHTS, told)
