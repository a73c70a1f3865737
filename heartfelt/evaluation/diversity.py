"""How varied the replies are: Distinct-n of the whole set and at a fixed size, length, repetition."""

from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from heartfelt.evaluation.metric import (
    PERCENT,
    Array,
    Metric,
    SumMetric,
    TableOf,
    TypeMetric,
    TypesOf,
    mean,
    means,
    percent,
)
from heartfelt.evaluation.tokens import ngrams, whitespace

# Distinct-n falls as the set grows (EmpDG's half set doubles it), so systems are compared at this many
# n-grams: few enough for a thousand short replies.
FIXED = 10_000


def distinct(spectrum: Array) -> float:
    """100 × types / tokens."""
    total = float(spectrum @ np.arange(len(spectrum)))
    return 100 * float(spectrum.sum()) / total if total else float("nan")


def distinct_at(spectrum: Array, size: int = FIXED) -> float:
    """100 × the types that one expects among `size` n-grams drawn without replacement, per n-gram drawn.

    Exact (Hurlbert 1971, rarefaction), so it needs no seed and depends on no order: a type that occurs c
    times among N is missed with probability C(N-c, size) / C(N, size).
    """
    total = float(spectrum @ np.arange(len(spectrum)))
    if total < size:
        return float("nan")
    counts = np.flatnonzero(spectrum)
    left: Array = np.asarray(total - counts, np.float64)  # n-grams of other types
    missed = np.zeros(len(counts))
    can = left >= size
    missed[can] = np.exp(_log_choose(left[can], size) - _log_choose(np.array([total]), size))
    return 100 * float(spectrum[counts] @ (1 - missed)) / size


def _log_choose(n: Array, k: int) -> Array:
    chosen: Array = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return chosen


def _types(n: int) -> TypesOf:
    return lambda output: ngrams(whitespace(output.reply or ""), n)


def _distinct(n: int) -> tuple[TypeMetric, TypeMetric]:
    types = _types(n)
    whole = TypeMetric(
        name=f"distinct_{n}", title=f"Dist-{n}", direction="higher", needs=("reply",),
        recipe=f"100 × distinct {n}-grams / {n}-grams over all replies; lower-case white-space tokens; "
        "compares only between sets of one size",
        citation="Li et al. 2016", bounds=PERCENT, types=types, finish=distinct,
    )  # fmt: skip
    fixed = TypeMetric(
        name=f"distinct_{n}_at", title=f"Dist-{n}@10k", direction="higher", needs=("reply",),
        undefined=f"there are fewer than {FIXED:,} {n}-grams",
        recipe=f"as Dist-{n}, expected over {FIXED:,} {n}-grams drawn without replacement (exact): "
        "compares between sets of any size that are alike in kind",
        citation="Li et al. 2016; Hurlbert 1971", bounds=PERCENT, types=types, finish=distinct_at,
    )  # fmt: skip
    return whole, fixed


def repeats(text: str, n: int = 3) -> bool:
    """Whether some n-gram occurs twice in one reply."""
    counts = Counter(ngrams(whitespace(text), n))
    return bool(counts) and max(counts.values()) > 1


def replies(number: Callable[[str], float]) -> TableOf:
    """The table of a metric that is the mean of a number a reply."""
    return means(lambda outputs: [number(output.reply or "") for output in outputs])


METRICS: tuple[Metric, ...] = (
    *(metric for n in (1, 2) for metric in _distinct(n)),
    SumMetric(
        name="length", title="words", direction="none", needs=("reply",),
        recipe="mean white-space tokens a reply", citation="ours",
        table=replies(lambda text: len(whitespace(text))), finish=mean,
    ),
    SumMetric(
        name="repetition", title="repeats %", direction="lower", needs=("reply",),
        recipe="% of replies in which a 3-gram occurs twice; lower-case white-space tokens", citation="ours",
        bounds=PERCENT, table=replies(repeats), finish=percent,
    ),
)  # fmt: skip
