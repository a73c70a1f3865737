"""What a rater's page asks and posts. A token is in every path; nobody's answers but their own come back."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from heartfelt.serving.problems import Refused
from heartfelt.study import assignment, flow
from heartfelt.study.service import service_of

routes = APIRouter()
Json = dict[str, Any]
Text = Annotated[str, Field(max_length=4000)]


class Body(BaseModel):
    model_config = {"extra": "forbid", "strict": True}


class Join(Body):
    worker: Annotated[str, Field(max_length=200)] | None = None


class Areas(Body):
    areas: list[str] = Field(max_length=20)


class Posted(Body):
    work: str = Field(max_length=64)
    place: int = Field(ge=0, le=1000)
    revision: int = Field(ge=1, le=1_000_000)
    value: Any
    seconds: float = Field(0.0, ge=0, le=1e6, strict=False)


class Done(Body):
    work: str = Field(max_length=64)


class Surveyed(Body):
    answers: dict[str, Text] = Field(max_length=50)


@routes.post("/join")
def join(body: Join, request: Request) -> Json:
    store = service_of(request).store
    if store.study.access == "links":
        raise Refused(403, "This study is open to those who were sent a link", "links_only")
    if store.study.access == "crowd" and body.worker is None:
        raise Refused(403, "The address lacks your worker id", "no_worker")
    return {"token": store.join(body.worker if store.study.access == "crowd" else None)}


@routes.get("/r/{token}/state")
def state(token: str, request: Request) -> Json:
    return flow.state(service_of(request).store, token)


@routes.post("/r/{token}/consent")
def consent(token: str, request: Request) -> Json:
    return flow.consent(service_of(request).store, token)


@routes.post("/r/{token}/warmup")
def warmup(token: str, body: Areas, request: Request) -> Json:
    store = service_of(request).store
    with store.reading() as connection:
        store.rater(connection, token)
    return {"replies": flow.try_warmup(store, body.areas)}


@routes.post("/r/{token}/begin")
def begin(token: str, request: Request) -> Json:
    return flow.begin(service_of(request).store, token)


@routes.post("/r/{token}/answer")
def answer(token: str, body: Posted, request: Request) -> Json:
    store = service_of(request).store
    return assignment.answer(store, token, body.work, body.place, body.revision, body.value, body.seconds)


@routes.post("/r/{token}/finish")
def finish(token: str, body: Done, request: Request) -> Json:
    store = service_of(request).store
    assignment.finish(store, token, body.work)
    return flow.state(store, token)


@routes.post("/r/{token}/survey")
def survey(token: str, body: Surveyed, request: Request) -> Json:
    store = service_of(request).store
    store.survey(token, body.answers)
    return flow.state(store, token)


@routes.get("/health")
def health(request: Request) -> Json:
    if not service_of(request).store.alive():
        raise Refused(503, "The database does not answer", "database_gone")
    return {"status": "ok"}
