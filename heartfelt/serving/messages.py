"""What clients send, as OpenAI's clients send it: messages with roles, or a plain input; and the Dialogue they mean."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import InvalidValue
from heartfelt.serving.problems import Refused
from heartfelt.text import language_of, readable

ROLES = {"user": SPEAKER, "assistant": LISTENER}
Text = str | list[str]


class Part(BaseModel):
    type: str
    text: str = ""


class Message(BaseModel):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            if other := [part.type for part in self.content if part.type != "text"]:
                raise InvalidValue(f"Heartfelt reads text, no {other[0]}")
            return readable(" ".join(part.text for part in self.content))
        return readable(self.content or "")


class Talk(BaseModel):
    """A message, several messages, or a whole conversation: exactly one of them."""

    input: Text | None = Field(
        None, description="A message, or a list of messages that have nothing to do with each other."
    )
    messages: list[Message] | None = Field(
        None, max_length=500, description="A conversation; its last turn is heard."
    )

    model_config = {"json_schema_extra": {"examples": [{"input": "My dog died last night."}]}}

    def dialogues(self) -> list[Dialogue]:
        if (self.input is None) == (self.messages is None):
            raise InvalidValue("Give either input or messages")
        if self.messages is not None:
            return [dialogue_of(self.messages)]
        texts = [self.input] if isinstance(self.input, str) else self.input or []
        if not 1 <= len(texts) <= 256:
            raise InvalidValue(f"input holds 1 to 256 messages, not {len(texts)}")
        return [one_message(text) for text in texts]


def one_message(text: str) -> Dialogue:
    text = readable(text)
    if not text.strip():
        raise InvalidValue("There is nothing to listen to: the message is empty")
    return Dialogue("request", (Turn(SPEAKER, text),), language=language_of(text))


def dialogue_of(messages: list[Message]) -> Dialogue:
    """The turns of a conversation. Instructions (system, developer) are not for a listener, and left out."""
    turns = tuple(
        Turn(ROLES[message.role], message.text)
        for message in messages
        if message.role in ROLES and message.text.strip()
    )
    if not turns or turns[-1].speaker != SPEAKER:
        raise InvalidValue("The last message should be the user's, and say something")
    return Dialogue("request", turns, language=language_of(turns[-1].text))


def check_model(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise Refused(
            404, f"There is no model '{name[:80]}'. There is: {', '.join(known)}.", "model_not_found"
        )


def top(chances: dict[str, float]) -> str | None:
    return max(chances, key=lambda name: chances[name]) if chances else None


def rounded(chances: dict[str, float]) -> dict[str, float]:
    """The likeliest first, in figures that one can read."""
    likely = sorted(chances.items(), key=lambda pair: -pair[1])
    return {name: round(chance, 4) for name, chance in likely}


Json = dict[str, Any]
