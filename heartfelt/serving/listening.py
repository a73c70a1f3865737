"""The parts of the agent by themselves: /v1/emotions, /v1/plan, /v1/concepts, /v1/embeddings, /v1/models."""

import base64
from typing import Any, Literal

import msgspec
import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.labels import EMOTIONS
from heartfelt.serving.chat_completions import finished
from heartfelt.serving.messages import Json, Talk, Text, check_model, rounded, top
from heartfelt.serving.problems import Refused
from heartfelt.serving.service import ENCODER, MATCHER, MODEL, service_of
from heartfelt.serving.tokens import count
from heartfelt.text import readable

routes = APIRouter(tags=["listening"])


class Planned(Talk):
    emotion: str | None = Field(None, description="How the person feels, where you know: one of the 32.")


class Embedded(BaseModel):
    model: str = MATCHER
    input: Text
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    side: Literal["context", "reply"] = Field(
        "context", description="Ours: are these things said, or answers to them?"
    )

    model_config = {
        "json_schema_extra": {"examples": [{"model": MATCHER, "input": ["My dog died.", "I won!"]}]}
    }


@routes.post("/v1/emotions")
async def emotions(body: Talk, request: Request) -> Json:
    """How somebody feels, and whether this is small talk. Of several messages, each by itself."""
    service, dialogues = service_of(request), body.dialogues()
    heard = await finished(request, service, service.line.enter(lambda: service.agent.listener(dialogues)))
    return {"object": "list", "model": ENCODER, "data": [_felt(i, one) for i, one in enumerate(heard)]}


def _felt(index: int, heard: Any) -> Json:
    return {
        "index": index, "emotion": heard.feeling, "emotions": rounded(heard.emotion), "groups": rounded(heard.group),
        "neutral": round(heard.neutral, 4), "language": heard.language,
    }  # fmt: skip


@routes.post("/v1/plan")
async def plan(body: Planned, request: Request) -> Json:
    """What a reply should do: the planner's chances, and the policy's say."""
    service, dialogues = service_of(request), body.dialogues()
    if body.emotion is not None and body.emotion not in EMOTIONS:
        raise UnknownName("emotion", body.emotion, EMOTIONS)
    given = {body.emotion: 1.0} if body.emotion else None

    def work() -> list[dict[str, float]]:
        heard = service.agent.listener(dialogues)
        pairs = zip(dialogues, heard, strict=True)
        return [service.agent.plan(dialogue, felt, given) for dialogue, felt in pairs]

    plans = await finished(request, service, service.line.enter(work))
    data = [{"index": i, "plan": top(one), "plans": rounded(one)} for i, one in enumerate(plans)]
    return {"object": "list", "model": ENCODER, "data": data}


@routes.post("/v1/concepts")
async def concepts(body: Talk, request: Request) -> Json:
    """Commonsense that bears on what was said: keyword, relation, concept."""
    service, dialogues = service_of(request), body.dialogues()
    know = service.agent.know
    if know is None:
        raise Refused(
            404, "This server knows no concepts: heartfelt serve --knowledge FOLDER", "no_knowledge"
        )
    found = await finished(request, service, service.line.enter(lambda: [know(one) for one in dialogues]))
    data = [{"index": i, "concepts": msgspec.to_builtins(one)} for i, one in enumerate(found)]
    return {"object": "list", "data": data}


@routes.post("/v1/embeddings")
async def embeddings(body: Embedded, request: Request) -> Json:
    """Texts as vectors of length one: the product of a context's and a reply's says how well they match."""
    check_model(body.model, (MATCHER,))
    texts = [readable(text) for text in ([body.input] if isinstance(body.input, str) else body.input)]
    if not 1 <= len(texts) <= 256 or not all(text.strip() for text in texts):
        raise InvalidValue("input holds 1 to 256 texts, none of them empty")
    service = service_of(request)

    def work() -> np.ndarray:
        return service.agent.listener.vectors([[text] for text in texts], body.side)

    vectors = await finished(request, service, service.line.enter(work))
    if body.dimensions not in (None, vectors.shape[1]):
        raise InvalidValue(f"A vector has {vectors.shape[1]} dimensions, no other number")
    data = [
        {"object": "embedding", "index": i, "embedding": _written(vector, body.encoding_format)}
        for i, vector in enumerate(vectors)
    ]
    tokens = sum(count(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": MATCHER, "data": data, "usage": usage}


def _written(vector: np.ndarray, form: str) -> list[float] | str:
    plain = np.asarray(vector, "<f4")
    return base64.b64encode(plain.tobytes()).decode() if form == "base64" else plain.tolist()


@routes.get("/v1/models")
async def models() -> Json:
    """The names that requests may give as their model."""
    return {"object": "list", "data": [_model(name) for name in (MODEL, ENCODER, MATCHER)]}


@routes.get("/v1/models/{name}")
async def model(name: str) -> Json:
    check_model(name, (MODEL, ENCODER, MATCHER))
    return _model(name)


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "heartfelt"}
