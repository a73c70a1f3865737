"""Heartfelt's own talks: short, kind replies, labelled with what they do, and small talk answered plainly.

Source: written for Heartfelt by language models after a guide of ours; they come with the package
Licence: Apache-2.0, as Heartfelt itself
Fields: `@ emotion` (one of 32, or `-` for small talk) opens a talk; `>` the speaker, `< [label]` the listener. Lines
with `= [label]` are alternative replies to the last turn before them: one dialogue each. Splits by a hash of the first
turn: a tenth is valid.
Known faults: one kind of author, and no person has rated them; the emotion is the one that was asked for.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from heartfelt.corpora.corpus import Corpus, blocks
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import MissingData
from heartfelt.files import Faults
from heartfelt.labels import EMOTIONS, INTENTS, NEUTRAL
from heartfelt.text import normalized

_LABELS = (*INTENTS, NEUTRAL)
_SAID = re.compile(r"([<=]) \[(\w+)\] (.+)")


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise MissingData(f"There are no talks (.txt) in {folder}")
    for path in paths:
        for number, talk in blocks(path, faults):
            found = _dialogues(f"{path.stem}-{number}", talk)
            if not found:
                faults.add(
                    path, number, "a talk is: @ emotion, > message, < [label] reply or = [label] replies"
                )
            elif (crc32(normalized(found[0].turns[0].text).encode()) % 10 == 0) == (split == "valid"):
                yield from found


def _dialogues(name: str, talk: list[str]) -> list[Dialogue]:
    """The one dialogue of a talk, or one for each alternative reply; none where it is not as it should be."""
    head = talk[0].removeprefix("@").strip()
    if not talk[0].startswith("@") or head not in (*EMOTIONS, "-"):
        return []
    turns: list[Turn] = []
    alternatives: list[Turn] = []
    for line in talk[1:]:
        said = _SAID.fullmatch(line)
        turn = Turn(SPEAKER, line[1:].strip()) if line.startswith("> ") else None
        if said and said[2] in _LABELS:
            turn = Turn(LISTENER, said[3].strip(), said[2])
        role = SPEAKER if len(turns) % 2 == 0 else LISTENER
        if turn is None or turn.speaker != role or (alternatives and not (said and said[1] == "=")):
            return []
        (alternatives if said and said[1] == "=" else turns).append(turn)
    if not turns or (turns[-1].speaker == SPEAKER) != bool(alternatives):
        return []
    made = [(*turns, turn) for turn in alternatives] or [tuple(turns)]
    emotion = None if head == "-" else head
    ids = [name] if len(made) == 1 else [f"{name}-{i}" for i in range(1, len(made) + 1)]
    return [
        Dialogue(id_, said, emotion=emotion, source=CORPUS.name) for id_, said in zip(ids, made, strict=True)
    ]


SHIPPED = Path(__file__).parents[1] / "assets" / "talks"

CORPUS = Corpus(
    name="heartfelt_talks",
    about=__doc__,
    read=read,
    folder="heartfelt_talks",
    shows="*.txt",
    splits=("train", "valid"),
    labels=_LABELS,
    shipped=SHIPPED,
)
