"""Statistics of what people judged: means, agreement, preference, and how many raters a study needs.

A value that cannot be had is None beside a reason, never a bare NaN.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import krippendorff
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from heartfelt.dialogue import Value
from heartfelt.errors import InvalidValue
from heartfelt.evaluation.uncertainty import LEVEL, RESAMPLES, draws, percentiles

Array = NDArray[np.float64]
Scale = Literal["nominal", "ordinal", "interval", "ratio"]


class Estimate(Value, frozen=True):
    """A figure with its 95 % interval, or the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    error: float | None = None  # the standard error
    reason: str = ""

    @property
    def percent(self) -> str:
        """A share as people read it."""
        if self.value is None or self.low is None or self.high is None:
            return "-"
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}]"


class Difference(Value, frozen=True):
    """Welch's test between two groups of ratings."""

    difference: float
    low: float
    high: float
    t: float
    freedom: float
    p: float


class Strength(Value, frozen=True):
    """A system in a Bradley-Terry ranking. Strengths are log-odds that add up to 0."""

    system: str
    strength: float
    low: float | None
    high: float | None
    wins: float  # ties count one half
    comparisons: float


def _finite(ratings: Sequence[float]) -> Array:
    try:
        values = np.asarray(ratings, np.float64)
    except (TypeError, ValueError):
        raise InvalidValue("the ratings are not a list of numbers") from None
    if values.ndim != 1:
        raise InvalidValue("the ratings are not a list of numbers")
    # Beyond 1e100 the squares that every spread is made of overflow; nobody rates so.
    bad = np.flatnonzero(~(np.abs(values) < 1e100))
    if len(bad):
        raise InvalidValue(f"rating {bad[0] + 1} is {values[bad[0]]}; leave out what was not rated")
    return values


def _table(rows: Sequence[Sequence[float | None]], gaps: bool = False) -> Array:
    """Items × columns, all rows of one length; NaN for None where gaps are allowed."""
    try:
        filled = [[math.nan if value is None and gaps else value for value in row] for row in rows]
        width = len(filled[0]) if filled else 0
        odd = [(item, len(row)) for item, row in enumerate(filled, 1) if len(row) != width]
        values = np.array([] if odd else filled, np.float64).reshape(-1, width or 1)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("the items are not rows of numbers") from None
    if odd:
        raise InvalidValue(f"item {odd[0][0]} has {odd[0][1]} columns, item 1 has {width}")
    for item, row in enumerate(rows, 1):
        for value in row:
            if value is not None and not abs(value) < 1e100:
                raise InvalidValue(f"item {item} holds {value}; what was not rated is None")
    return values


def _check(level: float = LEVEL, power: float = 0.5, resamples: int = 0) -> None:
    if not 0 < level < 1:
        raise InvalidValue(f"a confidence level lies between 0 and 1, not at {level}")
    if not 0 < power < 1:
        raise InvalidValue(f"power lies between 0 and 1, not at {power}")
    if not isinstance(resamples, int) or resamples < 0:
        raise InvalidValue(f"resamples are counted: {resamples} is not a number of them")


def mean(ratings: Sequence[float], level: float = LEVEL) -> Estimate:
    """Mean, standard error of the mean, and the t interval."""
    _check(level)
    values = _finite(ratings)
    n = len(values)
    if n == 0:
        return Estimate(None, reason="there are no ratings")
    average = float(values.mean())
    if n == 1:
        return Estimate(average, n=1, reason="one rating has no spread")
    error = float(values.std(ddof=1) / math.sqrt(n))
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return Estimate(average, average - reach, average + reach, n, error)


def wilson(successes: int, n: int, level: float = LEVEL) -> Estimate:
    """A proportion with Wilson's score interval (1927): honest near 0 and 1, where the usual one is not."""
    _check(level)
    if not 0 <= successes <= n < math.inf or successes != int(successes) or n != int(n):
        raise InvalidValue(f"{successes} of {n} is not a proportion")
    if n == 0:
        return Estimate(None, reason="there are no trials")
    z = float(stats.norm.ppf((1 + level) / 2))
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Estimate(share, max(0.0, centre - reach), min(1.0, centre + reach), n)


def welch(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Difference:
    """Whether two groups of ratings differ in the mean, without assuming equal variances (Welch 1947)."""
    _check(level)
    first, second = _finite(a), _finite(b)
    if min(len(first), len(second)) < 2:
        raise InvalidValue(f"Welch's test needs two ratings a group, not {len(first)} and {len(second)}")
    if first.var() == 0 and second.var() == 0:
        raise InvalidValue("all ratings within each group are equal: there is no spread to test against")
    test = stats.ttest_ind(first, second, equal_var=False)
    low, high = test.confidence_interval(level)
    gap = float(first.mean() - second.mean())
    return Difference(gap, float(low), float(high), float(test.statistic), float(test.df), float(test.pvalue))


def fleiss_kappa(counts: Sequence[Sequence[int]], resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Agreement beyond chance (Fleiss 1971). counts: items × categories, how many raters chose each."""
    _check(resamples=resamples)
    table = _table(counts)
    if not table.size:
        return Estimate(None, reason="there are no items")
    if len(wrong := np.argwhere((table < 0) | (table != np.floor(table)))):
        item, category = wrong[0].tolist()
        raise InvalidValue(
            f"item {item + 1} has {table[item, category]:g} in category {category + 1}, not a count"
        )
    raters = table.sum(axis=1)
    if odd := np.flatnonzero(raters != raters[0]).tolist():
        raise InvalidValue(
            f"item {odd[0] + 1} has {raters[odd[0]]:.0f} ratings, item 1 has {raters[0]:.0f}; Fleiss' kappa "
            "needs equal numbers, Krippendorff's alpha does not"
        )
    if raters[0] < 2:
        return Estimate(None, n=len(table), reason="an item has one rating: nobody to agree with")
    agreeing = (table**2).sum(axis=1) - raters[0]  # ordered pairs of raters who agree
    weights = np.vstack([np.ones(len(table)), draws(len(table), resamples, seed)])
    observed = weights @ agreeing / (len(table) * raters[0] * (raters[0] - 1))
    chance = ((weights @ table / (len(table) * raters[0])) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - chance) / (1 - chance)
    if not math.isfinite(kappa[0]):
        return Estimate(None, n=len(table), reason="every rating is the same category: chance agrees fully")
    return _resampled(float(kappa[0]), kappa[1:], len(table))


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]],
    scale: Scale = "nominal",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Agreement that allows gaps (Krippendorff 2011). ratings: items × raters, None where one did not rate.

    Bootstrapped over items.
    """
    _check(resamples=resamples)
    if scale not in get_args(Scale):
        raise InvalidValue(f"there is no scale '{scale}'; there is: {', '.join(get_args(Scale))}")
    table = _table(ratings, gaps=True)
    if scale == "ratio" and (table < 0).any():
        raise InvalidValue("a ratio scale starts at 0, and a rating is below")
    rated = table[(~np.isnan(table)).sum(axis=1) > 1] if table.size else table
    if not len(rated):
        return Estimate(None, reason="no item has two ratings")
    values = np.unique(rated[~np.isnan(rated)])
    if len(values) == 1:
        return Estimate(None, n=len(rated), reason="every rating is the same: there is nothing to tell apart")
    # Items × values: how many raters chose each. Alpha needs no more, and a resample only picks rows.
    counts = (rated[:, :, None] == values).sum(axis=1)

    def alpha(table: NDArray[np.int64]) -> float:
        seen = table.sum(axis=0) > 0
        if seen.sum() < 2:  # a resample in which all agree on one value tells nothing
            return math.nan
        return float(
            krippendorff.alpha(
                value_counts=table[:, seen], value_domain=values[seen], level_of_measurement=scale
            )
        )

    random = np.random.default_rng(seed)
    picks = random.integers(len(counts), size=(resamples, len(counts)))
    return _resampled(alpha(counts), np.array([alpha(counts[pick]) for pick in picks]), len(rated))


def _resampled(value: float, resampled: Array, n: int) -> Estimate:
    if not math.isfinite(value):
        return Estimate(None, n=n, reason="it is undefined on these ratings")
    if not len(resampled):
        return Estimate(value, n=n, reason="no resamples were asked for, so there is no interval")
    usable = resampled[np.isfinite(resampled)]
    if n < 2 or not len(usable):
        return Estimate(value, n=n, reason="too few items for an interval")
    return Estimate(value, *percentiles(usable), n, float(usable.std()))


def bradley_terry(
    wins: Sequence[tuple[str, str, float]], resamples: int = RESAMPLES, seed: int = 0, prior: float = 0.5
) -> list[Strength]:
    """Rank systems from pairs (Bradley and Terry 1952), strongest first, with bootstrap intervals.

    wins: (a, b, how much a won: 1, 0, or 0.5 for a tie), one a comparison.
    prior: wins added each way between all that met, so that a system which never lost has a finite strength.
    """
    _check(resamples=resamples)
    if not 0 <= prior < math.inf:
        raise InvalidValue(f"a prior is a number of wins, not {prior}")
    for row, comparison in enumerate(wins, 1):
        try:
            a, b, score = comparison
            score = float(score)
        except (TypeError, ValueError):
            raise InvalidValue(f"comparison {row} is {comparison!r}, not (a, b, how much a won)") from None
        if a == b or not 0 <= score <= 1:
            raise InvalidValue(f"comparison {row} is {a} against {b} with {score}; a score is 1, 0 or 0.5")
    names = sorted({name for a, b, _ in wins for name in (a, b)})
    if len(names) < 2:
        raise InvalidValue("a ranking needs comparisons between two systems at least")
    place = {name: i for i, name in enumerate(names)}
    rows = np.zeros((len(wins), len(names), len(names)))
    for row, (a, b, score) in enumerate(wins):
        rows[row, place[a], place[b]] = score
        rows[row, place[b], place[a]] = 1 - score
    total = rows.sum(axis=0)
    met = (total + total.T) > 0
    _connected(met, names)
    weights = np.vstack([np.ones(len(wins)), draws(len(wins), resamples, seed)])
    tables = (weights @ rows.reshape(len(wins), -1)).reshape(-1, len(names), len(names))
    with np.errstate(divide="ignore", invalid="ignore"):
        fitted = _fit(tables + prior * met)
    if not np.isfinite(fitted[0]).all():
        raise InvalidValue(
            "a system won or lost every time, so its strength is infinite; give a prior above 0"
        )
    ranking = []
    for i, name in enumerate(names):
        drawn = fitted[1:, i]
        low, high = percentiles(drawn) if resamples and np.isfinite(drawn).all() else (None, None)
        met_in = float(total[i].sum() + total[:, i].sum())
        ranking.append(Strength(name, float(fitted[0, i]), low, high, float(total[i].sum()), met_in))
    return sorted(ranking, key=lambda strength: -strength.strength)


def _connected(met: NDArray[np.bool_], names: Sequence[str]) -> None:
    reached = {0}
    while grown := {int(j) for i in reached for j in np.flatnonzero(met[i])} - reached:
        reached |= grown
    if apart := [name for i, name in enumerate(names) if i not in reached]:
        raise InvalidValue(f"{apart[0]} was never compared with {names[0]}, not even through others")


def _fit(wins: Array, rounds: int = 10_000, tolerance: float = 1e-10) -> Array:
    """Maximum likelihood by Hunter's MM updates (2004), for many win tables at once: tables × systems."""
    games = wins + wins.transpose(0, 2, 1)
    won = wins.sum(axis=2)
    strength = np.ones(won.shape)
    for _ in range(rounds):
        pairs = strength[:, :, None] + strength[:, None, :]
        updated = won / (games / pairs).sum(axis=2)
        updated /= np.exp(np.log(updated).mean(axis=1, keepdims=True))
        change = np.abs(np.log(updated / strength)).max()
        strength = updated
        if change < tolerance:
            break
    fitted: Array = np.log(strength)
    return fitted


def sample_size(effect: float, deviation: float, power: float = 0.8, level: float = LEVEL) -> int:
    """Ratings a group, so that a true difference `effect` between two means is found with this power.

    deviation: the spread of single ratings. Two-sided t test; paired designs need fewer.
    """
    _check(level, power)
    size = abs(effect) / deviation if deviation else math.nan
    if not (0 < size < math.inf and 0 < deviation < math.inf):
        raise InvalidValue(
            "a sample size needs an effect that is not 0 and a positive deviation, both finite"
        )
    z = float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power))
    n = max(2, math.ceil(2 * (z / size) ** 2))  # what a normal distribution would need; t needs a few more
    while n < 10_000 and _power(n, size, level) < power:
        n += 1
    return n


def _power(n: int, size: float, level: float) -> float:
    """How often a t test with n a group finds an effect of this many deviations."""
    freedom, shift = 2 * n - 2, size * math.sqrt(n / 2)
    edge = stats.t.ppf((1 + level) / 2, freedom)
    return float(stats.nct.sf(edge, freedom, shift) + stats.nct.cdf(-edge, freedom, shift))


def preference_size(share: float, power: float = 0.8, level: float = LEVEL) -> int:
    """Comparisons, so that a true preference of `share` (0.6: six in ten choose A) is told from a coin."""
    _check(level, power)
    if share == 0.5 or not 0 < share < 1:
        raise InvalidValue("a preference lies between 0 and 1 and is not 0.5")
    z_level, z_power = float(stats.norm.ppf((1 + level) / 2)), float(stats.norm.ppf(power))
    needed = (z_level * 0.5 + z_power * math.sqrt(share * (1 - share))) / (share - 0.5)
    return math.ceil(needed**2)
