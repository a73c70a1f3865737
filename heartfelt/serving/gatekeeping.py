"""Before any route: is the key right, is the body of a sound size? And what every response carries.

Plain ASGI, not Starlette's BaseHTTPMiddleware, which hides from a stream that its client has gone.
"""

import hmac
from collections.abc import Iterable
from time import perf_counter
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.serving.metrics import Metrics
from heartfelt.serving.problems import Refused, response

OPEN = ("/health", "/ready", "/", "/favicon.ico")  # without a key
OPEN_FOLDERS = ("/static/",)
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)


class Gatekeeper:
    def __init__(self, app: ASGIApp, keys: Iterable[str], body_limit: int, metrics: Metrics) -> None:
        self._app, self._keys, self._limit, self._metrics = (
            app,
            [key.encode() for key in keys],
            body_limit,
            metrics,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = self._guarded(scope, send)
        try:
            self._check(scope)
            await self._app(scope, self._limited(receive), guarded)
        except Refused as problem:
            await response(problem)(scope, receive, guarded)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        path = unquote(scope["path"])
        free = path in OPEN or path.startswith(OPEN_FOLDERS) or scope["method"] == "OPTIONS"
        if self._keys and not free:
            given = headers.get(b"authorization", b"").removeprefix(b"Bearer ").strip()
            # Each is compared in full, so that time tells nothing.
            if not sum(hmac.compare_digest(given, key) for key in self._keys):
                how = "send one as Authorization: Bearer KEY" if not given else "this one is not known here"
                raise Refused(
                    401, f"A key is needed; {how}", "invalid_api_key", {"WWW-Authenticate": "Bearer"}
                )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limit:
            raise self._too_large()

    def _limited(self, receive: Receive) -> Receive:
        """A body without a length is counted as it comes."""
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limit:
                problem = self._too_large()
                raise HTTPException(problem.status, str(problem))  # any other is a bad body to FastAPI
            return message

        return counted

    def _too_large(self) -> Refused:
        return Refused(
            413, f"A request has at most {self._limit:,} bytes", "request_too_large", {"Connection": "close"}
        )

    def _guarded(self, scope: Scope, send: Send) -> Send:
        started = perf_counter()

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()), *(pair for pair in _HEADERS if pair[0] not in own),
                    (b"server-timing", f"app;dur={1000 * (perf_counter() - started):.0f}".encode()),
                ]  # fmt: skip
                route = getattr(
                    scope.get("route"), "path", "none"
                )  # the pattern: no path that somebody made up
                self._metrics.requests.labels(route, str(message["status"])).inc()
            await send(message)

        return with_headers
