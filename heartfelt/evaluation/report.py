"""The one-file HTML report: what is drawn, as plain numbers; heartfelt/templates/evaluation.html draws it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.evaluation.genericness import STOCK_PHRASES, says
from heartfelt.evaluation.metric import Metric
from heartfelt.evaluation.metrics import METRICS
from heartfelt.evaluation.outputs import Output, Outputs
from heartfelt.evaluation.overlap import f1
from heartfelt.evaluation.scoring import Result, human_of
from heartfelt.evaluation.tables import described, heading, shown
from heartfelt.evaluation.tokens import same
from heartfelt.evaluation.uncertainty import Interval
from heartfelt.report import write_page

REPEATED = 15  # most repeated replies shown
EXAMPLES = 6  # best and worst turns shown


@dataclass(frozen=True)
class Mark:
    """A system in a panel: where its value and whiskers stand, 0 to 1 from left to right."""

    system: str
    text: str
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """A metric of all systems on one scale."""

    metric: Metric
    title: str
    marks: tuple[Mark, ...]
    least: str  # the ends of the scale
    most: str
    human: Mark | None


@dataclass(frozen=True)
class Rates:
    """How often something is said: by each system, and by people."""

    name: str
    systems: tuple[float, ...]
    human: float


@dataclass(frozen=True)
class Repeated:
    reply: str
    share: float
    human: int  # how many people said it


@dataclass(frozen=True)
class Shown:
    """A turn with the human reply and every system's."""

    context: str
    human: str
    replies: tuple[str, ...]
    f1: float


def write(path: Path, scored: Sequence[tuple[Result, Outputs]]) -> None:
    """The report on one or more systems."""
    results, systems = [result for result, _ in scored], [outputs for _, outputs in scored]
    spoken = [outputs for outputs in systems if {"reply", "reference"} <= outputs.fields]
    best, worst = examples(spoken)
    write_page(
        path, "evaluation.html",
        results=results, panels=panels(results), speaking=[o.header.system for o in spoken],
        phrases=phrases(spoken), mixes=mixes(systems), repeated=[(o.header.system, repeated(o)) for o in spoken],
        best=best, worst=worst,
        recipes=[described(name) for name in (*METRICS, "ses") if any(name in r.scores for r in results)],
    )  # fmt: skip


def panels(results: Sequence[Result]) -> list[Panel]:
    drawn = []
    for name in (*METRICS, "ses"):
        scores = {result.system: result.scores[name] for result in results if name in result.scores}
        if not scores:
            continue
        people = human_of(results, name)
        every = [*scores.values(), *([people] if people else [])]
        least = min(score.value if score.low is None else score.low for score in every)
        most = max(score.value if score.high is None else score.high for score in every)
        room = 0.04 * (most - least or abs(most) or 1)
        if len(every) == 1:  # nothing to stand beside: from 0, so that the place says something
            least, room = min(0.0, least), 0.04 * (abs(most) or 1)
        least, most = max(0.0, least - room) if least >= 0 else least - room, most + room

        scale = (least, most, name)
        marks = tuple(_mark(system, score, *scale) for system, score in scores.items())
        human = _mark("human", people, *scale) if people else None
        digits = described(name).digits
        left, right = f"{least:.{digits}f}", f"{most:.{digits}f}"
        drawn.append(Panel(described(name), heading(name), marks, left, right, human))
    return drawn


def _mark(system: str, score: Interval, least: float, most: float, name: str) -> Mark:
    ends = (score.value if end is None else end for end in (score.value, score.low, score.high))
    return Mark(system, shown(score, name), *((end - least) / (most - least) for end in ends))


def _rate(outputs: Outputs, pattern: str, human: bool = False) -> float:
    said = says(pattern)
    texts = [(row.reference if human else row.reply) or "" for row in outputs.rows]
    return sum(map(said, texts)) / len(texts)


def phrases(systems: Sequence[Outputs]) -> list[Rates]:
    """Each stock phrase, with the human rate beside it."""
    if any(outputs.header.language != "en" for outputs in systems) or not systems:
        return []
    largest = max(systems, key=lambda outputs: len(outputs.rows))
    return [
        Rates(
            name,
            tuple(_rate(outputs, pattern) for outputs in systems),
            _rate(largest, pattern, human=True),
        )
        for name, pattern in STOCK_PHRASES.items()
    ]


def mixes(systems: Sequence[Outputs]) -> list[tuple[str, list[Rates]]]:
    """For each system with labels: the share of each intent, and its share among the human replies."""
    drawn = []
    for outputs in systems:
        if not {"reply_label", "reference_label"} <= outputs.fields:
            continue
        ours = Counter(row.reply_label or "" for row in outputs.rows)
        theirs = Counter(row.reference_label or "" for row in outputs.rows)
        n = len(outputs.rows)
        labels = [label for label, _ in (theirs + ours).most_common()]
        rates = [Rates(label, (ours[label] / n,), theirs[label] / n) for label in labels]
        drawn.append((outputs.header.system, rates))
    return drawn


def repeated(outputs: Outputs) -> list[Repeated]:
    replies = Counter(same(row.reply or "") for row in outputs.rows)
    people = Counter(same(row.reference or "") for row in outputs.rows)
    return [
        Repeated(reply, count / len(outputs.rows), people[reply])
        for reply, count in replies.most_common(REPEATED)
    ]


def examples(systems: Sequence[Outputs]) -> tuple[list[Shown], list[Shown]]:
    """The turns on which the systems come nearest to the human reply by token F1, and those farthest from it.

    Of turns that are equally far, those with the most words of context: there was most to hear.
    """
    if not systems:
        return [], []
    others = [dict(zip(o.keys, o.rows, strict=True)) for o in systems[1:]]
    turns = []
    for key, row in zip(systems[0].keys, systems[0].rows, strict=True):
        if all(key in other for other in others):
            turns.append(_shown(row, [row, *(other[key] for other in others)]))
    best = sorted(turns, key=lambda turn: (-turn.f1, -len(turn.human)))[:EXAMPLES]
    worst = sorted(turns, key=lambda turn: (turn.f1, -len(turn.context)))[:EXAMPLES]
    return best, worst


def _shown(row: Output, rows: Sequence[Output]) -> Shown:
    reference = row.reference or ""
    replies = tuple(each.reply or "" for each in rows)
    score = sum(f1(reply, reference) for reply in replies) / len(replies)
    return Shown(row.context[-1] if row.context else "", reference, replies, score)
