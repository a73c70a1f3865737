"""What goes wrong, as a client hears it: a status and OpenAI's shape of an error, with a message that helps.

{"error": {"message": "There is no model 'gpt'. …", "type": "invalid_request_error", "param": null, "code": "…"}}
"""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from heartfelt.agent.generator import NotWanted
from heartfelt.agent.openai_server import ServerDown
from heartfelt.errors import HeartfeltError, InvalidValue, UnknownName

_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


class Refused(HeartfeltError):
    """A request that is not answered, and why."""

    def __init__(
        self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers or {}


def status_of(problem: Exception) -> int:
    match problem:
        case Refused():
            return problem.status
        case UnknownName() | InvalidValue():
            return 400
        case NotWanted():
            return 504
        case ServerDown():
            return 503
        case _:
            return 500


def told(problem: Exception) -> dict[str, Any]:
    """An error as a client reads it. What we did not foresee says nothing of our insides."""
    status = status_of(problem)
    known = isinstance(problem, HeartfeltError)
    message = str(problem) if known else "Something went wrong here; the server's log says what"
    if isinstance(problem, NotWanted):
        message = "It took too long: ask again, for less (max_tokens, heartfelt.candidates), or later"
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = problem.code if isinstance(problem, Refused) else ""
    return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


def response(problem: Exception) -> JSONResponse:
    headers = problem.headers if isinstance(problem, Refused) else {}
    return JSONResponse(told(problem), status_of(problem), headers)


def tell_in_this_shape(app: FastAPI) -> None:
    """Every error that leaves the app has the one shape."""

    async def ours(_: Request, problem: Exception) -> JSONResponse:
        return response(problem)

    async def http(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, HTTPException)
        return response(
            Refused(problem.status_code, str(problem.detail), headers=dict(problem.headers or {}))
        )

    async def invalid(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, RequestValidationError)
        # Where and what; not the value, which may be what somebody said.
        wrong = [
            f"{'.'.join(str(part) for part in one['loc'][1:]) or 'body'}: {one['msg']}"
            for one in problem.errors()
        ]
        return response(Refused(400, "; ".join(wrong[:5])))

    app.add_exception_handler(HeartfeltError, ours)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, ours)
