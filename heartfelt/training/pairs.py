"""What a retrieval model learns from: what was said, and what was answered to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from heartfelt import corpora
from heartfelt.dialogue import Turn, examples
from heartfelt.files import Faults
from heartfelt.labels import EMOTIONS


class Pair(NamedTuple):
    dialogue: str
    turn: int  # which one the reply is; (dialogue, turn) names a pair
    context: tuple[Turn, ...]
    reply: str
    labels: Mapping[str, str]  # what a head may learn beside: the speaker's emotion
    context_label: str = ""  # what a classifier puts before each, as words (heartfelt/training/prepend.py)
    reply_label: str = ""


@dataclass(frozen=True)
class PairTask:
    name: str
    what: str
    read: Callable[[str, Path | None], Iterator[Pair]]  # split, data folder


HEADS = {"emotion": EMOTIONS}


def of_listeners(split: str, data: Path | None) -> Iterator[Pair]:
    """ED's listener turns, each with all that was said before it."""
    yield from _empathetic(split, data, "listener")


def of_both(split: str, data: Path | None) -> Iterator[Pair]:
    """In train the speaker's later turns too: they also answer. Scored on listeners' alone."""
    yield from _empathetic(split, data, "both" if split == "train" else "listener")


def _empathetic(split: str, data: Path | None, sides: Literal["listener", "both"]) -> Iterator[Pair]:
    for dialogue in corpora.load("empathetic_dialogues", split, data=data, faults=Faults()):
        labels = {"emotion": dialogue.emotion or ""}
        for example in examples(dialogue, None, sides):
            yield Pair(dialogue.id, example.index, example.context, example.response.text, labels)


def of_daily_talk(split: str, data: Path | None) -> Iterator[Pair]:
    """DailyDialog: every turn answers those before it."""
    for dialogue in corpora.load("dailydialog", split, data=data, faults=Faults()):
        for example in examples(dialogue, None, "both"):
            yield Pair(dialogue.id, example.index, example.context, example.response.text, {})


def of_reddit(split: str, data: Path | None) -> Iterator[Pair]:
    """Reddit's published pairs have no splits: by their comment, one in fifty is kept for valid and one for test."""
    for dialogue in corpora.load("reddit", "all", data=data, faults=Faults()):
        context, reply = dialogue.turns
        place = crc32(context.text.encode()) % 50
        if split == {0: "valid", 1: "test"}.get(place, "train"):
            yield Pair(dialogue.id, 1, (context,), reply.text, {})


PAIRS: dict[str, PairTask] = {
    task.name: task
    for task in (
        PairTask("pairs", "which reply a listener gives", of_listeners),
        PairTask("pairs_of_both", "the same, learned from speakers' later turns too", of_both),
        PairTask("daily_pairs", "what is answered in DailyDialog", of_daily_talk),
        PairTask("reddit_pairs", "what is answered to a Reddit comment", of_reddit),
    )
}
