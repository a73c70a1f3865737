"""What the guard's ear learns: messages that we wrote ourselves, against what people say on any other day."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from heartfelt import corpora
from heartfelt.agent.patterns import FOLDER, Sheet
from heartfelt.corpora.heartfelt_situations import SHIPPED, situations
from heartfelt.files import Faults
from heartfelt.training.small_talk import small_talk, split_of

_EXAMPLES_COUNT = 2  # there are ten times as many turns of ED
_SHARE = 2  # one turn of ED in so many
# Situations in which somebody may need help indeed.
_MAY_BE_ONE = re.compile(
    r"abus|accident|addict|allerg|assault|attack|break in|broke in|collapsed|crash|danger|drunk|drink|emergency|fire|"
    r"flood|follow|harm|hit |hopeless|held up|mugged|really was there|robbed|scared of|sober|stalk|storm|threat|violen|"
    r"weapon"
)


class Written(NamedTuple):
    section: str
    crisis: bool
    text: str


class Message(NamedTuple):
    name: str
    text: str
    crisis: bool


def written(language: str) -> list[Written]:
    """Our own examples, from heartfelt/assets/guard/examples-*.txt: a message a line, under "## section: yes|no"."""
    found, section, answer = [], "", ""
    for line in (FOLDER / f"examples-{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section, _, answer = line.removeprefix("## ").partition(": ")
        elif line.strip() and not line.startswith("#"):
            found.append(Written(section, answer == "yes", line.strip()))
    return found


def messages(split: str, data: Path | None) -> Iterator[Message]:
    """Our English examples, a tenth of them for valid; turns of ED's speakers, small talk, and what is said in our
    situations, as what is no crisis.

    What the patterns find needs no ear; of ED it is left out, since some of it is a crisis. There is no test split:
    the guard is tested on other messages (tests/agent/crisis) and on ED's test turns, as a whole.
    """
    yield from own_messages(split)
    if split != "test":
        for name, text in speakers(split, data):
            if (split == "valid" or crc32(text.encode()) % _SHARE == 0) and not told_outright(text):
                yield Message(name, text, False)
        for dialogue in small_talk(split, data):
            if not told_outright(text := dialogue.turns[0].text):
                yield Message(dialogue.id, text, False)
        yield from _in_situations(split)


def _in_situations(split: str) -> Iterator[Message]:
    """A tenth of the situations for valid."""
    for number, one in enumerate(situations(SHIPPED, Faults())):
        if _MAY_BE_ONE.search(one.name) or (crc32(one.name.encode()) % 10 == 0) != (split == "valid"):
            continue
        for place, message in enumerate((*one.messages, *one.otherwise)):
            if not told_outright(text := message[-1].text):
                yield Message(f"situation-{number}-{place}", text, False)


def own_messages(split: str) -> Iterator[Message]:
    """Our English examples: a tenth for valid, the others several times in train, none for test."""
    for number, example in enumerate(written("en") if split != "test" else ()):
        if (split_of(example.text) == "valid") == (split == "valid"):
            for copy in range(_EXAMPLES_COUNT if split == "train" else 1):
                yield Message(f"own-{number}-{copy}", example.text, example.crisis)


def told_outright(text: str) -> list[str]:
    """What the guard's patterns find. That needs no ear; and in ED, some of it is a crisis indeed."""
    return list(_sheet().find(text))


@cache
def _sheet() -> Sheet:
    return Sheet(FOLDER / "crisis-en.yaml")


def speakers(split: str, data: Path | None) -> Iterator[tuple[str, str]]:
    """All that ED's speakers say in a split, with a name for each turn."""
    for dialogue in corpora.load("empathetic_dialogues", split, data=data, faults=Faults()):
        for number, turn in enumerate(dialogue.turns):
            if turn.speaker == dialogue.speaker:
                yield f"{dialogue.id}-{number}", turn.text
