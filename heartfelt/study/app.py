"""A study's app: pages, routes, live talks, over one store. `make_study_app(store, key)` is all that a test needs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

import heartfelt
from heartfelt.serving.gatekeeping import Gatekeeper
from heartfelt.serving.problems import tell_in_this_shape
from heartfelt.study import admin, pages, routes
from heartfelt.study.service import Answer, StudyService
from heartfelt.study.store import Store

_BODY = 128 * 1024  # bytes of a request: an answer with a survey's free text


def make_study_app(store: Store, key: str = "", agent: Answer | None = None) -> FastAPI:
    """key: of the admin page; without one there is none. agent: who a person of a collection may be paired with."""
    service = StudyService(store, key, agent)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if service.hub:
            service.hub.start()
        yield
        if service.hub:
            await service.hub.close()
        store.close()

    app = FastAPI(
        title="Heartfelt study", version=heartfelt.__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url=None,
    )  # fmt: skip
    app.state.service = service
    tell_in_this_shape(app)
    app.include_router(pages.routes)
    app.include_router(routes.routes)
    app.include_router(admin.routes)
    if service.hub:
        from heartfelt.study import live_routes

        app.include_router(live_routes.routes)
    app.add_middleware(Gatekeeper, keys=(), body_limit=_BODY, metrics=service.metrics)
    return app
