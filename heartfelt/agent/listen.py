"""Recognise and plan: one run of the encoder says how a person feels, what a reply should do, and whether to be plain.

>>> import heartfelt
>>> heard = heartfelt.emotions("I finally got the job!")      # doctest: +SKIP
>>> max(heard.emotion, key=heard.emotion.get)                  # doctest: +SKIP
'excited'
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import field

from heartfelt.agent.encoder import Encoder
from heartfelt.agent.gate import Gate
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn, Value
from heartfelt.errors import InvalidValue, MissingData
from heartfelt.labels import GROUPS, NEUTRAL
from heartfelt.text import language_of, readable, sentences

WINDOW = 8  # turns of context, the most that ED's dialogues have
SMALL_TALK = 0.5  # from this chance on, a message is answered plainly
# A last turn that by itself is small talk as surely as this changes the subject, whatever was told before. In 4 % of
# ED valid's later contexts it would do so too.
NEW_SUBJECT = 0.9
_PART = 240  # characters that fit into the ear's 96 tokens, if they are words
_LONGEST = 10_000  # characters of a message in which a cry for help is heard: as many as the patterns read
ALONE = (
    1.5  # what a sentence by itself must be surer, in logarithm of odds, chosen on ED valid's false alarms
)
CALM = 0.02  # below this chance of a crisis there surely is none
HEADS = ("emotion", "label", "plan", "neutral")  # what an encoder must answer
SHIPPED = Path(str(resources.files("heartfelt"))) / "assets"


class Heard(Value, frozen=True):
    """What was understood of a dialogue's last turn, in its context. Chances add up to one."""

    emotion: dict[str, float] = field(default_factory=dict)  # how the person feels: 32
    group: dict[str, float] = field(default_factory=dict)  # the same by Parrott's six
    label: dict[str, float] = field(
        default_factory=dict
    )  # what the last turn by itself expresses or does: 41
    plan: dict[str, float] = field(default_factory=dict)  # what a good listener's reply would do: 41
    neutral: float = 0.0  # chance that this is small talk, which wants a plain answer
    language: str = "en"

    @property
    def feeling(self) -> str | None:
        """The likeliest emotion; none where this is small talk."""
        if self.neutral > SMALL_TALK or not self.emotion:
            return None
        return max(self.emotion, key=lambda name: self.emotion[name])


class Listener:
    """The shipped encoder, or another exported one, over dialogues."""

    def __init__(
        self,
        folder: Path = SHIPPED / "encoder",
        ear: Path | None = SHIPPED / "ear",
        matcher: Path | None = None,
    ) -> None:
        """ear: who hears a crisis; matcher: who knows which reply fits. None: the encoder itself, if it can."""
        self._folder, self._ear_folder, self._matcher_folder = folder, ear, matcher

    @cached_property
    def _encoder(self) -> Encoder:
        if self._folder == SHIPPED / "encoder" and not self._folder.exists():
            raise MissingData(
                "Heartfelt does not ship its encoder yet: train and export one (docs/agent.md), then --encoder FOLDER"
            )
        return Encoder(self._folder)

    @cached_property
    def _ear(self) -> Encoder:
        return Encoder(self._ear_folder) if self._ear_folder else self._encoder

    @cached_property
    def _matcher(self) -> Encoder:
        return Encoder(self._matcher_folder) if self._matcher_folder else self._encoder

    def __call__(self, dialogues: Sequence[Dialogue]) -> list[Heard]:
        arabic = [i for i, dialogue in enumerate(dialogues) if dialogue.language == "ar"]
        english = [i for i, dialogue in enumerate(dialogues) if dialogue.language != "ar"]
        found: dict[int, Heard] = dict(
            zip(english, self._english([dialogues[i] for i in english]), strict=True)
        )
        if arabic:
            plain = arabic_gate()([dialogues[i].turns[-1].text for i in arabic])
            found |= {i: Heard(neutral=p, language="ar") for i, p in zip(arabic, plain, strict=True)}
        return [found[i] for i in range(len(dialogues))]

    def _english(self, dialogues: Sequence[Dialogue]) -> list[Heard]:
        if not dialogues:
            return []
        if missing := [head for head in HEADS if head not in self._encoder.card.heads]:
            raise InvalidValue(
                f"The encoder in {self._folder} does not know {', '.join(missing)}: to listen takes an exported run of "
                "the task listening (docs/agent.md)"
            )
        contexts = [[turn.text for turn in dialogue.turns[-WINDOW:]] for dialogue in dialogues]
        chances, _ = self._encoder(contexts)
        if any(len(context) > 1 for context in contexts):  # a label belongs to a turn, not to its context
            alone, _ = self._encoder([context[-1:] for context in contexts])
            chances["label"] = alone["label"]
            changed = alone["neutral"][:, -1] >= NEW_SUBJECT
            chances["neutral"] = np.where(changed[:, None], alone["neutral"], chances["neutral"])
        rows = {
            head: [dict(zip(self._encoder.card.heads[head], row.tolist(), strict=True)) for row in found]
            for head, found in chances.items()
        }
        return [
            Heard(
                emotion=rows["emotion"][i],
                group=groups(rows["emotion"][i]),
                label=rows["label"][i],
                plan=rows["plan"][i],
                neutral=rows["neutral"][i]["plain"],
            )
            for i in range(len(dialogues))
        ]

    def needs_help(self, text: str) -> bool | None:
        """Does an English message, by itself, sound as if somebody needed help? The guard asks, beside its patterns.

        True: it does; False: surely not; None: not surely either, or nobody who could tell.
        """
        threshold = self.crisis_threshold
        if threshold is None or language_of(text[:_LONGEST]) != "en" or not text.strip():
            return None
        heard = crisis(self._ear, text)
        if heard.chance >= threshold:
            return True
        return False if heard.most < CALM and heard.whole else None

    @property
    def crisis_threshold(self) -> float | None:
        """From which chance on somebody is said to need help; None for an encoder that has not learned to hear it."""
        return self._ear.card.thresholds.get("crisis")

    def plan(self, heard: Heard) -> dict[str, float]:
        """What a reply should do: small talk is answered plainly; else the planner's chances with a part of the prior
        taken away, for the likeliest label is else nearly always one and the same, as among people."""
        plain = heard.neutral if heard.neutral > SMALL_TALK else 0.0
        if not heard.plan:
            return {NEUTRAL: 1.0} if plain else {}
        card = self._encoder.card
        times = dict(zip(card.heads["plan"], card.balance.get("plan", ()), strict=False))
        weighed = {label: chance * times.get(label, 1.0) for label, chance in heard.plan.items()}
        total = sum(weighed.values())
        return {
            label: (1 - plain) * chance / total + (plain if label == NEUTRAL else 0.0)
            for label, chance in weighed.items()
        }

    @property
    def name(self) -> str:
        """Of what makes vectors."""
        folder = self._matcher_folder or self._folder
        return f"heartfelt-{folder.name}" if folder.parent == SHIPPED else folder.name

    @property
    def fingerprint(self) -> str:
        """Of the model: vectors of two must not be mixed."""
        return self._matcher.card.sha256

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> np.ndarray:
        """(talks, size): for retrieval, a vector of what was said."""
        return self.vectors([[turn.text for turn in talk[-WINDOW:]] for talk in talks])

    def replies(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, size): and of what may be answered."""
        return self.vectors([[text] for text in texts], "reply")

    def vectors(
        self, texts: Sequence[Sequence[str]], side: Literal["context", "reply"] = "context"
    ) -> np.ndarray:
        """(texts, size): contexts or replies as vectors of length one: their product says how well they match."""
        _, found = self._matcher(texts, side)
        return _of_length_one(found)

    def labels(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """What each text by itself expresses or does: 41 chances."""
        chances, _ = self._encoder([[text] for text in texts], "reply")
        names = self._encoder.card.heads["label"]
        return [dict(zip(names, row.tolist(), strict=True)) for row in chances["label"]]


class Crisis(NamedTuple):
    """What the ear hears in a message, and in each of its sentences: one that cries for help must not be drowned by
    calm ones, but says less alone than a message does, so it has to be said more surely."""

    chance: float
    most: float  # of any part by itself
    whole: bool  # was all of it read?


def crisis(ear: Encoder, text: str) -> Crisis:
    whole = len(text) <= _LONGEST
    said = text if whole else f"{text[: _LONGEST // 2]} {text[-_LONGEST // 2 :]}"
    parts = {part: ALONE for sentence in sentences(said) for part in _parts(sentence)}
    parts |= dict.fromkeys(_parts(said), 0.0)  # a message of one sentence is a message
    # One at a time: what eight bits make of a text hangs on the texts beside it.
    chances = {part: float(ear([[part]])[0]["crisis"][0, -1]) for part in parts}
    return Crisis(
        max(_less_sure(chances[part], less) for part, less in parts.items()),
        max(chances.values()),
        whole and all(map(ear.reads_whole, parts)),
    )


def _less_sure(chance: float, less: float) -> float:
    """A chance with so much taken off its logarithm of odds."""
    return chance / (chance + (1 - chance) * math.exp(less))


def _parts(text: str) -> list[str]:
    """What is long in overlapping parts that the ear reads whole."""
    return [text[start : start + _PART] for start in range(0, max(1, len(text) - _PART // 4), 3 * _PART // 4)]


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


def groups(emotion: dict[str, float]) -> dict[str, float]:
    return {group: sum(emotion[name] for name in names) for group, names in GROUPS.items()}


def emotions(what: str | Dialogue) -> Heard:
    """How a person feels, by a message or by a dialogue's last turns; by the encoder that Heartfelt ships."""
    return shipped()([as_dialogue(what)])[0]


def as_dialogue(what: str | Dialogue) -> Dialogue:
    """A message, or a dialogue with roles: where it has none, whoever spoke last is the one to be heard."""
    if isinstance(what, Dialogue):
        names = [turn.speaker for turn in reversed(what.turns) if turn.speaker != LISTENER]
        if not names:
            raise InvalidValue(f"In dialogue {what.id} only the listener speaks: there is nobody to hear")
        heard = SPEAKER if SPEAKER in names else names[0]
        turns = (
            Turn(SPEAKER if t.speaker == heard else LISTENER, readable(t.text), t.label) for t in what.turns
        )
        return msgspec.structs.replace(what, turns=tuple(turns))
    if not what.strip():
        raise InvalidValue("There is nothing to listen to: the message is empty")
    return Dialogue("message", (Turn(SPEAKER, readable(what)),), language=language_of(what))


@cache
def shipped() -> Listener:
    return Listener(matcher=SHIPPED / "matcher")


@cache
def arabic_gate() -> Gate:
    return Gate(SHIPPED / "gate-ar")
