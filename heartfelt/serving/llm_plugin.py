"""A plug-in for the `llm` command: `llm -m heartfelt "My dog died."`, `llm chat -m heartfelt -o intent questioning`."""

from collections.abc import Iterator
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import Any

import llm
import msgspec
from pydantic import Field, field_validator

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.generator import Decoding
from heartfelt.agent.load import load
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Reply, Turn
from heartfelt.labels import EMOTIONS, LABELS
from heartfelt.text import language_of, readable


@llm.hookimpl
def register_models(register: Any) -> None:
    register(Heartfelt())


@cache
def agent() -> Agent:
    return load()


class Heartfelt(llm.Model):  # type: ignore[misc,unused-ignore]
    model_id = "heartfelt"
    can_stream = True

    class Options(llm.Options):  # type: ignore[misc,unused-ignore]
        intent: str | None = Field(None, description="What the reply should do: one of the 41 labels")
        emotion: str | None = Field(None, description="How the person feels, where you know: one of the 32")
        temperature: float = Field(Decoding().temperature, ge=0, le=2, description="How free the wording is")
        seed: int | None = Field(None, ge=0, description="The same seed, the same replies")

        @field_validator("intent")
        @classmethod
        def known_intent(cls, value: str | None) -> str | None:
            return _one_of(value, LABELS)

        @field_validator("emotion")
        @classmethod
        def known_emotion(cls, value: str | None) -> str | None:
            return _one_of(value, EMOTIONS)

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        base, options = agent(), prompt.options
        decoding = Decoding(temperature=options.temperature, seed=options.seed)
        own = Settings(1 if stream else base.settings.candidates, decoding)
        one = base.with_settings(own)
        talk = dialogue_of(prompt.prompt or "", conversation)
        pieces: SimpleQueue[str | Reply | Exception] = SimpleQueue()

        def work() -> None:
            try:
                pieces.put(one.reply(talk, options.emotion, options.intent, pieces.put))
            except Exception as problem:
                pieces.put(problem)

        Thread(target=work, daemon=True).start()
        while isinstance(piece := pieces.get(), str):
            yield piece
        if isinstance(piece, Exception):
            raise llm.ModelError(str(piece)) from piece
        response.response_json = msgspec.to_builtins(piece)  # what `llm logs --json` shows: the whole why


def dialogue_of(message: str, conversation: Any) -> Dialogue:
    said = [(one.prompt.prompt or "", one.text()) for one in getattr(conversation, "responses", ())]
    turns = [
        turn
        for asked, answered in said
        for turn in ((SPEAKER, asked), (LISTENER, answered))
        if turn[1].strip()
    ]
    if not message.strip():
        raise llm.ModelError("There is nothing to answer: the message is empty")
    last = readable(message)
    return Dialogue(
        "llm", tuple(Turn(*turn) for turn in (*turns, (SPEAKER, last))), language=language_of(last)
    )


def _one_of(value: str | None, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise ValueError(f"there is no '{value}'; there is: {', '.join(known)}")
    return value
