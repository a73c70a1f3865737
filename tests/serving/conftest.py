"""A real server on loopback, in a thread of this process, over a real agent whose generator says what a test wants."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.generator import Decoding, Wish, wanted
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import shipped
from heartfelt.dialogue import Candidate, Dialogue
from heartfelt.serving.app import make_app
from heartfelt.serving.settings import ServeSettings
from heartfelt.serving.tokens import count

TEXT = "I am so sorry to hear it. What was he like?"
STEERED = {
    "questioning": "How long did you have him?",
    "consoling": "He had a good life with you. Be kind to yourself.",
}


class Speaks:
    """Says TEXT, or what an intent wants, word by word, each after `pause` seconds; it stops when nobody waits."""

    name = "speaks"
    languages = ("en",)

    def __init__(self, text: str = TEXT, pause: float = 0.0) -> None:
        self.text, self.pause = text, pause
        self.asked: list[tuple[Dialogue, Wish, Decoding]] = []
        self.words = 0  # that were written at all
        self.fail: Exception | None = None

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        text = self.stream(dialogue, wish, lambda _: None, decoding)
        return [Candidate(text), *(Candidate(f"{text} ({i})") for i in range(1, count))][:count]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        self.asked.append((dialogue, wish, decoding))
        if self.fail:
            raise self.fail
        check = wanted()
        text = (
            STEERED.get(wish.plan or "", self.text)
            if wish.plan in STEERED and self.text == TEXT
            else self.text
        )
        for word in text.split(" "):
            check()
            time.sleep(self.pause)
            self.words += 1
            heard(f"{word} ")
        return text


@contextmanager
def serving(generator: Any, candidates: int = 2, **settings: Any) -> Iterator[str]:
    """The address of a running server."""
    import uvicorn

    agent = Agent(generator, shipped(), Guard("GB", shipped().needs_help), settings=Settings(candidates))
    app = make_app(agent, ServeSettings(**settings))
    server = uvicorn.Server(
        uvicorn.Config(app, "127.0.0.1", 0, log_level="error", timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def warm() -> None:
    """The encoder is loaded once, before anybody is timed."""
    shipped()._encoder  # noqa: B018
    count("hello")


@pytest.fixture(scope="module")
def url(warm: None) -> Iterator[str]:
    with serving(Speaks()) as address:
        yield address


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it never came to hold"
        time.sleep(0.02)
