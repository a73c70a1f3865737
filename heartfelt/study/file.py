"""The study file: one YAML that says what is judged, by how many, and in what words. All problems are told at once.

name: listeners
kind: sort
systems: {ours: ours.jsonl, mime: mime.jsonl}
batches: {size: 10, raters: 4}
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import yaml

from heartfelt.errors import HeartfeltError, MissingData
from heartfelt.labels import EMOTIONS
from heartfelt.recipe import fill

KINDS = ("likert", "sort", "choose", "collect")
AREAS = ("good", "okay", "bad")  # meed2's
HUMAN = "human"  # the system whose replies people wrote


class BadStudy(HeartfeltError):
    """A study file with problems: all of them, in one line."""


@dataclass(frozen=True)
class Question:
    """What a reply is rated on."""

    name: str
    ask: str
    low: int = 1
    high: int = 5
    labels: tuple[str, ...] = ()  # of the scale's ends, or of every point


@dataclass(frozen=True)
class Batches:
    """What crowd platforms call a HIT; the defaults are meed2's."""

    size: int = 10  # dialogues
    raters: int = 4  # of each item, exactly
    most: int = 50  # batches that one rater may do
    minutes: float = 60.0  # without an answer, after which a batch goes back to the pool


@dataclass(frozen=True)
class Tried:
    """A reply of the warm-up: where it belongs, and what is said when it lies elsewhere."""

    text: str
    area: Literal["good", "okay", "bad"]
    hint: str = ""


@dataclass(frozen=True)
class Warmup:
    context: tuple[str, ...]
    replies: tuple[Tried, ...]


@dataclass(frozen=True)
class Attention:
    """An item whose answer is known: one expectation a reply, null for any.

    likert: the score for every question; sort: the area; choose: "better" for one of the two.
    """

    context: tuple[str, ...]
    replies: tuple[str, ...]
    expect: tuple[int | str | None, ...]


@dataclass(frozen=True)
class SurveyQuestion:
    name: str
    ask: str
    options: tuple[str, ...] = ()  # none: free text
    required: bool = False


@dataclass(frozen=True)
class Quality:
    """Whose answers are left out of the report (meed2, 5.4.2); the report says whose, and why."""

    same: float = 0.95  # "the same answer for almost all dialogs": at least this share
    minutes: float = 5.0  # faster than this for a batch, and fewer checks passed than:
    checks: int = 2  # bonus points and attention items
    every_batch: bool = (
        True  # and, of the rest, batches with fewer checks passed than that, where bonuses are asked
    )


@dataclass(frozen=True)
class Collection:
    """How dialogues are collected; the defaults are EmpatheticDialogues' (rashkin2019, section 3)."""

    emotions: tuple[str, ...] = EMOTIONS
    offered: int = 3  # of the least used, to choose one from
    least_turns: int = 4
    most_turns: int = 8
    partner: Literal["people", "agent", "either"] = "people"  # either: an agent where nobody comes
    wait_seconds: float = 120.0  # for a partner; then an agent comes, or the person may go with a code
    away_seconds: float = 60.0  # to come back to a talk
    turn_minutes: float = 5.0  # to answer


@dataclass(frozen=True)
class Study:
    name: str
    kind: Literal["likert", "sort", "choose", "collect"]
    title: str = ""
    language: Literal["en", "ar"] = "en"  # of the page's own words; ar runs from right to left
    consent: str = ""  # the page's own words where left out
    instructions: str = ""
    access: Literal["open", "crowd", "links"] = (
        "open"  # anybody; with a worker's id; only by links that you made
    )
    worker: str = "worker"  # the address's parameter that carries the id: PROLIFIC_PID, workerId …
    systems: Mapping[str, str] = field(default_factory=dict)  # name → outputs file (heartfelt outputs)
    human: bool = False  # the people's own replies are judged too
    items: str = ""  # or instead: a JSONL file of items of your own
    turns: int | None = None  # so many of the turns that all systems answered, drawn by the seed
    context: int = 4  # turns that are shown before a reply, at the most
    together: bool = False  # likert: all replies to a dialogue on one page
    questions: tuple[Question, ...] = ()
    bonus: int = 0  # sort: dialogues of a batch that hide the people's own reply among the others
    attention: tuple[Attention, ...] = ()
    attention_each: int = 1  # of them, in a batch
    warmup: Warmup | None = None
    batches: Batches = field(default_factory=Batches)
    survey: tuple[SurveyQuestion, ...] = ()
    quality: Quality = field(default_factory=Quality)
    collect: Collection = field(default_factory=Collection)
    effect: float | None = (
        None  # the smallest difference that matters, for the sample size; a tenth of the scale
    )
    database: str = (
        ""  # a file or postgresql://USER@HOST/DATABASE; NAME.db beside the study file where left out
    )
    seed: int = 0

    def fingerprint(self) -> str:
        """What answers depend on: not the wording of the pages, nor the limits."""
        judged = (
            self.name,
            self.kind,
            self.systems,
            self.human,
            self.items,
            self.turns,
            self.context,
            self.together,
        )
        asked = (self.questions, self.bonus, self.attention, self.batches.size, self.seed)
        return hashlib.sha256(msgspec.json.encode((judged, asked))).hexdigest()[:16]


def load(path: Path | str) -> Study:
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise MissingData(
            f"The study {path} cannot be read: {problem.strerror}; heartfelt study new NAME makes one"
        ) from None
    except UnicodeDecodeError:
        raise BadStudy(f"{path} is not UTF-8 text") from None
    return parse(text, str(path))


def parse(text: str, where: str = "study") -> Study:
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as problem:
        raise BadStudy(f"{where} is not YAML: {' '.join(str(problem).split())}") from None
    if not isinstance(values, dict):
        raise BadStudy(f"{where} should be a mapping with name, kind and more")
    study, problems = fill(Study, cast(Mapping[str, Any], values))
    if study is not None:
        problems = list(_problems(study))
    if problems or study is None:
        raise BadStudy(f"{where}: {'; '.join(problems)}")
    return study


def _problems(study: Study) -> Iterator[str]:
    """What is wrong beyond types."""
    if not re.fullmatch(r"[\w.-]{1,60}", study.name):
        yield f"name: '{study.name[:60]}' is not made of letters, digits, '.', '-' and '_'"
    for name in ("size", "raters", "most", "minutes"):
        if not getattr(study.batches, name) > 0:
            yield f"batches.{name} is above 0, not {getattr(study.batches, name)}"
    if len({one.name for one in study.survey}) < len(study.survey):
        yield "survey: two questions have one name"
    if study.context < 1:
        yield f"context shows at least one turn, not {study.context}"
    if not 0 < study.quality.same <= 1:
        yield f"quality.same is a share, not {study.quality.same}"
    if study.effect is not None and not 0 < study.effect < 1_000:
        yield f"effect is above 0, not {study.effect}"
    yield from _collection(study) if study.kind == "collect" else _rating(study)


def _rating(study: Study) -> Iterator[str]:
    if bool(study.systems) == bool(study.items):
        yield "give either systems (name: outputs file) or items (a JSONL file)"
    if study.turns is not None and study.turns < 1:
        yield f"turns is at least 1, not {study.turns}"
    if HUMAN in study.systems:
        yield f"no system is named '{HUMAN}': that is what human: true adds"
    needed = {"likert": 1, "sort": 2, "choose": 2}[study.kind]
    if study.systems and len(study.systems) + study.human < needed:
        yield f"{study.kind} compares {needed} systems at least"
    if study.kind == "likert" and not study.questions:
        yield "likert needs questions (name, ask, low, high)"
    if study.kind != "likert" and (study.questions or study.together):
        yield f"questions and together belong to likert, not to {study.kind}"
    if len({one.name for one in study.questions}) < len(study.questions):
        yield "questions: two have one name"
    for question in study.questions:
        points = question.high - question.low + 1
        if not 2 <= points <= 11:
            yield f"question {question.name}: a scale has 2 to 11 points, not {points}"
        elif len(question.labels) not in (0, 2, points):
            yield f"question {question.name}: labels for both ends, or for all {points} points"
    if study.kind != "sort" and (study.bonus or study.warmup):
        yield f"bonus and warmup belong to sort, not to {study.kind}"
    if study.bonus and study.human:
        yield "bonus hides the people's replies, human: true shows them always: have one of the two"
    if not 0 <= study.bonus <= study.batches.size:
        yield f"bonus: a batch of {study.batches.size} cannot have {study.bonus}"
    if study.attention_each < 0:
        yield "attention_each is not below 0"
    for number, item in enumerate(study.attention):
        yield from (f"attention[{number}]: {what}" for what in _expected(study, item))


def _expected(study: Study, item: Attention) -> Iterator[str]:
    if not item.context or not item.replies or not all((*item.context, *item.replies)):
        yield "context and replies have text"
    if len(item.expect) != len(item.replies) or not any(one is not None for one in item.expect):
        yield "expect has one value a reply (null for any), and one of them is given"
    known: set[Any] = {None}
    if study.kind == "likert":
        known |= (
            set.intersection(*(set(range(one.low, one.high + 1)) for one in study.questions))
            if study.questions
            else set()
        )
    else:
        known |= set(AREAS) if study.kind == "sort" else {"better"}
    if odd := [one for one in item.expect if one not in known]:
        yield f"{odd[0]} cannot be answered in a {study.kind} study"
    if study.kind == "choose" and (len(item.replies) != 2 or item.expect.count("better") != 1):
        yield "choose shows two replies, one of which is better"


def _collection(study: Study) -> Iterator[str]:
    own = study.collect
    if study.systems or study.items or study.questions or study.attention:
        yield "collect takes no systems, items, questions or attention"
    if odd := [one for one in own.emotions if one not in EMOTIONS]:
        yield f"collect.emotions: '{odd[0]}' is none of the {len(EMOTIONS)}"
    if not 1 <= own.offered <= len(set(own.emotions)):
        yield f"collect.offered: {own.offered} of {len(set(own.emotions))} emotions cannot be offered"
    if not 2 <= own.least_turns <= own.most_turns:
        turns = f"({own.least_turns}, {own.most_turns})"
        yield f"a talk has 2 turns at least, and least_turns is not above most_turns {turns}"
    for name in ("wait_seconds", "away_seconds", "turn_minutes"):
        if not getattr(own, name) > 0:
            yield f"collect.{name} is above 0"
