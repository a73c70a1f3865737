"""What a retrieval model learns from: what was said, and what was answered to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from heartfelt import corpora
from heartfelt.corpora.heartfelt_situations import SHIPPED, situations
from heartfelt.dialogue import Turn, examples
from heartfelt.files import Faults
from heartfelt.training.small_talk import daily_dialogues
from heartfelt.training.tasks import TASKS, Item


class Pair(NamedTuple):
    dialogue: str
    turn: int  # which one the reply is; (dialogue, turn) names a pair
    context: tuple[Turn, ...]
    reply: str  # empty where only the labels are to be learned
    labels: Mapping[str, str]  # what a head may learn beside, e.g. the speaker's emotion
    context_label: str = ""  # what a classifier puts before each, as words (heartfelt/training/prepend.py)
    reply_label: str = ""
    concepts: str = ""  # what is known of the context: "fear <is a> panic; …"
    group: str = ""  # pairs of one group are right for one another, too


@dataclass(frozen=True)
class PairTask:
    name: str
    what: str
    read: Callable[[str, Path | None], Iterator[Pair]]  # split, data folder
    labelled: str = ""  # the task whose labels may be learned beside, by heads over the contexts

    @property
    def heads(self) -> dict[str, tuple[str, ...]]:
        return TASKS[self.labelled].heads if self.labelled else {}


def of_listeners(split: str, data: Path | None) -> Iterator[Pair]:
    """ED's listener turns, each with all that was said before it."""
    yield from _empathetic(split, data, "listener")


def with_labels(split: str, data: Path | None) -> Iterator[Pair]:
    """The same turns, each with what it expresses or does (EmpatheticIntents), the reply too."""
    for dialogue in corpora.load("empathetic_intents", split, data=data, faults=Faults()):
        for example in examples(dialogue, None):
            labels = {"emotion": dialogue.emotion or "", "plan": example.response.label or ""}
            yield Pair(dialogue.id, example.index, example.context, example.response.text, labels)


def of_both(split: str, data: Path | None) -> Iterator[Pair]:
    """In train the speaker's later turns too: they also answer. Scored on listeners' alone."""
    yield from _empathetic(split, data, "both" if split == "train" else "listener")


def of_both_and_situations(split: str, data: Path | None) -> Iterator[Pair]:
    """In train also each situation as its teller described it, with the first answer that it got."""
    yield from of_both(split, data)
    if split == "train":
        for dialogue in corpora.load("empathetic_dialogues", split, data=data, faults=Faults()):
            first = next(iter(examples(dialogue, None)), None)
            if dialogue.situation and first:
                labels = {"emotion": dialogue.emotion or ""}
                told = (Turn(dialogue.speaker, dialogue.situation),)
                yield Pair(dialogue.id, -first.index, told, first.response.text, labels)


def _empathetic(split: str, data: Path | None, sides: Literal["listener", "both"]) -> Iterator[Pair]:
    for dialogue in corpora.load("empathetic_dialogues", split, data=data, faults=Faults()):
        labels = {"emotion": dialogue.emotion or ""}
        for example in examples(dialogue, None, sides):
            yield Pair(dialogue.id, example.index, example.context, example.response.text, labels)


def of_daily_talk(split: str, data: Path | None) -> Iterator[Pair]:
    """DailyDialog: every turn answers those before it. What begins in valid or test as in train is left out."""
    for dialogue in daily_dialogues(split, data):
        for example in examples(dialogue, None, "both"):
            yield Pair(dialogue.id, example.index, example.context, example.response.text, {})


def of_reddit(split: str, data: Path | None) -> Iterator[Pair]:
    """Reddit's published pairs have no splits: by their comment, one in fifty is kept for valid and one for test."""
    for dialogue in corpora.load("reddit", "all", data=data, faults=Faults()):
        context, reply = dialogue.turns
        place = crc32(context.text.encode()) % 50
        if split == {0: "valid", 1: "test"}.get(place, "train"):
            yield Pair(dialogue.id, 1, (context,), reply.text, {})


def of_the_shipped_encoder(split: str, data: Path | None) -> Iterator[Pair]:
    """All that the shipped encoder learns to label, with the reply where there was one; scored on ED's replies."""
    replies = {(pair.dialogue, pair.turn): pair.reply for pair in of_listeners(split, data)}
    for item in TASKS["listening"].read(split, data):
        # A situation has the dialogue's name and turn 0, which answers nothing.
        reply = replies.get((item.dialogue, item.turn), "")
        if reply or (split == "train" and _is_kept(item)):
            yield Pair(item.dialogue, item.turn, item.context, reply, item.labels)


def _is_kept(item: Item) -> bool:
    """Of what has no reply, our own messages once and a third of the rest: replies are what is to be learned."""
    if item.dialogue.startswith("own-"):
        return item.dialogue.endswith("-0")
    return crc32(f"{item.dialogue} {item.text}".encode()) % 3 == 0


def of_situations(split: str, data: Path | None) -> Iterator[Pair]:
    """Our situations and talks beside half of ED's replies: which situation is somebody in, and what fits there?

    Each situation's last message is kept for valid; scored on ED's replies.
    """
    yield from _situations(split, data, 2)


def of_situations_mostly(split: str, data: Path | None) -> Iterator[Pair]:
    """The same with an eighth of ED's replies, so that they are not forgotten."""
    yield from _situations(split, data, 8)


def _situations(split: str, data: Path | None, one_of: int) -> Iterator[Pair]:
    if split == "train":
        for pair in of_listeners(split, data):
            if crc32(f"{pair.dialogue} {pair.turn}".encode()) % one_of == 1:
                yield pair
        for talk in corpora.load("heartfelt_talks", split):
            for example in examples(talk, None):
                labels = {"emotion": talk.emotion or ""}
                yield Pair(talk.id, example.index, example.context, example.response.text, labels)
    else:
        yield from islice(of_listeners(split, data), 1000 if split == "valid" else None)
    if split == "test":
        return
    for number, one in enumerate(situations(SHIPPED, Faults())):
        kept = len(one.messages) - 1
        for place, message in enumerate(one.messages):
            if (place == kept) != (split == "valid"):
                continue
            for i in range(REPLIES_A_MESSAGE if split == "train" else 1):
                reply = one.replies[(3 * place + i) % len(one.replies)]
                labels = {"emotion": one.emotion or ""}
                yield Pair(
                    f"situation-{number}",
                    10 * place + i,
                    message,
                    reply.text,
                    labels,
                    group=f"{number} {one.name}",
                )


REPLIES_A_MESSAGE = 4  # of a situation that are learned with each of its messages

PAIRS: dict[str, PairTask] = {
    task.name: task
    for task in (
        PairTask("pairs", "which reply a listener gives", of_listeners, "contexts"),
        PairTask("pairs_of_both", "the same, learned from speakers' later turns too", of_both, "contexts"),
        PairTask(
            "pairs_of_all",
            "the same, and from situations with their first answer",
            of_both_and_situations,
            "contexts",
        ),
        PairTask(
            "listening_pairs",
            "which reply a listener gives, and all that the shipped encoder labels",
            of_the_shipped_encoder,
            "listening",
        ),
        PairTask("situation_pairs", "what fits somebody who is in a situation", of_situations, "contexts"),
        PairTask(
            "situation_pairs_mostly", "the same, with fewer of ED's replies", of_situations_mostly, "contexts"
        ),
        PairTask("answers", "what a listener says, and what it does", with_labels, "contexts"),
        PairTask("daily_pairs", "what is answered in DailyDialog", of_daily_talk),
        PairTask("reddit_pairs", "what is answered to a Reddit comment", of_reddit),
    )
}
