"""Several servers behind one name: the least busy is asked, another one where that fails, and a dead one rests.

A backend that failed THRESHOLD times in a row is not asked for REST seconds; then a single request tries it. A reply is
asked for again elsewhere only as long as nobody has heard a word of it.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic, sleep
from typing import TypeVar

from heartfelt.agent.generator import Decoding, Generator, Wish, wanted
from heartfelt.agent.openai_server import ServerDown
from heartfelt.dialogue import Candidate, Dialogue

THRESHOLD = 3  # failures in a row
REST = 10.0  # seconds
TRIES = 3
PAUSE = 0.2  # seconds before the second try, doubled before each one after

Result = TypeVar("Result")


class Breaker:
    """Closed: asked as usual. Open: left alone for a while. Then one request is let through to see."""

    def __init__(self, rest: float = REST, clock: Callable[[], float] = monotonic) -> None:
        self._rest, self._clock = rest, clock
        self._failures = 0
        self._until = 0.0
        self._trying = False

    @property
    def open(self) -> bool:
        return self._failures >= THRESHOLD and (self._trying or self._clock() < self._until)

    def begin(self) -> None:
        self._trying = self._failures >= THRESHOLD

    def end(self, well: bool | None) -> None:
        """well: None where it is not known, since whoever asked has gone."""
        self._trying = False
        if well is None:
            return
        self._failures = 0 if well else self._failures + 1
        if self._failures >= THRESHOLD:
            self._until = self._clock() + self._rest


class Backend:
    def __init__(self, generator: Generator, breaker: Breaker) -> None:
        self.generator, self.breaker = generator, breaker
        self.busy = 0


class Backends:
    """A Generator over several; also over one, for the retries."""

    def __init__(self, generators: Sequence[Generator], rest: float = REST, pause: float = PAUSE) -> None:
        self._backends = [Backend(one, Breaker(rest)) for one in generators]
        self._pause = pause
        self._lock = Lock()
        self.languages = generators[0].languages

    @property
    def name(self) -> str:
        return self._ask(lambda one: one.name, lambda: True)

    def up(self) -> list[Generator]:
        return [one.generator for one in self._backends if not one.breaker.open]

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        return self._ask(lambda one: one.say(dialogue, wish, count, decoding), lambda: True)

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        begun = False

        def hand_on(piece: str) -> None:
            nonlocal begun
            begun = True
            heard(piece)

        return self._ask(lambda one: one.stream(dialogue, wish, hand_on, decoding), lambda: not begun)

    def _ask(self, ask: Callable[[Generator], Result], may_try_again: Callable[[], bool]) -> Result:
        check = wanted()
        tried: list[Backend] = []
        for attempt in range(TRIES):
            backend = self._pick(tried)
            tried.append(backend)
            well: bool | None = None
            try:
                result = ask(backend.generator)
                well = True
                return result
            except ServerDown:
                well = False
                if attempt == TRIES - 1 or not may_try_again():
                    raise
            finally:
                with self._lock:
                    backend.busy -= 1
                    backend.breaker.end(well)
            if all(one in tried for one in self._backends):
                sleep(self._pause * 2**attempt)
            check()
        raise AssertionError("unreachable")

    def _pick(self, tried: Sequence[Backend]) -> Backend:
        with self._lock:
            able = [one for one in self._backends if not one.breaker.open]
            if not able:
                raise ServerDown("No backend answers; they are tried again in a few seconds")
            chosen = min(able, key=lambda one: (tried.count(one), one.busy))
            chosen.busy += 1
            chosen.breaker.begin()
            return chosen
