"""Which situation somebody tells of: messages, each beside the title of its situation, and of others that are near.

For the judge, which reads message and title together. The matcher reads them apart: it knows what is near, and less
well what is right.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from heartfelt.agent.listen import shipped
from heartfelt.agent.situations import Known
from heartfelt.corpora.heartfelt_situations import Situation
from heartfelt.dialogue import Turn

NEAR = 24  # situations that the matcher takes a message for, of which rivals are drawn
RIVALS = 5  # beside the right one


class Named(NamedTuple):
    situation: int
    place: int  # with the situation, the name of the item
    turns: tuple[str, ...]  # what was said, and a title
    right: bool


def named(split: str, known: Known | None = None) -> Iterator[Named]:
    """Every message of a split with its own title and five near ones, the same ones each time.

    Of a situation's messages the last one is kept for valid, which the matcher has not learned from either; of those
    that tell it otherwise the last one is kept for test.
    """
    known = known or Known(shipped())
    told = [
        (number, place, message)
        for number, one in enumerate(known.situations)
        for place, message in _messages(one, split)
    ]
    nearest = known.nearest([message for _, _, message in told], NEAR + 1)
    for (number, place, message), near in zip(told, nearest, strict=True):
        right, texts = known.situations[number], tuple(turn.text for turn in message)
        rivals = [one for one in near if one is not right]
        chosen = Random(f"{number} {place}").sample(rivals, min(RIVALS, len(rivals)))
        for i, one in enumerate((right, *chosen)):
            yield Named(number, (1 + RIVALS) * place + i, (*texts, one.title), one is right)


def _messages(one: Situation, split: str) -> Iterator[tuple[int, tuple[Turn, ...]]]:
    last, kept = len(one.messages) - 1, len(one.messages) + len(one.otherwise) - 1
    for place, message in enumerate((*one.messages, *one.otherwise)):
        if split == ("valid" if place == last else "test" if place == kept else "train"):
            yield place, message
