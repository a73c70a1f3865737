"""What a metric is: a description, statistics of each output that add up, and the value of their sum.

Because a metric is its sums, batches, workers and shards merge exactly, and a bootstrap resample is one row
of a matrix product. Two kinds:

SumMetric   the value is a smooth function of the summed columns (BLEU, perplexity, accuracy, F1…)
TypeMetric  the value depends on how often each type occurs (Distinct-n, distinct replies…): a function of
            the frequency spectrum, which no resampling with replacement keeps; see uncertainty.jackknife
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import InvalidValue
from heartfelt.evaluation.outputs import Output

Array = NDArray[np.float64]
Columns = tuple[Hashable, ...]
Sums = dict[Hashable, float]
TableOf = Callable[[Sequence[Output]], "Table"]
TypesOf = Callable[[Output], Iterable[Hashable]]

# Statistics are rounded to this grid (6e-8), so that float64 adds them without rounding up to 5e8, whatever
# the order: merged shards equal one pass to the last bit.
GRID = 2.0**24

PERCENT, SHARE = (0.0, 100.0), (0.0, 1.0)  # bounds


@dataclass(frozen=True)
class Table:
    """Statistics of each output. Columns have names, so that shards that saw other labels still add up."""

    columns: Columns
    values: Array  # items × columns

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.round(np.asarray(self.values, np.float64) * GRID) / GRID)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """What every metric says of itself."""

    name: str
    title: str  # as a table's heading
    direction: Literal["higher", "lower", "none"]  # which way is better; none: compare with the human figure
    recipe: str  # tokens, averaging, scale: all that must be equal for two figures to compare
    citation: str
    needs: tuple[str, ...]  # fields that an output must have; "emotion|guesses" means either
    digits: int = 2
    bounds: tuple[float, float] = (0.0, math.inf)  # what it can be at all; intervals end there
    language: str = ""  # the only language that it knows, if it knows one only
    undefined: str = "there is nothing to count"  # why it can have no value though the fields are there

    def lacks(self, fields: Iterable[str], language: str = "en") -> str:
        """Why the metric cannot be computed, in words; empty when it can."""
        if self.language not in ("", language):
            return f"it knows the phrases of '{self.language}', the outputs are in '{language}'"
        there = set(fields)
        missing = [need for need in self.needs if not there & set(need.split("|"))]
        return f"the outputs have no {', '.join(missing).replace('|', ' or ')}" if missing else ""

    def tally(self, outputs: Sequence[Output]) -> "Tally":
        return Tally(self, self.sums(outputs))

    @abstractmethod
    def sums(self, outputs: Sequence[Output]) -> Sums: ...

    @abstractmethod
    def of_sums(self, sums: Sums) -> float: ...

    def value(self, outputs: Sequence[Output]) -> float:
        """The metric on these outputs; NaN when it is not defined on them."""
        return self.tally(outputs).value()


@dataclass(frozen=True)
class Tally:
    """A metric's sums over some outputs. Tallies of parts add up to the tally of the whole, exactly."""

    metric: Metric
    sums: Sums

    def __add__(self, other: "Tally") -> "Tally":
        if other.metric is not self.metric:
            raise InvalidValue(f"{self.metric.name} and {other.metric.name} do not add up")
        total = dict(self.sums)
        for column, number in other.sums.items():
            total[column] = total.get(column, 0) + number
        return Tally(self.metric, total)

    def value(self) -> float:
        return self.metric.of_sums(self.sums)


@dataclass(frozen=True, kw_only=True)
class SumMetric(Metric):
    """A metric that is a function of column sums."""

    table: TableOf
    finish: Callable[[Array, Columns], Array]  # (…, columns) → (…)
    distance: bool = False  # never below 0, and larger on every resample: see uncertainty.reflected

    def sums(self, outputs: Sequence[Output]) -> Sums:
        table = self.table(outputs)
        totals = table.values.sum(axis=0).tolist()
        return dict(zip(table.columns, totals, strict=True))

    def of_sums(self, sums: Sums) -> float:
        return float(self.finish(np.array(list(sums.values()), np.float64), tuple(sums)))


@dataclass(frozen=True, kw_only=True)
class TypeMetric(Metric):
    """A metric of how often types occur. spectrum[c] is the number of types that occur c times."""

    types: TypesOf
    finish: Callable[[Array], float]

    def sums(self, outputs: Sequence[Output]) -> Sums:
        return dict(Counter(kind for output in outputs for kind in self.types(output)))

    def of_sums(self, sums: Sums) -> float:
        counts = np.fromiter(sums.values(), np.int64, len(sums))
        return self.finish(spectrum_of(counts))


def spectrum_of(counts: NDArray[np.int64]) -> Array:
    """How many types occur once, twice…: [1, 1, 3] → [0, 2, 0, 1]. Types with no occurrence do not count."""
    spectrum = np.bincount(counts, minlength=2).astype(np.float64)
    spectrum[0] = 0.0
    return spectrum


def ratio(top: Array, bottom: Array) -> Array:
    """top / bottom, NaN where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom != 0, np.divide(top, bottom), np.nan)


def means(value: Callable[[Sequence[Output]], Sequence[float] | Array]) -> TableOf:
    """The table of a metric that is the mean of a number an output."""

    def table(outputs: Sequence[Output]) -> Table:
        numbers = np.asarray(value(outputs), np.float64)
        return Table(("sum", "outputs"), np.column_stack([numbers, np.ones(len(outputs))]))

    return table


def mean(sums: Array, _: Columns) -> Array:
    return ratio(sums[..., 0], sums[..., 1])


def percent(sums: Array, columns: Columns) -> Array:
    return 100 * mean(sums, columns)
