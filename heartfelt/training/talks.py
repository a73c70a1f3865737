"""What a language model learns from: whole dialogues whose listener turns it should say.

A task here gives `Talk`s by split: train has one a dialogue, all its listener turns at once; valid and test have one a
reply. ED's turns come with labels (EmpatheticIntents); a listener turn's label is
the reply's plan.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from heartfelt import corpora
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn, examples
from heartfelt.files import Faults
from heartfelt.labels import NEUTRAL
from heartfelt.training.small_talk import daily_dialogues, small_talk

_COPIES = 6  # about as many as there are others
LONGEST = 4  # turns: DailyDialog's are long, and two plain answers teach what four would


class Talk(NamedTuple):
    dialogue: Dialogue
    replies: tuple[int, ...]  # the turns that are learned or scored

    @property
    def id(self) -> str:
        return f"{self.dialogue.id}:{self.replies[-1]}"


@dataclass(frozen=True)
class TalkTask:
    name: str
    what: str
    read: Callable[[str, Path | None], Iterator[Talk]]  # split, data folder


def empathetic(split: str, data: Path | None) -> Iterator[Talk]:
    for dialogue in corpora.load("empathetic_intents", split, data=data, faults=Faults()):
        replies = tuple(example.index for example in examples(dialogue, window=None))
        if split == "train" and replies:
            yield Talk(dialogue, replies)
        elif replies:
            yield from (Talk(dialogue, (reply,)) for reply in replies)


def with_small_talk(split: str, data: Path | None) -> Iterator[Talk]:
    """Empathetic talks, and plain ones so that small talk is answered plainly; scored on the empathetic ones alone."""
    yield from empathetic(split, data)
    if split != "train":
        return
    for dialogue in small_talk("train", data):
        yield _plain(dialogue)
    for dialogue in daily_dialogues("train", data):
        if all(turn.label == "none" for turn in dialogue.turns) and len(dialogue.turns) > 1:
            yield _plain(dialogue)


def _plain(dialogue: Dialogue) -> Talk:
    """The same with roles, and "neutral" as the plan of each reply."""
    turns = [
        Turn(SPEAKER, turn.text) if i % 2 == 0 else Turn(LISTENER, turn.text, NEUTRAL)
        for i, turn in enumerate(dialogue.turns[:LONGEST])
    ]
    replies = tuple(range(1, len(turns), 2))
    return Talk(Dialogue(dialogue.id, tuple(turns), source=dialogue.source), replies)


def with_ours(split: str, data: Path | None) -> Iterator[Talk]:
    """All of these, and our own talks several times over: there are few of them, and they are as we want replies."""
    yield from with_small_talk(split, data)
    if split != "train":
        return
    for dialogue in corpora.load("heartfelt_talks", "train", data=data):
        replies = tuple(example.index for example in examples(dialogue, window=None))
        for copy in range(_COPIES):  # under names of their own: what is left open of each differs
            yield Talk(msgspec.structs.replace(dialogue, id=f"{dialogue.id}:{copy}"), replies)


TALKS: dict[str, TalkTask] = {
    task.name: task
    for task in (
        TalkTask("replies", "what a listener says next", empathetic),
        TalkTask("replies_and_small_talk", "the same, with small talk to learn from", with_small_talk),
        TalkTask("replies_and_ours", "the same, with our own talks to learn from too", with_ours),
    )
}
