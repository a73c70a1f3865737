"""How sure a figure is: intervals, tests between two systems on the same turns, correction for many tests.

The unit is the dialogue, because turns of one dialogue are not independent: all resampling draws, leaves out
or swaps whole dialogues ("clusters"). Everything is seeded, and a resample is a row of a matrix product.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heartfelt.dialogue import Value
from heartfelt.errors import InvalidValue
from heartfelt.evaluation.metric import (
    Array,
    Columns,
    Metric,
    SumMetric,
    Table,
    TableOf,
    TypeMetric,
    TypesOf,
    spectrum_of,
)
from heartfelt.evaluation.outputs import Output

LEVEL = 0.95
RESAMPLES = 1000

Finish = Callable[[Array], Array]
Weights = NDArray[np.uint8]  # resamples × clusters


class Interval(Value, frozen=True):
    """A value and where the truth lies with 95 % confidence; no bounds when there is one dialogue only."""

    value: float
    low: float | None = None
    high: float | None = None
    method: Literal["bootstrap", "jackknife", ""] = ""


class Paired(Value, frozen=True):
    """Two systems on the same turns: a - b, its interval, and how often chance alone gives so much."""

    a: float
    b: float
    difference: Interval
    p: float  # paired permutation, two-sided


class Undefined(Exception):
    """A comparison that cannot be made honestly; the message says why."""


def _blocks(clusters: int, resamples: int) -> Iterator[slice]:
    """The resamples in parts of about 32 MB as floats, so that 100,000 of them do not take gigabytes."""
    size = max(1, (1 << 22) // max(1, clusters))
    return (slice(start, min(start + size, resamples)) for start in range(0, resamples, size))


def draws(clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Weights:
    """Resamples × clusters: how often each cluster is drawn. One for all metrics of a table."""
    random = np.random.default_rng(seed)
    weights = np.empty((resamples, clusters), np.uint8)  # a cluster is drawn once on average, 255 times never
    for block in _blocks(clusters, resamples):
        part = weights[block]
        picks = random.integers(clusters, size=part.shape) + np.arange(len(part))[:, None] * clusters
        part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(part.shape)
    return weights


def flips(clusters: int, resamples: int = RESAMPLES, seed: int = 0) -> Weights:
    """Resamples × clusters of 0 and 1: whose outputs change places."""
    return np.random.default_rng(seed).integers(2, size=(resamples, clusters), dtype=np.uint8)


def weighted(weights: NDArray[Any], values: Array) -> Array:
    """weights @ values, as floats a block at a time."""
    sums = np.empty((len(weights), values.shape[1]))
    for block in _blocks(weights.shape[1], len(weights)):
        sums[block] = weights[block].astype(np.float64) @ values
    return sums


def percentiles(values: Array, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the resampled values."""
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def reflected(value: float, values: Array, level: float = LEVEL) -> tuple[float, float]:
    """Bounds for a distance (calibration error, divergence): the percentiles mirrored at the value, none below 0.

    Noise only adds to a distance, and a resample has more of it than the set: percentiles would lie too high.
    """
    low, high = percentiles(values, level)
    return max(0.0, 2 * value - high), max(0.0, 2 * value - low)


def normal(value: float, without: Array, level: float = LEVEL) -> tuple[float, float]:
    """value ± z × the jackknife's standard error, from the values without one cluster each."""
    count = len(without)
    error = float(np.sqrt((count - 1) / count * np.sum((without - without.mean()) ** 2)))
    z = NormalDist().inv_cdf((1 + level) / 2)
    return value - z * error, value + z * error


def _clipped(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    """An interval without what cannot be."""
    return max(ends[0], bounds[0]), min(ends[1], bounds[1])


class Sample:
    """A system's outputs, cut into clusters, with the statistics that several metrics share counted once."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self.outputs = outputs
        numbers: dict[str, int] = {}
        dialogues = [numbers.setdefault(output.dialogue, len(numbers)) for output in outputs]
        self.clusters = np.array(dialogues, np.int64)
        self.count = len(numbers)
        self._tables: dict[TableOf, Table] = {}
        self._parts: dict[TypesOf, list[Counter[Hashable]]] = {}

    def table(self, metric: SumMetric) -> Table:
        """The metric's statistics, clusters × columns."""
        if metric.table not in self._tables:
            table = metric.table(self.outputs)
            sums = np.zeros((self.count, len(table.columns)))
            np.add.at(sums, self.clusters, table.values)
            self._tables[metric.table] = Table(table.columns, sums)
        return self._tables[metric.table]

    def parts(self, metric: TypeMetric) -> list[Counter[Hashable]]:
        """How often each type occurs, cluster by cluster."""
        if metric.types not in self._parts:
            parts: list[Counter[Hashable]] = [Counter() for _ in range(self.count)]
            for cluster, output in zip(self.clusters.tolist(), self.outputs, strict=True):
                parts[cluster].update(metric.types(output))
            self._parts[metric.types] = parts
        return self._parts[metric.types]


def interval(metric: Metric, sample: Sample, weights: Weights) -> Interval:
    """The metric with its 95 % interval: bootstrap percentiles for sums, the jackknife for types.

    A resample with replacement repeats dialogues and so can only lose types: the bootstrap's whole interval
    for Distinct-n lies below its value. Leaving out one dialogue at a time does not have this fault; it errs
    on the wide side (Efron and Stein 1981): about 97 % where it says 95 %.
    """
    enough = sample.count > 1 and len(weights)
    if isinstance(metric, SumMetric):
        table = sample.table(metric)
        value = float(metric.finish(table.values.sum(axis=0), table.columns))
        if np.isnan(value) or not enough:
            return Interval(value)
        resampled = metric.finish(weighted(weights, table.values), table.columns)
        if not np.isfinite(resampled).all():  # an interval of those that are left would be too narrow
            return Interval(value)
        ends = reflected(value, resampled) if metric.distance else percentiles(resampled)
        return Interval(value, *_clipped(ends, metric.bounds), "bootstrap")
    assert isinstance(metric, TypeMetric)
    if not enough:
        return Interval(metric.value(sample.outputs))
    value, without = leave_one_out(metric, sample)
    if np.isnan(without).any():
        return Interval(value)
    return Interval(value, *_clipped(normal(value, without), metric.bounds), "jackknife")


def leave_one_out(metric: TypeMetric, sample: Sample) -> tuple[float, Array]:
    """The metric, and without each cluster in turn: only that cluster's types move in the spectrum."""
    parts = sample.parts(metric)
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
    return metric.finish(spectrum), values


def paired(metric: Metric, a: Sample, b: Sample, weights: Weights, swaps: Weights) -> Paired:
    """Compare two systems whose i-th outputs answer the same turn; Undefined where that has no answer."""
    if [(o.dialogue, o.turn) for o in a.outputs] != [(o.dialogue, o.turn) for o in b.outputs]:
        raise InvalidValue("two systems are compared on the same turns, in the same order")
    if a.count < 2 or not len(weights) or not len(swaps):
        raise InvalidValue("a comparison needs two dialogues at least, and resamples")
    if isinstance(metric, SumMetric):
        return _paired_sums(metric, a.table(metric), b.table(metric), weights, swaps)
    assert isinstance(metric, TypeMetric)
    return _paired_types(metric, a, b, swaps)


def _paired_sums(metric: SumMetric, a: Table, b: Table, weights: Weights, swaps: Weights) -> Paired:
    # Each side's own value is that of `evaluate`. Sides that were mixed are finished on the columns of both;
    # a metric takes no notice of labels whose sums are 0.
    value_a, value_b = (float(metric.finish(t.values.sum(axis=0), t.columns)) for t in (a, b))
    gap = value_a - value_b
    if np.isnan(gap):
        raise Undefined(metric.undefined)
    columns: Columns = tuple(dict.fromkeys((*a.columns, *b.columns)))
    first, second = _spread(a, columns), _spread(b, columns)

    def finish(sums: Array) -> Array:
        return metric.finish(sums, columns)

    resampled = bootstrap_differences(first, second, finish, weights)
    permuted = permuted_differences(first, second, finish, swaps)
    return _tested(metric, value_a, value_b, percentiles(resampled), permuted, "bootstrap")


def _tested(
    metric: Metric, a: float, b: float, ends: tuple[float, float], permuted: Array,
    method: Literal["bootstrap", "jackknife"],
) -> Paired:  # fmt: skip
    """The comparison, unless chance has no value to hold it against: a NaN is not a smaller gap."""
    if not (np.isfinite(permuted).all() and np.isfinite(ends).all()):
        raise Undefined(
            f"it is undefined when the two systems change places in some dialogues: {metric.undefined}"
        )
    reach = metric.bounds[1] - metric.bounds[0]
    difference = Interval(a - b, *_clipped(ends, (-reach, reach)), method)
    return Paired(a, b, difference, permutation_p(a - b, permuted))


def bootstrap_differences(a: Array, b: Array, finish: Finish, weights: NDArray[Any]) -> Array:
    """a - b on each resample; the same dialogues are drawn for both."""
    return finish(weighted(weights, a)) - finish(weighted(weights, b))


def permuted_differences(a: Array, b: Array, finish: Finish, swaps: NDArray[Any]) -> Array:
    """a - b when, in a random half of the dialogues, the two systems change places."""
    moved = weighted(swaps, b - a)
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


def _paired_types(metric: TypeMetric, a: Sample, b: Sample, swaps: Weights) -> Paired:
    (value_a, without_a), (value_b, without_b) = leave_one_out(metric, a), leave_one_out(metric, b)
    gap = value_a - value_b
    if np.isnan(gap):
        raise Undefined(metric.undefined)
    numbers: dict[Hashable, int] = {}
    (ids_a, at_a, counts_a), (ids_b, at_b, counts_b) = (_flat(s.parts(metric), numbers) for s in (a, b))
    size = len(numbers)
    everything = np.bincount(ids_a, counts_a, size) + np.bincount(ids_b, counts_b, size)
    permuted = np.empty(len(swaps))
    for i, swap in enumerate(swaps):
        stays = np.bincount(ids_a, counts_a * (1 - swap[at_a]), size)
        ours = stays + np.bincount(ids_b, counts_b * swap[at_b], size)
        theirs = everything - ours
        permuted[i] = metric.finish(spectrum_of(ours.astype(np.int64))) - metric.finish(
            spectrum_of(theirs.astype(np.int64))
        )
    ends = normal(gap, without_a - without_b)
    return _tested(metric, value_a, value_b, ends, permuted, "jackknife")


def _flat(
    parts: list[Counter[Hashable]], numbers: dict[Hashable, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Counts by cluster as three arrays: the type's number, the cluster, the count."""
    rows = [
        (numbers.setdefault(kind, len(numbers)), cluster, count)
        for cluster, part in enumerate(parts)
        for kind, count in part.items()
    ]
    ids, clusters, counts = np.array(rows, np.int64).reshape(-1, 3).T
    return ids, clusters, counts.astype(np.float64)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): p-values that stay honest over a whole table."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    corrected = [0.0] * len(p)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        corrected[i] = highest
    return corrected
