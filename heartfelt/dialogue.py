"""The nouns that travel through Heartfelt: Turn, Dialogue, Reply. Frozen values, JSON both ways.

>>> hello = Dialogue("d1", (Turn("speaker", "I got the job!"), Turn("listener", "Congratulations!")))
>>> Dialogue.from_json(hello.to_json()) == hello
True
"""

from collections.abc import Iterator
from html import escape
from typing import Any, Literal, Self

import msgspec

from heartfelt.errors import InvalidValue
from heartfelt.labels import EMOTIONS

# EmpatheticDialogues' two roles. A corpus without roles keeps its own names; see Dialogue.speaker.
SPEAKER = "speaker"
LISTENER = "listener"


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"


class Value(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the nouns share: one JSON object a value, defaults left out, unknown fields refused."""

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise InvalidValue(f"not {_a(cls.__name__)}: {problem}") from None

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        try:
            return msgspec.convert(fields, type=cls)
        except msgspec.MsgspecError as problem:
            raise InvalidValue(f"not {_a(cls.__name__)}: {problem}") from None


class Turn(Value, frozen=True):
    """What one person says before the other answers."""

    speaker: str  # a role ("speaker", "listener") or the corpus's own name for the person
    text: str
    label: str | None = None  # what the turn expresses, in the corpus's own label set

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidValue("a turn has no text")
        if not self.speaker.strip():
            raise InvalidValue("a turn has no speaker")


class Dialogue(Value, frozen=True):
    """A conversation: who said what, and what is known about it."""

    id: str  # stable: the same dialogue has the same id in every session
    turns: tuple[Turn, ...]
    emotion: str | None = None  # how the speaker felt, one of the 32
    situation: str | None = None  # what the speaker wrote about it before the conversation
    language: str = "en"
    source: str | None = None  # the corpus it came from
    meta: dict[str, Any] = {}  # what only this corpus knows: topic, votes, levels…

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise InvalidValue("a dialogue has no id")
        if not self.turns:
            raise InvalidValue(f"dialogue {self.id} has no turns")
        if self.emotion is not None and self.emotion not in EMOTIONS:
            raise InvalidValue(
                f"the emotion of {self.id} is '{self.emotion}', not one of the {len(EMOTIONS)}"
            )

    def __hash__(self) -> int:  # meta is a dict, which does not hash
        return hash(self.id)

    @property
    def speaker(self) -> str:
        """Whose story it is: "speaker" where turns carry roles, or else whoever opens; all others listen."""
        roles = any(turn.speaker in (SPEAKER, LISTENER) for turn in self.turns)
        return SPEAKER if roles else self.turns[0].speaker


class Example(Value, frozen=True):
    """One thing to learn: given these turns, say this one."""

    dialogue: Dialogue
    index: int  # which turn of the dialogue the response is; (dialogue id, index) names an example
    context: tuple[Turn, ...]
    response: Turn


def examples(
    dialogue: Dialogue, window: int | None = 4, sides: Literal["listener", "both"] = "listener"
) -> Iterator[Example]:
    """Every (context, response) of a dialogue, in order.

    window: how many turns of context at the most; four in rashkin2019; None for all.
    sides: whose turns are responses. Published figures differ in this, so say which you used.
    """
    if window is not None and window < 1:
        raise InvalidValue(f"a context window holds at least one turn, not {window}")
    if sides not in ("listener", "both"):
        raise InvalidValue(f"sides is 'listener' or 'both', not '{sides}'")
    speaker = dialogue.speaker
    for index in range(1, len(dialogue.turns)):
        response = dialogue.turns[index]
        if sides == "listener" and response.speaker == speaker:
            continue
        first = 0 if window is None else max(0, index - window)
        yield Example(dialogue, index, dialogue.turns[first:index], response)


class Concept(Value, frozen=True):
    """A piece of commonsense that bears on the conversation: keyword —relation→ concept."""

    keyword: str
    relation: str
    concept: str
    score: float


class Candidate(Value, frozen=True):
    """A reply that was considered, and how it scored on each count."""

    text: str
    scores: dict[str, float] = {}
    about: str = ""  # the situation that it was written for, where it was written before


class Verdict(Value, frozen=True):
    """What the guard decided, and why."""

    action: Literal["pass", "replace", "refer"] = "pass"  # refer: answer with helplines
    reasons: tuple[str, ...] = ()


class Reply(Value, frozen=True):
    """An answer and the whole why of it; the same object behind the command, the API and the page."""

    text: str
    emotion: dict[str, float] = {}  # how the speaker seems to feel: label → probability
    plan: dict[str, float] = {}  # what the reply should do: label → probability
    concepts: tuple[Concept, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    safety: Verdict = Verdict()
    model: str = ""
    timings: dict[str, float] = {}  # stage → seconds

    @property
    def why(self) -> str:
        """How this answer came about, in a few lines."""
        return "\n".join(f"{name}: {what}" for name, what in self._reasons())

    def _reasons(self) -> Iterator[tuple[str, str]]:
        if self.safety.reasons:
            yield "guard", f"{self.safety.action} ({'; '.join(self.safety.reasons)})"
        for name, chances in (("heard", self.emotion), ("plan", self.plan)):
            if chances:
                likely = sorted(chances.items(), key=lambda pair: -pair[1])[:3]
                yield name, ", ".join(f"{label} {chance:.0%}" for label, chance in likely)
        if self.concepts:
            yield "knows", ", ".join(f"{one.keyword} {one.relation} {one.concept}" for one in self.concepts)
        if self.candidates:
            about = next((one.about for one in self.candidates if one.text == self.text and one.about), "")
            yield (
                "chosen",
                f"of {len(self.candidates)}, written by {self.model}" + (f" for: {about}" if about else ""),
            )

    def _repr_html_(self) -> str:
        """In a notebook: the text, and the why in small print."""
        rows = "<br>".join(f"<b>{escape(name)}</b> {escape(what)}" for name, what in self._reasons())
        text = escape(self.text).replace("\n", "<br>")
        return f'<p dir="auto">{text}</p><small>{rows}</small>'
