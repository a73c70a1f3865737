"""Retries and the circuit breaker: a dead backend is left alone, and comes back."""

from collections.abc import Callable

import pytest

from heartfelt.agent.generator import Decoding, NotWanted, Wish, while_wanted
from heartfelt.agent.openai_server import ServerDown
from heartfelt.dialogue import Candidate, Dialogue, Turn
from heartfelt.errors import HeartfeltError
from heartfelt.serving.breaker import Backends, Breaker

TALK = Dialogue("d", (Turn("speaker", "My dog died."),))


class Fails:
    """Fails so many times, then answers; or answers half, and then fails."""

    languages = ("en",)

    def __init__(
        self, name: str, times: int = 0, half: bool = False, kind: type[HeartfeltError] = ServerDown
    ) -> None:
        self.name, self.times, self.half, self.kind = name, times, half, kind
        self.asked = 0

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        self.asked += 1
        if self.asked <= self.times:
            raise self.kind(f"{self.name} is down")
        return [Candidate(self.name)]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        if self.half:
            heard("I am ")
        text = self.say(dialogue, wish, 1, decoding)[0].text
        heard(text)
        return text


def ask(backends: Backends) -> str:
    return backends.say(TALK, Wish(), 1, Decoding())[0].text


def test_what_fails_is_asked_elsewhere_at_once() -> None:
    dead, well = Fails("dead", 99), Fails("well")
    backends = Backends([dead, well], pause=0)
    assert {ask(backends) for _ in range(10)} == {"well"}
    assert dead.asked == 3  # then the breaker opened
    assert backends.up() == [well]


def test_one_backend_is_tried_again() -> None:
    one = Fails("one", 2)
    assert ask(Backends([one], pause=0)) == "one"
    assert one.asked == 3
    gone = Fails("gone", 99)
    backends = Backends([gone], pause=0)
    with pytest.raises(ServerDown, match="gone is down"):
        ask(backends)
    with pytest.raises(ServerDown, match="No backend answers"):
        ask(backends)
    assert gone.asked == 3


def test_a_mistake_of_ours_is_not_tried_again() -> None:
    picky = Fails("picky", 99, kind=HeartfeltError)
    with pytest.raises(HeartfeltError):
        ask(Backends([picky], pause=0))
    assert picky.asked == 1


def test_a_reply_that_somebody_has_begun_to_hear_is_not_begun_again() -> None:
    half, well = Fails("half", 99, half=True), Fails("well")
    pieces: list[str] = []
    with pytest.raises(ServerDown):
        Backends([half, well], pause=0).stream(TALK, Wish(), pieces.append, Decoding())
    assert pieces == ["I am "]
    pieces.clear()
    backends = Backends([Fails("dead", 99), Fails("well")], pause=0)
    assert backends.stream(TALK, Wish(), pieces.append, Decoding()) == "well"
    assert pieces == ["well"]


def test_nobody_is_tried_again_for_nobody() -> None:
    one = Fails("one", 99)
    with while_wanted(lambda: False), pytest.raises(NotWanted):
        ask(Backends([one], pause=0))
    assert one.asked == 1


def test_a_breaker_by_the_clock() -> None:
    now = [0.0]
    breaker = Breaker(rest=10, clock=lambda: now[0])
    for _ in range(2):
        breaker.begin()
        breaker.end(False)
    breaker.end(None)  # nobody waited: neither well nor not
    assert not breaker.open
    breaker.begin()
    breaker.end(False)
    assert breaker.open
    now[0] = 9.9
    assert breaker.open
    now[0] = 10.1
    assert not breaker.open
    breaker.begin()  # one looks whether it is back
    assert breaker.open  # and all others wait
    breaker.end(False)
    assert breaker.open
    now[0] = 20.2
    breaker.begin()
    breaker.end(True)
    assert not breaker.open


def test_work_is_shared() -> None:
    first, second = Fails("first"), Fails("second")
    backends = Backends([first, second])
    inner: list[str] = []

    def while_busy(piece: str) -> None:
        if not inner:
            inner.append(ask(backends))

    outer = backends.stream(TALK, Wish(), while_busy, Decoding())
    assert {outer, inner[0]} == {"first", "second"}
