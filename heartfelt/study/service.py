"""What a study's routes share: the store, the admin's key, and the live talks of a collection."""

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import Request

from heartfelt.dialogue import Dialogue
from heartfelt.serving.metrics import Metrics
from heartfelt.serving.problems import Refused
from heartfelt.study.store import Store

if TYPE_CHECKING:
    from heartfelt.study.live import Hub

Answer = Callable[[Dialogue], str]  # an agent, as far as a collection knows it


class StudyService:
    def __init__(self, store: Store, key: str, agent: Answer | None = None) -> None:
        self.store, self._key = store, key
        self.metrics = Metrics()
        self.hub: Hub | None = None
        if store.study.kind == "collect":
            from heartfelt.study import live

            self.hub = live.Hub(store, agent)

    def admit(self, request: Request) -> None:
        """Whoever leads the study carries its key; nobody else hears what this page would say."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not self._key or not hmac.compare_digest(given.encode(), self._key.encode()):
            raise Refused(
                401, "This needs the study's admin key", "invalid_api_key", {"WWW-Authenticate": "Bearer"}
            )


def service_of(request: Any) -> StudyService:
    found: StudyService = request.app.state.service
    return found
