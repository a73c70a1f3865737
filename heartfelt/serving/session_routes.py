"""Stored conversations, by the person's own hand: /v1/sessions, where the server has --sessions."""

from fastapi import APIRouter, Request, Response

from heartfelt.dialogue import LISTENER
from heartfelt.serving.chat_completions import finished
from heartfelt.serving.messages import Json
from heartfelt.serving.service import service_of

routes = APIRouter(tags=["sessions"])


@routes.post("/v1/sessions", status_code=201)
async def begin(request: Request) -> Json:
    """A new conversation. Its id is the key to it: whoever has it may read it and delete it."""
    service = service_of(request)
    name = await finished(request, service, service.line.enter(service.stored().new))
    return {"id": name, "object": "session", "kept_days": service.settings.keep_days}


@routes.get("/v1/sessions/{name}")
async def read(name: str, request: Request) -> Json:
    """What was said so far, as it is stored: private data is masked."""
    service = service_of(request)
    stored = service.stored()
    turns = await finished(request, service, service.line.enter(lambda: stored.turns(name)))
    messages = [
        {"role": "assistant" if turn.speaker == LISTENER else "user", "content": turn.text} for turn in turns
    ]
    return {"id": name, "object": "session", "messages": messages}


@routes.delete("/v1/sessions/{name}", status_code=204)
async def forget(name: str, request: Request) -> Response:
    """Delete a conversation: nothing of it is left."""
    service = service_of(request)
    stored = service.stored()
    await finished(request, service, service.line.enter(lambda: stored.delete(name)))
    return Response(status_code=204)
