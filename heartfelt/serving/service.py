"""What all routes share: the agent, the line before it, the counts, and where conversations are stored, if they are."""

from collections.abc import Callable
from time import perf_counter

import msgspec
from fastapi import Request

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.generator import Decoding
from heartfelt.dialogue import Dialogue, Reply
from heartfelt.serving.breaker import Backends
from heartfelt.serving.metrics import Metrics
from heartfelt.serving.problems import Refused
from heartfelt.serving.queue import Line
from heartfelt.serving.sessions import Sessions, open_sessions
from heartfelt.serving.settings import ServeSettings

MODEL = "heartfelt"  # what clients name; which weights answered stands in the why
ENCODER = "heartfelt-encoder"  # hears and plans
MATCHER = "heartfelt-matcher"  # embeds


class Asked(msgspec.Struct, frozen=True):
    """A reply that somebody wants."""

    dialogue: Dialogue
    decoding: Decoding = Decoding()
    candidates: int = 1
    emotion: str | None = None
    plan: str | None = None
    session: str | None = None


class Service:
    def __init__(self, agent: Agent, settings: ServeSettings | None = None) -> None:
        self.agent, self.settings = agent, settings or ServeSettings()
        self.line = Line(self.settings.at_once, self.settings.waiting, self.settings.seconds)
        self.metrics = Metrics()
        self.sessions: Sessions | None = (
            open_sessions(self.settings.sessions, self.settings.keep_days) if self.settings.sessions else None
        )
        self.metrics.gauge("heartfelt_running", "Replies being written", lambda: self.line.running)
        self.metrics.gauge("heartfelt_waiting", "Requests that wait", lambda: self.line.waiting)
        if isinstance(agent.generator, Backends):
            up = agent.generator.up
            self.metrics.gauge("heartfelt_backends_up", "Backends that are asked", lambda: len(up()))

    def answer(self, asked: Asked, heard: Callable[[str], None] | None = None) -> Reply:
        """In a worker's thread: the reply; and, in a session, what was said is stored before it is returned."""
        started = perf_counter()
        base = self.agent
        own = msgspec.structs.replace(base.settings, candidates=asked.candidates, decoding=asked.decoding)
        agent = base.with_settings(own)
        dialogue = asked.dialogue
        if asked.session:
            dialogue = self.stored().with_history(asked.session, dialogue)
        reply = agent.reply(dialogue, asked.emotion, asked.plan, heard)
        if asked.session:
            self.stored().add(asked.session, len(dialogue.turns) - 1, dialogue.turns[-1], reply)
        self.metrics.replied(reply)
        self.metrics.whole.observe(perf_counter() - started)
        return reply

    def stored(self) -> Sessions:
        if self.sessions is None:
            raise Refused(
                404, "This server stores no conversations: heartfelt serve --sessions URL", "no_sessions"
            )
        return self.sessions

    @property
    def usual(self) -> Settings:
        return self.agent.settings

    def not_ready(self) -> str:
        """Why nobody should be sent here now; empty where all is well."""
        if isinstance(self.agent.generator, Backends) and not self.agent.generator.up():
            return "no backend answers"
        if self.sessions and not self.sessions.alive():
            return "the database does not answer"
        return ""

    def close(self) -> None:
        self.line.close()
        if self.sessions:
            self.sessions.close()


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found
