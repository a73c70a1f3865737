"""The guard: hears a crisis before anyone answers, and keeps a reply back that is not fit to send.

    guard = Guard(locale="GB")
    verdict = guard.hear(dialogue)               # Verdict("refer", ("crisis: passive suicidal thought",))
    if verdict.action != "pass":
        text = guard.answer(dialogue, verdict)   # warm words, and where to turn
    guard.check(reply)                           # Verdict("replace", ("reply: claims to be human",))

A crisis is found by patterns (what is said outright: crisis-en.yaml, crisis-ar.yaml) or by the ear (what is said
between the lines: the encoder's crisis head). docs/safety.md says how well, and what it cannot do.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Self

from heartfelt.agent import helplines, private
from heartfelt.agent.listen import as_dialogue, shipped
from heartfelt.agent.patterns import FOLDER, Sheet, read_sheet
from heartfelt.dialogue import Dialogue, Value, Verdict
from heartfelt.text import language_of

CARE_TURNS = 3  # so many messages after a crisis are answered with care, whatever they say
HEARD_CARE_TURNS = 1  # and after one that was heard between the lines, where the ear is often wrong
OFF = "guard is off"
IDENTITY = "identity question"
EARLIER = "crisis earlier"
HEARD = "heard between the lines"
# What a story of the past, or a figure of speech, is most often taken for. Of suicide and self-harm the patterns are
# believed.
DOUBTFUL = frozenset({"abuse", "someone else abused", "danger", "danger to others"})


class Answer(Value, frozen=True):
    """What is said for these reasons, in turn; see answers.yaml."""

    reasons: tuple[str, ...]
    en: tuple[str, ...]
    ar: tuple[str, ...]
    helplines: str = ""  # what lines below the answer should be for; none where empty


class Guard:
    def __init__(self, locale: str | None = None, ear: Callable[[str], bool | None] | bool = True) -> None:
        """locale: where the person is ("GB", "ar_EG"); else the environment says, else nobody.
        ear: what hears a crisis where no pattern does (True), and is sure of none where a pattern of abuse or danger
        may have misread a story (False; None: unsure); the shipped encoder, or another one. False: patterns alone."""
        self._on = True
        self._country = helplines.country_of(locale)
        self._ear = ear if callable(ear) else shipped().needs_help if ear else None

    @classmethod
    def off(cls) -> Self:
        """A guard that lets everything pass, and says so in every verdict."""
        guard = cls(ear=False)
        guard._on = False
        return guard

    def hear(self, dialogue: Dialogue) -> Verdict:
        """May the person's last message be answered as usual? Earlier messages count: a crisis is not taken back."""
        if not self._on:
            return Verdict(reasons=(OFF,))
        dialogue = as_dialogue(dialogue)
        *before, now = [turn.text for turn in dialogue.turns if turn.speaker == dialogue.speaker] or [""]
        crisis = [f"crisis: {reason}" for reason in self.crisis(now)]
        if not crisis:
            earlier = (
                reason
                for ago, text in enumerate(reversed(before[-CARE_TURNS:]), 1)
                for reason in self.crisis(text)
                if reason != HEARD or ago <= HEARD_CARE_TURNS
            )
            crisis = [f"{EARLIER}: {reason}" for reason in earlier][:1]
        others = list(sheet("identity").find(now))
        others += [f"toxicity: {reason}" for reason in sheet("toxicity").find(now)]
        return Verdict("refer" if crisis else "replace" if others else "pass", (*crisis, *others))

    def check(self, text: str) -> Verdict:
        """Is this reply fit to send?"""
        if not self._on:
            return Verdict(reasons=(OFF,))
        reasons = tuple(self._unfit(text))
        return Verdict("replace" if reasons else "pass", reasons)

    def answer(self, dialogue: Dialogue, verdict: Verdict) -> str:
        """What to say in place of a reply; with helplines where the verdict refers to them."""
        language = "ar" if language_of(dialogue.turns[-1].text) == "ar" else "en"
        # Another wording each time: as many as were given so far.
        turn = sum(turn.speaker != dialogue.speaker for turn in dialogue.turns)
        parts = []
        for answer in _answers_to(verdict):
            wordings = answer.ar if language == "ar" else answer.en
            parts.append(wordings[turn % len(wordings)])
            if answer.helplines:
                parts.append(helplines.load().show(self._country, answer.helplines, language))
        return "\n\n".join(parts)

    def mask(self, text: str) -> str:
        """The text without private data, for logs. Also when the guard is off."""
        return private.mask(text)

    def crisis(self, text: str) -> list[str]:
        """What sounds like a crisis in a message: the names of the patterns, or what the ear heard."""
        found = {**sheet("crisis-en").find(text), **sheet("crisis-ar").find(text)}
        if self._ear and DOUBTFUL.issuperset(found):
            heard = self._ear(text)
            if heard is False:
                return []
            if heard and not found:
                return [HEARD]
        return list(found)

    def _unfit(self, text: str) -> Iterator[str]:
        if not any(char.isalnum() for char in text):
            yield "reply: empty"
        yield from (f"reply: {reason}" for reason in sheet("reply").find(text))
        yield from (f"reply: toxicity ({reason})" for reason in sheet("toxicity").find(text))
        known = {
            form for contact in helplines.load().contacts() for form in (_number(contact), _link(contact))
        }
        if any(
            (_link(one) if any(map(str.isalpha, one)) else _number(one)) not in known
            for one in private.contacts(text)
        ):
            yield "reply: contact data"


def _number(contact: str) -> str:
    return private.digits(contact)


def _link(contact: str) -> str:
    return contact.lower().removeprefix("https://").removeprefix("www.").rstrip("/")


@cache
def sheet(name: str) -> Sheet:
    return Sheet(FOLDER / f"{name}.yaml")


@cache
def answers() -> tuple[Answer, ...]:
    return read_sheet(FOLDER / "answers.yaml", tuple[Answer, ...])


def _answers_to(verdict: Verdict) -> Iterator[Answer]:
    """An identity question is answered whatever else was said; of the rest, what stands first in answers.yaml."""
    about = [_topics(reason) for reason in verdict.reasons]
    if {IDENTITY} in about:
        yield next(answer for answer in answers() if IDENTITY in answer.reasons)
    rest = {topic for topics in about for topic in topics} - {IDENTITY}
    yield from [answer for answer in answers() if rest.intersection(answer.reasons)][:1]


def _topics(reason: str) -> set[str]:
    """ "crisis: danger" → crisis, danger; but what was a crisis earlier is answered as that alone."""
    first, _, second = reason.partition(": ")
    return {first} if first == EARLIER or not second else {first, second}
