"""Who is answered when: so many at a time, so many who wait, and a friendly no to everybody after them.

ticket = line.enter(work)    # work() runs in a thread when its turn has come; Refused (429) where the line is full
ticket.future                # what will come of it
ticket.leave()               # whoever asked has gone: what has begun stops, what waits never begins
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil
from threading import Event, Lock
from time import monotonic
from typing import Generic, TypeVar

from heartfelt.agent.generator import NotWanted, while_wanted
from heartfelt.serving.problems import Refused

Result = TypeVar("Result")
_USUAL_SECONDS = 2.0  # of a reply, before any has been timed
_MEMORY = 0.8  # how much of the mean time is old news


class Ticket(Generic[Result]):
    """A place in the line: is it still wanted, and until when?"""

    future: Future[Result]

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self._gone = Event()

    def wanted(self) -> bool:
        return not self._gone.is_set() and self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends - monotonic())

    def leave(self) -> None:
        self._gone.set()
        self.future.cancel()  # of no effect once it has begun


class Line:
    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        """at_once: answered side by side; waiting: so many more may wait; seconds: for each, waiting included."""
        self._at_once, self._most, self._seconds = at_once, at_once + waiting, seconds
        self._pool = ThreadPoolExecutor(at_once, "answer")
        self._lock = Lock()
        self._inside = 0
        self._mean = _USUAL_SECONDS
        self.running = 0

    @property
    def waiting(self) -> int:
        return max(0, self._inside - self.running)

    def enter(self, work: Callable[[], Result]) -> Ticket[Result]:
        with self._lock:
            if self._inside >= self._most:
                after = str(self._retry_after())
                message = f"Too many are waiting; please try again in {after} s"
                raise Refused(429, message, "queue_full", {"Retry-After": after})
            self._inside += 1
        ticket = Ticket[Result](self._seconds)
        try:
            ticket.future = self._pool.submit(self._run, ticket, work)
        except RuntimeError:  # the pool is being closed
            self._left()
            raise Refused(503, "The server is going down; ask another one", "going_down") from None
        ticket.future.add_done_callback(self._left)
        return ticket

    def _run(self, ticket: Ticket[Result], work: Callable[[], Result]) -> Result:
        if not ticket.wanted():
            raise NotWanted("Nobody waits for this reply any more")
        started = monotonic()
        with self._lock:
            self.running += 1
        try:
            with while_wanted(ticket.wanted):
                return work()
        finally:
            with self._lock:
                self.running -= 1
                self._mean = _MEMORY * self._mean + (1 - _MEMORY) * (monotonic() - started)

    def _left(self, _: object = None) -> None:
        with self._lock:
            self._inside -= 1

    def _retry_after(self) -> int:
        """Seconds until about half of the line will have been answered; at least one."""
        return max(1, ceil(self._mean * self._inside / self._at_once / 2))

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
