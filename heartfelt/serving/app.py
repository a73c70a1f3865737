"""The app: routes over one Service. `make_app(agent)` is all that a test or another server needs.

>>> app = make_app(heartfelt.load())                           # doctest: +SKIP
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

import heartfelt
from heartfelt.agent.agent import Agent
from heartfelt.serving import chat_completions, health, listening, pages, session_routes
from heartfelt.serving.gatekeeping import Gatekeeper
from heartfelt.serving.problems import tell_in_this_shape
from heartfelt.serving.service import Service
from heartfelt.serving.settings import ServeSettings

_WHAT = (
    "Hear how a person feels, answer as a good listener would. OpenAI-compatible; what is Heartfelt's own stands under "
    "the key `heartfelt`. Software, no person and no therapist."
)


def make_app(agent: Agent, settings: ServeSettings | None = None) -> FastAPI:
    service = Service(agent, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="Heartfelt", version=heartfelt.__version__, description=_WHAT, lifespan=lifespan,
        docs_url=None, redoc_url=None, responses=_PROBLEMS,
    )  # fmt: skip
    app.state.service = service
    tell_in_this_shape(app)
    own = service.settings
    for room in (chat_completions, listening, session_routes, health):
        app.include_router(room.routes)
    if own.page:
        app.include_router(pages.routes)
    if own.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=own.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
        )
    app.add_middleware(Gatekeeper, keys=own.keys, body_limit=own.body_limit, metrics=service.metrics)
    return app


_ERROR = {"error": {"message": "…", "type": "invalid_request_error", "param": None, "code": None}}
_SAID = {
    400: "A request that cannot be answered", 401: "A key is needed", 404: "There is no such thing",
    409: "Somebody else was quicker", 413: "Too large", 429: "Too many are waiting; see Retry-After",
    503: "A backend or the database is away", 504: "It took too long",
}  # fmt: skip
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {"application/json": {"example": _ERROR}}}
    for status, what in _SAID.items()
}
