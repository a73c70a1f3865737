"""What a study found: means with their intervals, shares, agreement, a ranking, tests, and how much is still needed.

Intervals draw dialogues and raters anew, both (Owen's pigeonhole bootstrap, 2007): neither the ratings of one dialogue
nor those of one rater are independent. SEM is the papers', over single ratings. Welch's tests compare dialogues' means.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.dialogue import Value
from heartfelt.errors import InvalidValue
from heartfelt.evaluation import human
from heartfelt.evaluation.human import Difference, Estimate, Strength
from heartfelt.evaluation.uncertainty import RESAMPLES, draws, holm, percentiles
from heartfelt.study.file import AREAS, HUMAN, Study
from heartfelt.study.quality import LeftOut, filtered
from heartfelt.study.ratings import (
    PREFERRED,
    Comparison,
    Rating,
    comparisons_of,
    questions_of,
    ratings_of,
    scale_of,
)
from heartfelt.study.records import Work, works
from heartfelt.study.store import Store

Array = NDArray[np.float64]
Scores = dict[str, dict[str, Estimate]]  # question → system → mean


class Test(Value, frozen=True):
    question: str
    a: str
    b: str
    difference: Difference | None
    p_holm: float | None = None
    reason: str = ""


class Agreement(Value, frozen=True):
    question: str
    fleiss: Estimate
    alpha: Estimate
    units: int  # judged by as many raters as most, which is what Fleiss' kappa takes
    of: int
    raters: int


class Need(Value, frozen=True):
    """Dialogues a system (or comparisons a pair), so that the smallest difference that matters is found."""

    question: str
    effect: float
    needed: int
    have: int
    still: int  # needed


class Choice(Value, frozen=True):
    a: str
    b: str
    a_wins: int
    b_wins: int
    ties: int
    both_bad: int


class Report(Value, frozen=True):
    study: str
    kind: str
    title: str
    questions: tuple[str, ...]
    scales: dict[str, tuple[float, float]]
    systems: tuple[str, ...]
    raters: int
    finished: int  # batches
    answers: int  # that count
    left_out: tuple[dict[str, Any], ...]
    unfinished: int  # batches that somebody began and did not end; their answers do not count
    scores: Scores
    shares: dict[str, dict[str, dict[str, Estimate]]]  # test set ("" for all) → system → area → share
    choices: tuple[Choice, ...]
    agreement: tuple[Agreement, ...]
    ranking: tuple[Strength, ...]
    ranking_reason: str
    tests: tuple[Test, ...]
    by_emotion: dict[str, Scores]
    by_intent: dict[str, Scores]
    needs: tuple[Need, ...]
    filters: bool


def report_of(store: Store, filters: bool = True, resamples: int = RESAMPLES, seed: int = 0) -> Report:
    if store.study.kind == "collect":
        raise InvalidValue(
            "A collection is no judgement: heartfelt study status, and heartfelt corpora describe on its export"
        )
    return analysed(store.study, works(store), filters, resamples, seed)


def analysed(
    study: Study, found: Sequence[Work], filters: bool = True, resamples: int = RESAMPLES, seed: int = 0
) -> Report:
    """The report of some works; a simulation needs no store."""
    out: list[LeftOut] = []
    kept = [work for work in found if work.finished is not None]
    if filters:
        kept, out = filtered(study, found)
    ratings = ratings_of(study, kept)
    if not ratings:
        raise InvalidValue(
            f"The study '{study.name}' has no finished batch that counts"
            + (" (see --keep-all)" if out else "")
        )
    questions = questions_of(study)
    systems = sorted({one.system for one in ratings}, key=lambda name: (name == HUMAN, name))
    mean = Means(ratings, resamples, seed)
    pairs = comparisons_of(study, kept)
    ranking, reason = _ranking(pairs, resamples, seed)
    return Report(
        study.name, study.kind, study.title or study.name, questions, {q: scale_of(study, q) for q in questions},
        tuple(systems), len({work.rater for work in kept}), len(kept),
        sum(not answer.attention for work in kept for answer in work.answers),
        tuple({"rater": one.rater, "batch": one.batch, "reason": one.reason, "answers": one.answers} for one in out),
        sum(work.finished is None for work in found),
        _scores(ratings, questions, systems, mean),
        _shares(ratings, systems) if study.kind == "sort" else {},
        _choices(pairs) if study.kind == "choose" else (),
        tuple(_agreement(study, ratings, question, resamples, seed) for question in questions),
        ranking, reason, _tests(ratings, questions, systems),
        _split(ratings, questions, systems, mean, lambda one: one.emotion),
        _split(ratings, questions, systems, mean, lambda one: one.intent),
        tuple(_need(study, ratings, pairs, question) for question in questions), filters,
    )  # fmt: skip


class Means:
    """Means of subsets of ratings, all by the same draws of dialogues and raters."""

    def __init__(self, ratings: Sequence[Rating], resamples: int, seed: int) -> None:
        self._dialogues = {name: i for i, name in enumerate(dict.fromkeys(one.dialogue for one in ratings))}
        self._raters = {name: i for i, name in enumerate(dict.fromkeys(one.rater for one in ratings))}
        self._by_dialogue = draws(len(self._dialogues), resamples, seed)
        self._by_rater = draws(len(self._raters), resamples, seed + 1)

    def __call__(self, ratings: Sequence[Rating]) -> Estimate:
        plain = human.mean([one.score for one in ratings])
        if plain.value is None or len(self._dialogues) < 2 or not len(self._by_dialogue):
            return plain
        resampled = self._resampled(ratings)
        usable = resampled[np.isfinite(resampled)]
        if not len(usable):
            return plain
        return Estimate(plain.value, *percentiles(usable), plain.n, plain.error)

    def _resampled(self, ratings: Sequence[Rating]) -> Array:
        table = np.zeros((2, len(self._dialogues), len(self._raters)))  # counts, sums
        for one in ratings:
            place = self._dialogues[one.dialogue], self._raters[one.rater]
            table[0][place] += 1
            table[1][place] += one.score
        used = np.flatnonzero(table[0].sum(axis=1))
        weights, raters = self._by_dialogue[:, used].astype(float), self._by_rater.astype(float)
        if len(self._raters) == 1:
            raters = np.ones_like(raters)
        counts, sums = (((weights @ part[used]) * raters).sum(axis=1) for part in table)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Array = sums / counts
        return found


def _scores(
    ratings: Sequence[Rating], questions: Iterable[str], systems: Sequence[str], mean: Means
) -> Scores:
    parts: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for one in ratings:
        parts[one.question, one.system].append(one)
    return {q: {s: mean(parts[q, s]) for s in systems if parts.get((q, s))} for q in questions}


def _split(
    ratings: Sequence[Rating],
    questions: Sequence[str],
    systems: Sequence[str],
    mean: Means,
    by: Callable[[Rating], str | None],
) -> dict[str, Scores]:
    parts: dict[str, list[Rating]] = defaultdict(list)
    for one in ratings:
        if name := by(one):
            parts[name].append(one)
    return {name: _scores(part, questions, systems, mean) for name, part in sorted(parts.items())}


def _shares(ratings: Sequence[Rating], systems: Sequence[str]) -> dict[str, dict[str, dict[str, Estimate]]]:
    groups = ["", *sorted({one.group for one in ratings if one.group})]
    found: dict[str, dict[str, dict[str, Estimate]]] = {}
    for group in groups:
        counts = Counter((one.system, one.category) for one in ratings if group in ("", one.group))
        found[group] = {}
        for system in systems:
            total = sum(counts[system, area] for area in AREAS)
            found[group][system] = {area: human.wilson(counts[system, area], total) for area in AREAS}
    return found


def _choices(pairs: Sequence[Comparison]) -> tuple[Choice, ...]:
    found = []
    for a, b in sorted({(one.a, one.b) for one in pairs}):
        own = [one for one in pairs if (one.a, one.b) == (a, b)]
        bad = sum(one.both_bad for one in own)
        won, lost = (sum(one.score == score for one in own) for score in (1.0, 0.0))
        found.append(Choice(a, b, won, lost, len(own) - won - lost - bad, bad))
    return tuple(found)


def _agreement(
    study: Study, ratings: Sequence[Rating], question: str, resamples: int, seed: int
) -> Agreement:
    units: dict[str, dict[str, Rating]] = defaultdict(dict)
    for one in ratings:
        if one.question == question:
            units[one.unit][one.rater] = one
    counts = Counter(len(unit) for unit in units.values() if len(unit) > 1)
    raters = max(counts, key=lambda n: (counts[n], n)) if counts else 1
    full = [unit for unit in units.values() if len(unit) == raters]
    categories = sorted({one.category for unit in units.values() for one in unit.values()})
    table = [
        [sum(one.category == category for one in unit.values()) for category in categories] for unit in full
    ]
    nominal = study.kind == "choose"
    values = {category: float(i) for i, category in enumerate(categories)}
    longest = max(map(len, units.values()))
    rows: list[list[float | None]] = []
    for unit in units.values():
        said: list[float | None] = [values[one.category] if nominal else one.score for one in unit.values()]
        rows.append(said + [None] * (longest - len(said)))
    alpha = human.krippendorff_alpha(rows, "nominal" if nominal else "ordinal", min(resamples, 500), seed)
    return Agreement(
        question, human.fleiss_kappa(table, resamples, seed), alpha, len(full), len(units), raters
    )


def _ranking(pairs: Sequence[Comparison], resamples: int, seed: int) -> tuple[tuple[Strength, ...], str]:
    if not pairs:
        return (), "no two systems were judged beside each other"
    try:
        rows = [(one.a, one.b, one.score) for one in pairs]
        return tuple(human.bradley_terry(rows, resamples, seed)), ""
    except InvalidValue as problem:
        return (), str(problem)


def _by_dialogue(ratings: Sequence[Rating], question: str, system: str) -> list[float]:
    parts: dict[str, list[float]] = defaultdict(list)
    for one in ratings:
        if one.question == question and one.system == system:
            parts[one.dialogue].append(one.score)
    return [float(np.mean(part)) for part in parts.values()]


def _tests(ratings: Sequence[Rating], questions: Sequence[str], systems: Sequence[str]) -> tuple[Test, ...]:
    means = {(q, s): _by_dialogue(ratings, q, s) for q in questions for s in systems}
    made: list[Test] = []
    for question in questions:
        for a, b in combinations(systems, 2):
            try:
                made.append(Test(question, a, b, human.welch(means[question, a], means[question, b])))
            except InvalidValue as problem:
                made.append(Test(question, a, b, None, reason=str(problem)))
    corrected = iter(holm([test.difference.p for test in made if test.difference]))
    return tuple(
        Test(t.question, t.a, t.b, t.difference, next(corrected) if t.difference else None, t.reason)
        for t in made
    )


def _need(study: Study, ratings: Sequence[Rating], pairs: Sequence[Comparison], question: str) -> Need:
    low, high = scale_of(study, question)
    effect = study.effect or (high - low) / 10
    # Hidden gold replies are a check on a few dialogues, not a system that more ratings are wanted for.
    systems = sorted({one.system for one in ratings} - ({HUMAN} if study.bonus else set()))
    if question == PREFERRED:
        met = Counter((one.a, one.b) for one in pairs)
        return _still(question, effect, human.preference_size(min(0.99, 0.5 + effect)), min(met.values()))
    means = [_by_dialogue(ratings, question, system) for system in systems]
    spread = [np.var(part, ddof=1) for part in means if len(part) > 1]
    have = min(len(part) for part in means if part) if any(means) else 0
    deviation = math.sqrt(float(np.mean(spread))) if spread else 0.0
    if not deviation:
        return _still(question, effect, have, have)
    return _still(question, effect, human.sample_size(effect, deviation), have)


def _still(question: str, effect: float, needed: int, have: int) -> Need:
    return Need(question, effect, needed, have, max(0, needed - have))


def page(report: Report) -> str:
    """One HTML file."""
    from heartfelt.report import render
    from heartfelt.study.layouts import tables

    return render("study.html", report=report, tables=tables(report, everything=True))
