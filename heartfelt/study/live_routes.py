"""What a person's page sends in a collection: a feeling, a situation, and a WebSocket for the talks."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, WebSocket
from pydantic import Field
from starlette.websockets import WebSocketDisconnect

from heartfelt.errors import HeartfeltError
from heartfelt.serving.problems import Refused
from heartfelt.study import collection, flow
from heartfelt.study.routes import Body
from heartfelt.study.service import service_of

routes = APIRouter()
_REFUSED = 4404  # a close code of our own: there is no such link, or nothing to talk about yet


class Felt(Body):
    emotion: str = Field(max_length=32)


class Situated(Body):
    text: str = Field(max_length=collection.SITUATION)


@routes.post("/r/{token}/feeling")
def feeling(token: str, body: Felt, request: Request) -> dict[str, Any]:
    store = service_of(request).store
    collection.feel(store, token, body.emotion)
    return flow.state(store, token)


@routes.post("/r/{token}/situation")
def situation(token: str, body: Situated, request: Request) -> dict[str, Any]:
    store = service_of(request).store
    collection.situate(store, token, body.text)
    return flow.state(store, token)


@routes.websocket("/r/{token}/live")
async def live(token: str, socket: WebSocket) -> None:
    service = service_of(socket)
    assert service.hub is not None
    await socket.accept()
    try:
        visit, rater = await asyncio.to_thread(_ready, service.store, token)
    except Refused:
        await socket.close(_REFUSED)
        return
    await service.hub.connect(visit, rater, socket)
    try:
        while True:
            await service.hub.hear(visit, await socket.receive_json())
    except (WebSocketDisconnect, ValueError, KeyError, RuntimeError):
        pass  # gone, or not JSON: what a page of ours never sends
    except HeartfeltError:  # the database is away: the page comes back and sends again what was not heard
        await socket.close(1011)
    finally:
        await service.hub.disconnect(visit, socket)


def _ready(store: Any, token: str) -> tuple[str, str]:
    with store.reading() as connection:
        now = collection.open_visit(connection, store, token)
        if now["situation"] is None:
            raise Refused(409, "The situation comes first", "no_situation")
        return str(now["id"]), str(now["rater"])
