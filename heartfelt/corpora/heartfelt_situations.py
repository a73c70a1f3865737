"""Heartfelt's own situations: what people write when something happened, and replies that fit any of them.

Source: written for Heartfelt by language models after a guide of ours; they come with the package
Licence: Apache-2.0, as Heartfelt itself
Fields: `@ emotion | situation` (one of 32, or `-` for small talk) opens a situation; `>` a message of somebody who is
in it, after `<` where it answers something the listener said; `~` one that tells it otherwise, to learn and test by
alone; `= [label]` a reply that fits every one of the messages.
As dialogues: every reply once, after one of the messages. Splits by a hash of the situation: a tenth is valid.
Known faults: one kind of author, and no person has rated them; the emotion is the one that was asked for.
"""

import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from zlib import crc32

from heartfelt.corpora.corpus import Corpus, blocks
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn, Value
from heartfelt.errors import MissingData
from heartfelt.files import Faults
from heartfelt.labels import EMOTIONS, INTENTS, NEUTRAL

LABELS = (*INTENTS, NEUTRAL)
_HEAD = re.compile(r"@ (\S+) \| (.+)")
_REPLY = re.compile(r"= \[(\w+)\] (.+)")
_FORM = (
    "a situation is: @ emotion | what it is, > messages (with < before, where they answer; ~ told otherwise), "
    "= [label] replies"
)


class Situation(Value, frozen=True):
    """Something that many people meet with: how they tell it, and what can be said to any of them."""

    name: str
    emotion: str | None  # one of the 32; None: small talk
    messages: tuple[tuple[Turn, ...], ...]  # each a turn, or the listener's turn and its answer
    replies: tuple[Turn, ...]
    otherwise: tuple[tuple[Turn, ...], ...] = ()  # further messages, by which it is not found


def situations(folder: Path, faults: Faults) -> Iterator[Situation]:
    """All situations of a folder's text files; what is not one is a fault, and is left out."""
    paths = sorted(folder.rglob("*.txt"))
    if not paths:
        raise MissingData(f"There are no situations (.txt) in {folder}")
    for path in paths:
        for number, block in blocks(path, faults):
            if found := _situation(block):
                yield found
            else:
                faults.add(path, number, _FORM)


def _situation(block: list[str]) -> Situation | None:
    head = _HEAD.fullmatch(block[0])
    if not head or head[1] not in (*EMOTIONS, "-"):
        return None
    messages: dict[str, list[tuple[Turn, ...]]] = {">": [], "~": []}
    replies: list[Turn] = []
    before: tuple[Turn, ...] = ()
    for line in block[1:]:
        mark, text = line[0], line[1:].strip()
        said = _REPLY.fullmatch(line)
        if mark == "<" and text and not before and not replies:
            before = (Turn(LISTENER, text),)
        elif mark in messages and text and not replies:
            messages[mark].append((*before, Turn(SPEAKER, text)))
            before = ()
        elif said and said[1] in LABELS and not before:
            replies.append(Turn(LISTENER, said[2].strip(), said[1]))
        else:
            return None
    if not messages[">"] or not replies:
        return None
    emotion = None if head[1] == "-" else head[1]
    return Situation(head[2].strip(), emotion, tuple(messages[">"]), tuple(replies), tuple(messages["~"]))


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    for number, found in enumerate(situations(folder, faults), 1):
        if (crc32(found.name.encode()) % 10 == 0) == (split == "valid"):
            for place, (message, reply) in enumerate(
                zip(cycle(found.messages), found.replies, strict=False), 1
            ):
                yield Dialogue(
                    f"{number}-{place}",
                    (*message, reply),
                    emotion=found.emotion,
                    source=CORPUS.name,
                    meta={"about": found.name},
                )


SHIPPED = Path(__file__).parents[1] / "assets" / "situations"

CORPUS = Corpus(
    name="heartfelt_situations",
    about=__doc__,
    read=read,
    folder="heartfelt_situations",
    shows="**/*.txt",
    splits=("train", "valid"),
    labels=LABELS,
    shipped=SHIPPED,
)
