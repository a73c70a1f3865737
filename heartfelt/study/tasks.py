"""The kinds of judgement: what a page may post, how it is kept by system, and what it says about each.

A page knows replies by their place only. What is stored names systems, since the order was logged with the batch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from heartfelt.errors import InvalidValue
from heartfelt.study.file import AREAS, HUMAN, Study
from heartfelt.study.items import Item

Json = Any
TIE, BOTH_BAD = (
    "tie",
    "bad",
)  # of a choice, beside the two systems; stored with a colon, which no blind key has
GOOD_ENOUGH = ("good", "okay")  # where a hidden gold reply earns its bonus point (meed2)


@dataclass(frozen=True)
class Task:
    read: Callable[[Study, Sequence[str], Json], Json]  # (study, systems in the order shown, posted) → stored
    show: Callable[[Sequence[str], Json], Json]  # and back, for a rater who returns
    pays_attention: Callable[[Item, Json], bool]
    same: Callable[[Json], Iterator[Any]]  # single judgements, for the filter "the same answer everywhere"


def _list(posted: Json, systems: Sequence[str], what: str) -> list[Any]:
    if not isinstance(posted, list) or len(posted) != len(systems):
        raise InvalidValue(f"An answer has {what} for each of the {len(systems)} replies")
    return posted


def _read_likert(study: Study, systems: Sequence[str], posted: Json) -> Json:
    given = _list(posted, systems, "scores")
    names = [question.name for question in study.questions]
    for scores in given:
        if not isinstance(scores, dict) or sorted(scores) != sorted(names):
            raise InvalidValue(f"Every reply is scored on: {', '.join(names)}")
        for question in study.questions:
            score = scores[question.name]
            if type(score) is not int or not question.low <= score <= question.high:
                raise InvalidValue(f"{question.name} is scored from {question.low} to {question.high}")
    return {"scores": dict(zip(systems, given, strict=True))}


def _read_sort(study: Study, systems: Sequence[str], posted: Json) -> Json:
    given = _list(posted, systems, "an area")
    if any(area not in AREAS for area in given if isinstance(area, str)) or not all(
        isinstance(a, str) for a in given
    ):
        raise InvalidValue(f"Every reply lies in one of: {', '.join(AREAS)}")
    return {"areas": dict(zip(systems, given, strict=True))}


def _read_choose(study: Study, systems: Sequence[str], posted: Json) -> Json:
    if posted in (TIE, BOTH_BAD) and isinstance(posted, str):
        return {"winner": f":{posted}"}
    if type(posted) is not int or not 0 <= posted < len(systems):
        raise InvalidValue(f"A choice is 0, 1, '{TIE}' or '{BOTH_BAD}'")
    return {"winner": systems[posted]}


def _show_choose(systems: Sequence[str], value: Json) -> Json:
    winner = value["winner"]
    return winner[1:] if winner.startswith(":") else list(systems).index(winner)


def _likert_attention(item: Item, value: Json) -> bool:
    return all(
        score == item.expect[reply]
        for reply, scores in value["scores"].items()
        if reply in item.expect
        for score in scores.values()
    )


TASKS: dict[str, Task] = {
    "likert": Task(
        _read_likert,
        lambda systems, value: [value["scores"][system] for system in systems],
        _likert_attention,
        lambda value: (score for scores in value["scores"].values() for score in scores.values()),
    ),
    "sort": Task(
        _read_sort,
        lambda systems, value: [value["areas"][system] for system in systems],
        lambda item, value: all(value["areas"][reply] == area for reply, area in item.expect.items()),
        lambda value: iter(value["areas"].values()),
    ),
    "choose": Task(
        _read_choose,
        _show_choose,
        lambda item, value: item.expect.get(value["winner"]) == "better",
        lambda value: iter(()),  # which side was chosen is known with the order: see quality
    ),
}


def earns_bonus(value: Json) -> bool:
    """The hidden gold reply was put where it belongs."""
    return value["areas"].get(HUMAN) in GOOD_ENOUGH
