"""The command `heartfelt serve`."""

import os
import sys
from contextlib import suppress
from typing import Any

import click

from heartfelt.agent.chat_commands import agent_options, load_agent
from heartfelt.agent.generator import Generator
from heartfelt.errors import HeartfeltError, InvalidValue, need
from heartfelt.serving.settings import BODY_LIMIT, ServeSettings

_DRAIN = 30  # seconds that those who are being answered have when the server is told to go
KEYS = "HEARTFELT_KEYS"


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets other machines in: set keys then."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free."
)
@click.option(
    "--key", "keys", multiple=True, help=f"A bearer key that requests must carry; or ${KEYS}, with commas."
)
@click.option(
    "--another-backend",
    "others",
    multiple=True,
    help="The URL of one more server beside --backend; may repeat.",
)
@click.option(
    "--slots", type=click.IntRange(1, 256), default=4, show_default=True, help="Replies written side by side."
)
@click.option(
    "--waiting",
    type=click.IntRange(min=0),
    default=32,
    show_default=True,
    help="Requests that may wait; those after them are told to come back (429).",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="For a request, waiting included.",
)
@click.option(
    "--body-limit",
    type=click.IntRange(min=1024),
    default=BODY_LIMIT,
    show_default=True,
    help="Bytes of a request.",
)
@click.option(
    "--sessions",
    help="Store conversations: an SQLite file, or postgresql://USER@HOST/DATABASE. Else nothing is.",
)
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Stored conversations that nobody goes on with are deleted after so many days.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="A web page elsewhere that may ask (CORS): https://example.org.",
)
@click.option("--no-page", is_flag=True, help="Serve the API alone.")
@agent_options
def serve(
    host: str, port: int, keys: tuple[str, ...], others: tuple[str, ...], slots: int, waiting: int,
    seconds: float, body_limit: int, sessions: str | None, keep_days: float, origins: tuple[str, ...], no_page: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Serve an OpenAI-compatible API, and a page to talk on, on this machine.

    SIGTERM or Ctrl-C: nobody new is let in, whoever is being answered is answered to the end.
    """
    uvicorn = need("uvicorn", "serve", "heartfelt serve")
    need("fastapi", "serve", "heartfelt serve")
    from heartfelt.serving.app import make_app

    keys = (*keys, *(key.strip() for key in os.environ.get(KEYS, "").split(",") if key.strip()))
    if host not in ("127.0.0.1", "localhost", "::1") and not keys:
        print(
            "Other machines may reach this server, and nobody needs a key: --key, or $" + KEYS,
            file=sys.stderr,
        )
    settings = ServeSettings(
        keys,
        slots,
        waiting,
        seconds,
        body_limit,
        origins,
        sessions,
        keep_days,
        options["locale"],
        not no_page,
    )
    agent = load_agent(**options, slots=slots, ahead=True)
    agent.generator = with_retries(agent.generator, options["backend"], others)
    app = make_app(agent, settings)
    config = uvicorn.Config(
        app, host, port, log_level="warning", access_log=False, timeout_graceful_shutdown=_DRAIN,
        server_header=False, h11_max_incomplete_event_size=64 * 1024,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):  # uvicorn raises it again once everybody has been answered
        announced(uvicorn.Server(config), host, port)


def announced(server: Any, host: str, port: int, what: str = "Heartfelt listens on") -> None:
    """Run a server that says where it listens once it does, and fails in a line where it cannot."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=512)
    except OSError as problem:
        raise HeartfeltError(
            f"Cannot listen on {host}:{port}: {problem.strerror}; name another --port"
        ) from None
    where = f"[{host}]" if ":" in host else host
    # To standard error, as all that is not a result.
    print(f"{what} http://{where}:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    server.run(sockets=[listening])


def with_retries(first: Generator, url: str | None, others: tuple[str, ...]) -> Generator:
    """A backend by URL gets retries and a circuit breaker; several share the work."""
    from heartfelt.agent.openai_server import OpenAIServer
    from heartfelt.serving.breaker import Backends

    if not isinstance(first, OpenAIServer):
        if others:
            raise InvalidValue(
                f"--another-backend joins a backend that is a URL, not {url or 'the shipped model'}"
            )
        return first
    return Backends([first, *(OpenAIServer(other) for other in others)])
