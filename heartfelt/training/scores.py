"""What a classifier scores on a split: the evaluator's metrics with intervals, head by head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.training.tasks import Item, Task

Array = NDArray[np.floating[Any]]
METRICS = (
    "accuracy_1", "accuracy_3", "accuracy_5", "macro_f1", "weighted_precision", "weighted_recall", "weighted_f1", "ece",
)  # fmt: skip


def by_head(task: Task, logits: Array) -> dict[str, Array]:
    """A model's outputs, (items, all classes), cut into its heads."""
    sizes = [len(labels) for labels in task.heads.values()]
    return dict(zip(task.heads, np.split(logits, np.cumsum(sizes)[:-1], axis=-1), strict=True))


def scores(task: Task, items: Sequence[Item], logits: Array, resamples: int = 1000) -> dict[str, Any]:
    """head → metric → [value, low, high] with 95 % intervals by dialogue."""
    found: dict[str, Any] = {}
    for head, part in by_head(task, logits).items():
        rows = outputs(items, head, part, task.heads[head])
        if rows:
            header = Header(system=task.name)
            result = evaluate(Outputs(header, tuple(rows)), METRICS, resamples)
            found[head] = {
                name: [None if n is None else round(n, 5) for n in (i.value, i.low, i.high)]
                for name, i in result.scores.items()
            }
            if len(task.heads[head]) == 2 and len({row.gold for row in rows}) == 2:
                found[head]["auroc"] = _auroc_with_interval(rows, task.heads[head][1], resamples)
            found[head]["items"] = len(rows)
    return found


def _auroc_with_interval(rows: Sequence[Output], positive: str, resamples: int) -> list[float | None]:
    """[value, low, high] of the chance that a positive row ranks above another one, resampled by dialogue."""
    chances = np.array([(row.emotion or {})[positive] for row in rows])
    truth = np.array([row.gold == positive for row in rows])
    _, dialogues = np.unique([row.dialogue for row in rows], return_inverse=True)
    draw, count = np.random.default_rng(0), int(dialogues.max()) + 1
    samples = []
    for _ in range(resamples):
        often = np.bincount(draw.integers(count, size=count), minlength=count)
        samples.append(auroc(chances, truth, often[dialogues]))
    value = auroc(chances, truth, np.ones(len(rows)))
    both = [sample for sample in samples if not np.isnan(sample)]  # NaN: drawn with one label only
    bounds = np.quantile(both, (0.025, 0.975)) if both and count > 1 else (None, None)
    return [None if n is None else round(float(n), 5) for n in (value, *bounds)]


def auroc(chances: Array, truth: NDArray[np.bool_], weights: NDArray[Any]) -> float:
    """Area under the ROC curve of weighted rows; half a point for a tie. NaN where one side is empty."""
    _, place = np.unique(chances, return_inverse=True)
    positive = np.bincount(place, weights * truth)
    negative = np.bincount(place, weights * ~truth)
    pairs = positive.sum() * negative.sum()
    below = np.cumsum(negative) - negative / 2
    return float((positive * below).sum() / pairs) if pairs else float("nan")


def chances(logits: Array, temperature: float = 1.0) -> Array:
    """Logits as chances that add up to 1."""
    scaled = logits.astype(np.float64) / temperature
    found = np.exp(scaled - scaled.max(-1, keepdims=True))
    shares: Array = found / found.sum(-1, keepdims=True)
    return shares


def outputs(items: Sequence[Item], head: str, logits: Array, labels: tuple[str, ...]) -> list[Output]:
    """What the evaluator scores: a distribution for each item that has a label of the head."""
    return [
        Output(item.dialogue, item.turn, gold=gold, emotion=dict(zip(labels, row.tolist(), strict=True)))
        for item, row in zip(items, chances(logits), strict=True)
        if (gold := item.labels.get(head))
    ]
