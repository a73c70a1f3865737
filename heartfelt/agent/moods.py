"""Replies by mood: what can be said where it is heard how somebody feels, and not what happened.

A small model that writes takes up single words, and asks "What did you do?" of someone who is ashamed. An opening and
what may follow it, both written for the mood, are kinder; put together they are many. heartfelt/assets/moods:

    @ lonely
    = [acknowledging] It's hard to carry something like that all by yourself.
    + [questioning] When does it weigh on you the most?

`@` a mood: one of the 32 emotions; unsure, where it may be glad or sad; plain and plain question, for small talk; and
with "later", for what comes later in a talk, a group of emotions in place of one. `=` an opening. `+` what may follow
each opening of its mood.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random

from heartfelt.agent.listen import SMALL_TALK, Heard
from heartfelt.corpora.corpus import blocks
from heartfelt.corpora.heartfelt_situations import LABELS
from heartfelt.dialogue import LISTENER, Candidate, Dialogue, Turn, Value
from heartfelt.files import Faults
from heartfelt.labels import EMOTIONS, GROUPS, group_of
from heartfelt.text import same_key, sentences

SHIPPED = Path(__file__).parents[1] / "assets" / "moods"
UNSURE, PLAIN, QUESTION, LATER = "unsure", "plain", "plain question", " later"
NAMES = (
    *(*EMOTIONS, UNSURE, PLAIN, QUESTION),
    *(f"{name}{LATER}" for name in (*GROUPS, UNSURE, PLAIN, QUESTION)),
)
EITHER = ("sentimental", "nostalgic", "surprised")  # glad and sad at once, or one of the two
SORRY = tuple(one for group in ("sadness", "anger", "fear") for one in GROUPS[group])
GLAD = tuple(one for one in EMOTIONS if one not in (*SORRY, *EITHER))
SURE = 0.7  # the share of one side, of both, from which on it is taken for what was meant
SURE_LATER = 0.55  # the same within a talk: who is still unsure then has not listened
HEARD = 0.2  # and an emotion's chance, from which on it is named by a first message
COUNT = 4  # replies to choose among
ALONE = 0.05  # share of openings that nothing follows
_ASKS = re.compile(
    r"\?\W*$|^(?:(?:and|so|but|ok|okay|please|hey|by the way|anyway)\W+)*"
    r"(?:what|who|whom|whose|which|when|where|why|how|can|could|do|does"
    r"|did|is|are|will|would|should|have|has|tell me|name|explain|give me|show me|recommend|suggest)\b",
    re.IGNORECASE,
)
_LINE = re.compile(r"([=+]) \[(\w+)\] (.+)")
_FORM = "a mood is: @ its name, = [label] openings, + [label] what may follow them"


class Mood(Value, frozen=True):
    name: str
    openings: tuple[Turn, ...]
    more: tuple[Turn, ...]


class Moods:
    name = "heartfelt-moods"
    languages = ("en",)

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._folder = folder

    @cached_property
    def moods(self) -> dict[str, Mood]:
        faults = Faults(strict=True, hint="")
        found: dict[str, Mood] = {}
        for path in sorted(self._folder.glob("*.txt")):
            for number, block in blocks(path, faults):
                mood = _mood(block)
                if mood and mood.name not in found:
                    found[mood.name] = mood
                else:
                    faults.add(path, number, _FORM if not mood else f"{mood.name} is there twice")
        return found

    def say(
        self,
        dialogue: Dialogue,
        felt: Heard,
        plans: Mapping[str, float],
        draw: Random,
        emotion: str | None = None,
        count: int = COUNT,
    ) -> list[Candidate]:
        """So many replies for the mood that was heard, by chance. plans: label → how wanted it is; what is not wanted
        at all is not said, nor what was said before. emotion: how somebody says to feel."""
        mood = self.moods.get(mood_of(dialogue, felt, emotion))
        if not mood:
            return []
        said = {same_key(part) for turn in dialogue.turns for part in sentences(turn.text)}
        openings, more = (
            [part for part in parts if plans.get(part.label or "", 0.0) > 0 and not said & _keys(part.text)]
            for parts in (mood.openings, mood.more)
        )
        return [
            Candidate(text, {"mood": 1.0}, mood.name)
            for text in dict.fromkeys(_put_together(openings, more, draw) for _ in range(count))
            if text
        ]


def mood_of(dialogue: Dialogue, felt: Heard, emotion: str | None = None) -> str:
    """The name of what was heard."""
    later = any(turn.speaker == LISTENER for turn in dialogue.turns)
    if not emotion:
        if felt.neutral > SMALL_TALK or not felt.emotion:
            return (QUESTION if _asks(dialogue.turns[-1].text) else PLAIN) + LATER * later
        emotion = _likeliest(felt, EMOTIONS)
        if not later and felt.emotion.get(emotion, 0.0) < HEARD:
            return UNSURE
        if emotion not in EITHER:
            glad, sorry = (sum(felt.emotion.get(one, 0.0) for one in side) for side in (GLAD, SORRY))
            if max(glad, sorry) < (SURE_LATER if later else SURE) * (glad + sorry):
                return UNSURE + LATER * later
            emotion = _likeliest(felt, GLAD if glad > sorry else SORRY)
    return group_of(emotion) + LATER if later else emotion


def _asks(text: str) -> bool:
    """Does its last sentence ask for something?"""
    parts = sentences(text)
    return bool(parts and _ASKS.search(parts[-1]))


def _likeliest(felt: Heard, emotions: Sequence[str]) -> str:
    return max(emotions, key=lambda name: felt.emotion.get(name, 0.0))


def _put_together(openings: Sequence[Turn], more: Sequence[Turn], draw: Random) -> str:
    first = draw.choice(openings).text if openings else ""
    then = draw.choice(more).text if more and (not openings or draw.random() >= ALONE) else ""
    return f"{first} {then}".strip()


def _keys(text: str) -> set[str]:
    return {same_key(part) for part in sentences(text)}


def _mood(block: list[str]) -> Mood | None:
    lines = [_LINE.fullmatch(line) for line in block[1:]]
    found = [line for line in lines if line and line[2] in LABELS]
    name = block[0].removeprefix("@ ").strip()
    if name not in NAMES or block[0][:2] != "@ " or len(found) < len(lines):
        return None
    openings, more = (
        tuple(Turn(LISTENER, line[3].strip(), line[2]) for line in found if line[1] == mark) for mark in "=+"
    )
    return Mood(name, openings, more) if openings and more else None
