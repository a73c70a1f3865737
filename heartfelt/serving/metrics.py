"""What Prometheus reads at /metrics: counts and times, by emotion, plan and safety action. Never a word of text."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from heartfelt.dialogue import Reply

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """One registry an app: two apps in a process do not count together."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter(
            "heartfelt_requests", "Requests by route and status", ["route", "status"], registry=own
        )
        self._emotions = Counter("heartfelt_emotions", "Replies by emotion heard", ["emotion"], registry=own)
        self._plans = Counter("heartfelt_plans", "Replies by what they were to do", ["plan"], registry=own)
        self._safety = Counter(
            "heartfelt_safety", "Replies by what the guard decided", ["action"], registry=own
        )
        self._stages = Histogram(
            "heartfelt_stage_seconds", "Time by stage of a reply", ["stage"], registry=own, buckets=_SECONDS
        )
        self.first = Histogram(
            "heartfelt_first_piece_seconds",
            "Time to the first streamed words",
            registry=own,
            buckets=_SECONDS,
        )
        self.whole = Histogram(
            "heartfelt_reply_seconds",
            "Time to the whole reply, from its turn on",
            registry=own,
            buckets=_SECONDS,
        )
        self.gone = Counter("heartfelt_clients_gone", "Replies that nobody waited for", registry=own)

    def replied(self, reply: Reply) -> None:
        """Labels come from closed lists: nothing that a person wrote can become one."""
        for counter, chances in ((self._emotions, reply.emotion), (self._plans, reply.plan)):
            if chances:
                counter.labels(max(chances, key=lambda name: chances[name])).inc()
        self._safety.labels(reply.safety.action).inc()
        for stage, seconds in reply.timings.items():
            self._stages.labels(stage).observe(seconds)

    def gauge(self, name: str, what: str, value: Callable[[], float]) -> None:
        Gauge(name, what, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        return generate_latest(self._registry)
