"""How sure a figure is: intervals, tests between two systems on the same turns, correction for many tests.

The unit is the dialogue, because turns of one dialogue are not independent: all resampling draws, leaves out
or swaps whole dialogues ("clusters"). Everything is seeded, and a resample is a row of a matrix product.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from heartfelt.errors import InvalidValue
from heartfelt.evaluation.metric import Array, Columns, Metric, SumMetric, Table, TypeMetric, spectrum_of
from heartfelt.evaluation.outputs import Output

LEVEL = 0.95
RESAMPLES = 1000

Finish = Callable[[Array], Array]


@dataclass(frozen=True)
class Interval:
    """A value and where the truth lies with 95 % confidence; no bounds when there is one dialogue only."""

    value: float
    low: float | None = None
    high: float | None = None
    method: Literal["bootstrap", "jackknife", ""] = ""


@dataclass(frozen=True)
class Paired:
    """Two systems on the same turns: a - b, its interval, and how often chance alone gives so much."""

    a: float
    b: float
    difference: Interval
    p: float  # paired permutation, two-sided
    p_bootstrap: float | None = None  # twice the share of resamples on the other side of 0; None for types


def codes(outputs: Sequence[Output]) -> NDArray[np.int64]:
    """The number of each output's dialogue."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(output.dialogue, len(numbers)) for output in outputs], np.int64)


def by_cluster(values: Array, clusters: NDArray[np.int64]) -> Array:
    """Items × k → clusters × k, summed."""
    sums = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(sums, clusters, values)
    return sums


def draws(clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Array:
    """Resamples × clusters: how often each cluster is drawn. One for all metrics of a table."""
    random = np.random.default_rng(seed)
    picks = random.integers(clusters, size=(resamples, clusters))
    picks += np.arange(resamples)[:, None] * clusters
    return (
        np.bincount(picks.ravel(), minlength=resamples * clusters).reshape(resamples, clusters).astype(float)
    )


def flips(clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Array:
    """Resamples × clusters of 0 and 1: whose outputs change places."""
    return np.random.default_rng(seed).integers(2, size=(resamples, clusters)).astype(float)


def percentiles(values: Array, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the resampled values. Resamples on which the metric is undefined do not count."""
    tail = (1 - level) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)


def normal(value: float, without: Array, level: float = LEVEL) -> tuple[float, float]:
    """value ± z × the jackknife's standard error, from the values without one cluster each."""
    count = len(without)
    error = float(np.sqrt((count - 1) / count * np.sum((without - without.mean()) ** 2)))
    z = float(norm.ppf((1 + level) / 2))
    return value - z * error, value + z * error


def interval(
    metric: Metric, outputs: Sequence[Output], clusters: NDArray[np.int64], weights: Array
) -> Interval:
    """The metric with its 95 % interval: bootstrap percentiles for sums, the jackknife for types.

    A resample with replacement repeats dialogues and so can only lose types: the bootstrap's whole interval
    for Distinct-n lies below its value. Leaving out one dialogue at a time does not have this fault.
    """
    if isinstance(metric, SumMetric):
        table = metric.table(outputs)
        value = float(metric.finish(table.values.sum(axis=0), table.columns))
        if np.isnan(value) or weights.shape[1] < 2 or not len(weights):
            return Interval(value)
        resampled = metric.finish(weights @ by_cluster(table.values, clusters), table.columns)
        return Interval(value, *percentiles(resampled), "bootstrap")
    assert isinstance(metric, TypeMetric)
    value = metric.value(outputs)
    if np.isnan(value) or weights.shape[1] < 2 or not len(weights):
        return Interval(value)
    without = leave_one_out(metric, outputs, clusters)
    if np.isnan(without).any():
        return Interval(value)
    return Interval(value, *normal(value, without), "jackknife")


def leave_one_out(metric: TypeMetric, outputs: Sequence[Output], clusters: NDArray[np.int64]) -> Array:
    """The metric without each cluster in turn, by moving only that cluster's types in the spectrum."""
    parts: list[Counter[Hashable]] = [Counter() for _ in range(int(clusters.max()) + 1)]
    for cluster, output in zip(clusters.tolist(), outputs, strict=True):
        parts[cluster].update(metric.types(output))
    total: Counter[Hashable] = Counter()
    for part in parts:
        total.update(part)
    spectrum = spectrum_of(np.fromiter(total.values(), np.int64, len(total)))
    values = np.empty(len(parts))
    for i, part in enumerate(parts):
        moved = spectrum.copy()
        for kind, count in part.items():
            moved[total[kind]] -= 1
            moved[total[kind] - count] += 1
        moved[0] = 0
        values[i] = metric.finish(moved)
    return values


def paired(
    metric: Metric, a: Sequence[Output], b: Sequence[Output], clusters: NDArray[np.int64],
    weights: Array, swaps: Array,
) -> Paired:  # fmt: skip
    """Compare two systems whose i-th outputs answer the same turn."""
    if [(o.dialogue, o.turn) for o in a] != [(o.dialogue, o.turn) for o in b]:
        raise InvalidValue("two systems are compared on the same turns, in the same order")
    if isinstance(metric, SumMetric):
        return _paired_sums(metric, metric.table(a), metric.table(b), clusters, weights, swaps)
    assert isinstance(metric, TypeMetric)
    return _paired_types(metric, a, b, clusters, swaps)


def _paired_sums(
    metric: SumMetric, a: Table, b: Table, clusters: NDArray[np.int64], weights: Array, swaps: Array
) -> Paired:
    columns: Columns = tuple(dict.fromkeys((*a.columns, *b.columns)))
    first, second = (by_cluster(_spread(table, columns), clusters) for table in (a, b))

    def finish(sums: Array) -> Array:
        return metric.finish(sums, columns)

    value_a, value_b = float(finish(first.sum(axis=0))), float(finish(second.sum(axis=0)))
    gap = value_a - value_b
    resampled = bootstrap_differences(first, second, finish, weights)
    p = permutation_p(gap, permuted_differences(first, second, finish, swaps))
    other = float(min((resampled <= 0).mean(), (resampled >= 0).mean()))
    difference = Interval(gap, *percentiles(resampled), "bootstrap")
    return Paired(value_a, value_b, difference, p, min(1.0, 2 * other))


def bootstrap_differences(a: Array, b: Array, finish: Finish, weights: Array) -> Array:
    """a - b on each resample; the same dialogues are drawn for both."""
    return finish(weights @ a) - finish(weights @ b)


def permuted_differences(a: Array, b: Array, finish: Finish, swaps: Array) -> Array:
    """a - b when, in a random half of the dialogues, the two systems change places."""
    moved = swaps @ (b - a)
    return finish(a.sum(axis=0) + moved) - finish(b.sum(axis=0) - moved)


def permutation_p(gap: float, permuted: Array) -> float:
    """The share of permutations, the real one among them, with at least so large a gap (two-sided)."""
    # A hair less, so that a permutation which only rounds differently counts as equal.
    return float((1 + (np.abs(permuted) >= abs(gap) * (1 - 1e-9)).sum()) / (1 + len(permuted)))


def _spread(table: Table, columns: Columns) -> Array:
    """The table with these columns, those that it has not being 0."""
    values = np.zeros((len(table.values), len(columns)))
    values[:, [columns.index(column) for column in table.columns]] = table.values
    return values


def _paired_types(
    metric: TypeMetric, a: Sequence[Output], b: Sequence[Output], clusters: NDArray[np.int64], swaps: Array
) -> Paired:
    value_a, value_b = metric.value(a), metric.value(b)
    gap = value_a - value_b
    without = leave_one_out(metric, a, clusters) - leave_one_out(metric, b, clusters)
    numbers: dict[Hashable, int] = {}
    ids_a, from_a = _occurrences(metric, a, clusters, numbers)
    ids_b, from_b = _occurrences(metric, b, clusters, numbers)
    everything = np.bincount(ids_a, minlength=len(numbers)) + np.bincount(ids_b, minlength=len(numbers))
    permuted = np.empty(len(swaps))
    for i, swap in enumerate(swaps):
        stays = np.bincount(ids_a, 1 - swap[from_a], len(numbers))
        comes = np.bincount(ids_b, swap[from_b], len(numbers))
        ours = (stays + comes).astype(np.int64)
        permuted[i] = metric.finish(spectrum_of(ours)) - metric.finish(spectrum_of(everything - ours))
    difference = Interval(gap, *normal(gap, without), "jackknife")
    return Paired(value_a, value_b, difference, permutation_p(gap, permuted))


def _occurrences(
    metric: TypeMetric, outputs: Sequence[Output], clusters: NDArray[np.int64], numbers: dict[Hashable, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every occurrence of a type: the type's number and the cluster it stands in."""
    kinds, places = [], []
    for cluster, output in zip(clusters.tolist(), outputs, strict=True):
        for kind in metric.types(output):
            kinds.append(numbers.setdefault(kind, len(numbers)))
            places.append(cluster)
    return np.array(kinds, np.int64), np.array(places, np.int64)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): p-values that stay honest over a whole table."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    corrected = [0.0] * len(p)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        corrected[i] = highest
    return corrected
