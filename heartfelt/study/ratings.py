"""Answers as single ratings, whatever the study asked: who said what of which system, on which question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heartfelt.study.file import Study
from heartfelt.study.items import Item
from heartfelt.study.records import Judged, Work

AREA = "area"  # the one question of a sort study
PREFERRED = "preferred"  # and of a choice
_WORTH = {"good": 1.0, "okay": 0.5, "bad": 0.0}


@dataclass(frozen=True)
class Rating:
    dialogue: str
    unit: str  # what several raters judged: an item, or one reply of it
    rater: str
    system: str
    question: str
    score: float  # a point of the scale; good 1, okay 0.5, bad 0; won 1, undecided 0.5, lost 0
    category: str
    group: str
    emotion: str | None
    intent: str | None


@dataclass(frozen=True)
class Comparison:
    """Two systems side by side: in a choice, or on one page."""

    dialogue: str
    rater: str
    a: str
    b: str
    score: float  # how much a won: 1, 0.5, 0
    both_bad: bool = False


def questions_of(study: Study) -> tuple[str, ...]:
    return {"sort": (AREA,), "choose": (PREFERRED,)}.get(
        study.kind, tuple(one.name for one in study.questions)
    )


def scale_of(study: Study, question: str) -> tuple[float, float]:
    for one in study.questions:
        if one.name == question:
            return float(one.low), float(one.high)
    return 0.0, 1.0


def ratings_of(study: Study, works: Sequence[Work]) -> list[Rating]:
    return [
        one
        for work in works
        for answer in work.answers
        if not answer.attention
        for one in _ratings(study, work, answer)
    ]


def _ratings(study: Study, work: Work, answer: Judged) -> Iterator[Rating]:
    for system, question, score, category in _scored(study, answer):
        item = answer.item
        unit = item.name if study.kind == "choose" else f"{item.name}|{system}"
        yield Rating(
            item.dialogue,
            unit,
            work.rater,
            system,
            question,
            score,
            category,
            item.group,
            item.emotion,
            item.labels.get(system),
        )


def _scored(study: Study, answer: Judged) -> Iterator[tuple[str, str, float, str]]:
    if study.kind == "likert":
        for system, scores in answer.value["scores"].items():
            for question, score in scores.items():
                yield system, question, float(score), str(score)
    elif study.kind == "sort":
        for system, area in answer.value["areas"].items():
            yield system, AREA, _WORTH[area], area
    else:
        winner = answer.value["winner"]
        for system in answer.order:
            yield system, PREFERRED, 0.5 if winner.startswith(":") else float(winner == system), winner


def comparisons_of(study: Study, works: Sequence[Work]) -> list[Comparison]:
    """Who was put above whom: by choice; or by what stands on one page, where replies are judged beside each other."""
    found = []
    for work in works:
        for answer in work.answers:
            if answer.attention:
                continue
            if study.kind == "choose":
                a, b = sorted(answer.order)
                winner = answer.value["winner"]
                score = 0.5 if winner.startswith(":") else float(winner == a)
                found.append(Comparison(answer.item.dialogue, work.rater, a, b, score, winner == ":bad"))
                continue
            totals: dict[str, float] = {}
            for system, _, score, _ in _scored(study, answer):
                totals[system] = totals.get(system, 0.0) + score
            names = sorted(totals)
            for i, a in enumerate(names):
                for b in names[i + 1 :]:
                    score = 0.5 + 0.5 * ((totals[a] > totals[b]) - (totals[a] < totals[b]))
                    found.append(Comparison(answer.item.dialogue, work.rater, a, b, score))
    return found


def text_of(item: Item, system: str) -> str:
    return item.replies.get(system, item.reference or "")
