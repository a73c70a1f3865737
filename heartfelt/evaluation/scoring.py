"""Score a system, compare two, rank many: functions that the commands and a notebook call.

>>> from heartfelt.evaluation import evaluate, read
>>> evaluate(read("mime-greedy.jsonl")).scores["sorry_to_hear"]
Interval(value=35.9, low=34.5, high=37.3, method='bootstrap')
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from heartfelt.dialogue import Value
from heartfelt.errors import BadData, InvalidValue
from heartfelt.evaluation import metrics as registry
from heartfelt.evaluation.metric import Metric
from heartfelt.evaluation.outputs import Output, Outputs
from heartfelt.evaluation.overlap import Embedder, similarity
from heartfelt.evaluation.uncertainty import (
    RESAMPLES,
    Interval,
    Paired,
    Sample,
    Undefined,
    Weights,
    draws,
    flips,
    holm,
    interval,
    paired,
)


class Result(Value, frozen=True):
    """What a system scored."""

    system: str
    corpus: str
    split: str
    turns: int
    dialogues: int
    unmatched: int  # rows of the imported file that answer no turn of the corpus
    scores: dict[str, Interval]
    human: dict[str, Interval]  # the metrics that need no reference, on the human replies
    skipped: dict[str, str]  # metric → why it was not computed
    notes: tuple[str, ...]
    resamples: int
    seed: int


class Test(Value, frozen=True):
    """One metric between two systems, with its p-value corrected over the table."""

    paired: Paired
    p_holm: float


class Comparison(Value, frozen=True):
    """Two systems on the turns that both answer."""

    a: str
    b: str
    turns: int
    dialogues: int
    only_a: int
    only_b: int
    tests: dict[str, Test]
    skipped: dict[str, str]
    notes: tuple[str, ...]
    resamples: int
    seed: int


def chosen(names: Iterable[str] | None, embedder: Embedder | None) -> list[Metric]:
    """The metrics of these names, or all; similarity among them when there is something to embed with."""
    every = dict(registry.METRICS)
    if embedder is not None:
        every["ses"] = similarity(embedder)
    if names is not None and "ses" in names and embedder is None:
        raise InvalidValue("ses needs something to embed with: add --ses, which loads MiniLM")
    return list(every.values()) if names is None else [registry.find(name, every) for name in names]


def evaluate(
    outputs: Outputs,
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    embedder: Embedder | None = None,
) -> Result:
    """Score a system's outputs, with intervals, the human figures beside them, and what was skipped."""
    sample = Sample(outputs.rows)
    weights = draws(sample.count, resamples, seed)
    asked = chosen(metrics, embedder)
    scores, skipped = _scores(asked, sample, weights, outputs)
    bare = [name for name, score in scores.items() if score.low is None and resamples and sample.count > 1]
    bounds = [f"{name} has no interval: it is undefined on some resamples" for name in bare]
    if metrics is None and embedder is None:
        skipped["ses"] = "no embedder was given (--ses loads MiniLM)"
    people = outputs.human()
    beside: dict[str, Interval] = {}
    if people is not None:
        free = [
            metric
            for metric in asked
            if metric.name in scores and set(metric.needs) <= {"reply", "reply_label"}
        ]
        beside, _ = _scores(free, Sample(people.rows), weights, people)
    header = outputs.header
    return Result(
        header.system, header.corpus, header.split, len(outputs.rows), sample.count, len(header.unmatched),
        scores, beside, skipped, (*_notes(outputs), *bounds), resamples, seed,
    )  # fmt: skip


def _scores(
    metrics: Sequence[Metric], sample: Sample, weights: Weights, outputs: Outputs
) -> tuple[dict[str, Interval], dict[str, str]]:
    scores: dict[str, Interval] = {}
    skipped: dict[str, str] = {}
    for metric in metrics:
        if reason := metric.lacks(outputs.fields, outputs.header.language):
            skipped[metric.name] = reason
            continue
        score = interval(metric, sample, weights)
        if math.isnan(score.value):
            skipped[metric.name] = metric.undefined
        else:
            scores[metric.name] = score
    return scores, skipped


def human_of(results: Sequence[Result], name: str) -> Interval | None:
    """The human figure to stand beside these systems: that of the largest set of turns."""
    having = [result for result in results if name in result.human]
    return max(having, key=lambda result: result.turns).human[name] if having else None


def _notes(outputs: Outputs) -> Iterable[str]:
    """What a reader should know before comparing the figures."""
    if unmatched := len(outputs.header.unmatched):
        yield f"{unmatched:,} rows of {outputs.header.source} answer no turn of {outputs.header.corpus}"
    if outputs.candidates:
        yield f"P@1,N and MRR: N = {outputs.candidates:,} candidates a turn"
    if {"reply", "reference"} <= outputs.fields and _lower(outputs, "reply") > 0.95 > 2 * _lower(
        outputs, "reference"
    ):
        yield (
            "the replies are in lower case, as in the peers' files, and the references are not, so figures that "
            "count tokens are too low; --spelling peers spells both alike"
        )
    silent = sum(row.guesses == () for row in outputs.rows)
    if silent:
        yield f"{silent:,} turns ({silent / len(outputs.rows):.0%}) have no emotion guess and count as wrong"


def _lower(outputs: Outputs, name: str) -> float:
    """The share of replies or references without a capital."""
    texts: list[str] = [getattr(row, name) for row in outputs.rows]
    return sum(text == text.lower() for text in texts) / len(texts)


def shared(a: Outputs, b: Outputs) -> tuple[list[Output], list[Output]]:
    """The turns that both systems answer, in the first one's order."""
    theirs = {(row.dialogue, row.turn): row for row in b.rows}
    pairs = [(row, theirs[key]) for row, key in zip(a.rows, a.keys, strict=True) if key in theirs]
    if not pairs:
        raise BadData(f"{a.header.system} and {b.header.system} answer no turn in common")
    return [ours for ours, _ in pairs], [their for _, their in pairs]


def compare(
    a: Outputs,
    b: Outputs,
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    embedder: Embedder | None = None,
    partly: bool = False,
) -> Comparison:
    """Test every metric between two systems. `partly`: on the shared turns, if they differ."""
    if a.header.corpus and b.header.corpus and a.header.corpus != b.header.corpus:
        raise InvalidValue(
            f"{a.header.system} answers {a.header.corpus} and {b.header.system} {b.header.corpus}: they do not compare"
        )
    ours, theirs = shared(a, b)
    only_a, only_b = len(a.rows) - len(ours), len(b.rows) - len(theirs)
    if (only_a or only_b) and not partly:
        raise InvalidValue(_different(a, b, only_a, only_b))
    first, second = Sample(ours), Sample(theirs)
    weights, swaps = draws(first.count, resamples, seed), flips(first.count, resamples, seed + 1)
    results: dict[str, Paired] = {}
    skipped: dict[str, str] = {}
    for metric in chosen(metrics, embedder):
        # Each side for itself: one may give a distribution and the other ranked guesses.
        lacking = [(side, metric.lacks(side.fields, side.header.language)) for side in (a, b)]
        if reasons := [r.replace("the outputs", side.header.system) for side, r in lacking if r]:
            skipped[metric.name] = reasons[0].replace(" have no", " has no").replace(" are in", " is in")
            continue
        if "candidates" in metric.needs and a.candidates != b.candidates:
            skipped[metric.name] = f"{a.candidates} candidates a turn against {b.candidates} do not compare"
            continue
        try:
            results[metric.name] = paired(metric, first, second, weights, swaps)
        except Undefined as problem:
            skipped[metric.name] = str(problem)
    corrected = holm([result.p for result in results.values()])
    tests = {name: Test(result, p) for (name, result), p in zip(results.items(), corrected, strict=True)}
    return Comparison(
        a.header.system, b.header.system, len(ours), first.count, only_a, only_b, tests, skipped,
        tuple(_spelling(ours, theirs)), resamples, seed,
    )  # fmt: skip


def _different(a: Outputs, b: Outputs, only_a: int, only_b: int) -> str:
    mine, other = (a, b) if only_a else (b, a)
    there = set(other.keys)
    first = next(row for row, key in zip(mine.rows, mine.keys, strict=True) if key not in there)
    return (
        f"{a.header.system} answers {only_a:,} turns that {b.header.system} does not, and {only_b:,} are the "
        f"other way round; the first is {first.name} of {mine.header.system}. "
        "To compare on the turns that both answer: --shared"
    )


def _spelling(a: Sequence[Output], b: Sequence[Output]) -> Iterable[str]:
    differ = [
        x for x, y in zip(a, b, strict=True) if x.reference and y.reference and x.reference != y.reference
    ]
    if differ:
        yield (
            f"the references of {len(differ):,} turns are spelt differently in the two files (the first: "
            f"{differ[0].name}), so figures that count tokens do not compare; --spelling peers spells them alike"
        )


@dataclass(frozen=True)
class Leaderboard:
    """Systems by one metric, best first."""

    by: str
    results: tuple[Result, ...]
    p: dict[str, float]  # system → Holm-corrected p against the best system on the same turns
    notes: tuple[str, ...]


def leaderboard(
    systems: Sequence[Outputs],
    by: str = "avg_bleu",
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    embedder: Embedder | None = None,
) -> Leaderboard:
    """Score systems and rank them; those without the metric last. Each is tested against the best on its turns."""
    [metric] = chosen([by], embedder)
    names = [outputs.header.system for outputs in systems]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidValue(f"two outputs files are of the system '{twice[0]}'; give one of them another name")
    wanted = None if metrics is None else list(dict.fromkeys([by, *metrics]))
    scored = [(evaluate(outputs, wanted, resamples, seed, embedder), outputs) for outputs in systems]
    worse = _worse(metric, [result for result, _ in scored])
    scored.sort(key=lambda pair: (by not in pair[0].scores, worse(pair[0]), pair[0].system))
    best: dict[frozenset[tuple[str, int]], Outputs] = {}  # the first system on each set of turns
    tests: dict[str, float] = {}
    notes: list[str] = []
    for result, outputs in scored:
        first = best.setdefault(frozenset(outputs.keys), outputs)
        if first is not outputs and by in result.scores and result.dialogues > 1 and resamples:
            versus = compare(first, outputs, [by], resamples, seed, embedder)
            if by in versus.tests:
                tests[result.system] = versus.tests[by].paired.p
            else:
                notes.append(f"{result.system} is not tested: {versus.skipped[by]}")
    if len(best) > 1:
        notes.append(
            f"the systems answer {len(best)} different sets of turns: rank within one; across sets compare the "
            "figures at a fixed size (@10k), if the sets are alike in kind"
        )
    p = dict(zip(tests, holm(list(tests.values())), strict=True))
    return Leaderboard(by, tuple(result for result, _ in scored), p, tuple(notes))


def _worse(metric: Metric, results: Sequence[Result]) -> Callable[[Result], float]:
    """How far from good a system is: by the metric's direction, or from the human figure where it has none."""
    by = metric.name
    sign = 1 if metric.direction == "lower" else -1
    people = human_of(results, by)
    if metric.direction == "none" and people is None:
        raise InvalidValue(
            f"{by} has no better and worse of its own, and without references there is no human figure to be near; "
            "rank by another metric"
        )

    def worse(result: Result) -> float:
        if by not in result.scores:
            return 0.0
        value = result.scores[by].value
        goal = result.human.get(by, people)
        return abs(value - goal.value) if metric.direction == "none" and goal else sign * value

    return worse


def to_json(result: Result | list[Result] | Comparison | Leaderboard) -> str:
    """Any result, for machines, indented."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
