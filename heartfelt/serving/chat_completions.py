"""`POST /v1/chat/completions`: whole or streamed, as OpenAI's clients expect it."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from time import perf_counter, time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse

from heartfelt.agent.generator import NotWanted
from heartfelt.dialogue import Reply
from heartfelt.serving import problems
from heartfelt.serving.chat_schema import Completion, Until, told
from heartfelt.serving.messages import Json, check_model
from heartfelt.serving.queue import Result, Ticket
from heartfelt.serving.service import MODEL, Asked, Service, service_of
from heartfelt.serving.tokens import count

routes = APIRouter(tags=["chat"])
_GRACE = 2.0  # seconds that a worker has to notice that it is late
_EXAMPLE = {
    "id": "chatcmpl-1f0c", "object": "chat.completion", "created": 1794800000, "model": MODEL,
    "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "I am so sorry. What was he like?"},
        "heartfelt": {"emotion": "sad", "plan": "questioning", "safety": {"action": "pass", "reasons": []}},
    }],
    "usage": {"prompt_tokens": 8, "completion_tokens": 10, "total_tokens": 18},
}  # fmt: skip
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The reply",
        "content": {"application/json": {"example": _EXAMPLE}, "text/event-stream": {}},
    },
}


@routes.post("/v1/chat/completions", responses=RESPONSES, response_model=None)
async def chat_completions(body: Completion, request: Request) -> JSONResponse | StreamingResponse:
    """Answer the last message of a conversation as a good listener would."""
    check_model(body.model, (MODEL,))
    service = service_of(request)
    asked = body.asked(service.usual.candidates)
    answer = Answer(body)
    if body.stream:
        events = Events(service, asked, answer)
        return StreamingResponse(
            events.run(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )
    ticket = service.line.enter(lambda: [service.answer(one) for one in asked])
    replies = await finished(request, service, ticket)
    return JSONResponse(answer.whole(replies))


class Answer:
    """The envelopes of one completion."""

    def __init__(self, body: Completion) -> None:
        self.body = body
        self._same = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time()), "model": MODEL}

    def whole(self, replies: list[Reply]) -> Json:
        texts = []
        for reply in replies:
            until = Until(self.body.stops())
            texts.append(
                (until.take(reply.text) + until.rest()).rstrip() if self.body.stops() else reply.text
            )
        choices = [
            {
                "index": i, "message": {"role": "assistant", "content": text, "refusal": None}, "logprobs": None,
                "finish_reason": "stop", "heartfelt": told(reply, self.body.heartfelt.why),
            }
            for i, (text, reply) in enumerate(zip(texts, replies, strict=True))
        ]  # fmt: skip
        return {"object": "chat.completion", **self._same, "choices": choices, "usage": self.usage(texts)}

    def chunk(self, choices: list[Json], **others: Any) -> Json:
        return {"object": "chat.completion.chunk", **self._same, "choices": choices, **others}

    def usage(self, texts: list[str]) -> Json:
        asked = sum(count(message.text) for message in self.body.messages)
        said = sum(count(text) for text in texts)
        return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


class Events:
    """A completion as server-sent events. A worker's thread writes, the client reads when it likes."""

    def __init__(self, service: Service, asked: list[Asked], answer: Answer) -> None:
        self._service, self._asked, self._answer = service, asked, answer
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Json | None] = asyncio.Queue()
        self._said: list[str] = []
        self._started: float | None = perf_counter()
        # Here, and not when the first event is read: a full line must still become a 429.
        self._ticket = service.line.enter(self._write)
        self._ticket.future.add_done_callback(lambda _: self._put(None))

    async def run(self) -> AsyncIterator[str]:
        try:
            async with asyncio.timeout(self._ticket.seconds_left + _GRACE):
                while (event := await self._events.get()) is not None:
                    yield _sse(event)
            problem = NotWanted() if self._ticket.future.cancelled() else self._ticket.future.exception()
        except TimeoutError:
            problem = NotWanted()
        finally:  # also when the client goes: then the generator is closed here
            if not self._ticket.future.done():
                self._service.metrics.gone.inc()
            self._ticket.leave()
        if problem:
            yield _sse(problems.told(problem if isinstance(problem, Exception) else NotWanted()))
            return
        options = self._answer.body.stream_options
        if options and options.include_usage:
            yield _sse(self._answer.chunk([], usage=self._answer.usage(self._said)))
        yield "data: [DONE]\n\n"

    def _write(self) -> None:
        """In the worker's thread: choice after choice, piece after piece."""
        for index, asked in enumerate(self._asked):
            until = Until(self._answer.body.stops())
            said: list[str] = []

            def hand_on(piece: str, index: int = index, said: list[str] = said) -> None:
                if piece:
                    first = {"role": "assistant"} if not said else {}
                    said.append(piece)
                    self._put_choice(index, {**first, "content": piece})

            reply = self._service.answer(asked, _through(until, hand_on))
            hand_on(until.rest())
            self._said.append("".join(said))
            why = told(reply, self._answer.body.heartfelt.why)
            self._put_choice(index, {}, finish_reason="stop", heartfelt=why)

    def _put_choice(self, index: int, delta: Json, finish_reason: str | None = None, **others: Any) -> None:
        if self._started is not None:
            self._service.metrics.first.observe(perf_counter() - self._started)
            self._started = None
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason, **others}
        self._put(self._answer.chunk([choice]))

    def _put(self, event: Json | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


def _through(until: Until, hand_on: Callable[[str], None]) -> Callable[[str], None]:
    return lambda piece: hand_on(until.take(piece))


def _sse(event: Json) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


async def finished(request: Request, service: Service, ticket: Ticket[Result]) -> Result:
    """What comes of a ticket; it is left where the client goes or the time is over."""
    work = asyncio.ensure_future(asyncio.wrap_future(ticket.future))
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        both: set[asyncio.Future[Any]] = {work, gone}
        await asyncio.wait(both, timeout=ticket.seconds_left + _GRACE, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        service.metrics.gone.inc()
        raise NotWanted
    finally:
        ticket.leave()
        gone.cancel()
        work.cancel()


async def _disconnected(request: Request) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)
