"""The commands `heartfelt study new | check | serve | links | status | backup`."""

import json
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from heartfelt.agent.chat_commands import agent_options, load_agent
from heartfelt.errors import need
from heartfelt.study.file import KINDS, Study, load
from heartfelt.terminal import console, printable, table

_PATH = click.Path(path_type=Path)
KEY = "HEARTFELT_STUDY_KEY"
file_argument = click.argument("file", type=_PATH)
database_option = click.option("--database", help="Where its answers are, if not where the study file says.")


def opened(file: Path, database: str | None) -> Any:
    """The store of a study that has begun."""
    need("sqlalchemy", "serve", "heartfelt study")
    from heartfelt.study.store import database_of, open_store

    study = load(file)
    store = open_store(study, database_of(study, file.parent, database))
    store.recall()
    return store


@click.command()
@click.argument("folder", type=_PATH)
@click.option(
    "--kind", type=click.Choice(KINDS), default="likert", show_default=True, help="What people do in it."
)
@click.option(
    "--language", type=click.Choice(("en", "ar")), default="en", show_default=True, help="Of its pages."
)
def new(folder: Path, kind: str, language: str) -> None:
    """Write a study to begin with: a study file, and a few items to try it with."""
    from heartfelt.study.new import new_study

    path = new_study(folder, kind, language)
    print(f"{path}: change it to what you study, then heartfelt study check {path}")


@click.command()
@file_argument
def check(file: Path) -> None:
    """Read a study file and everything that it names; say what is wrong, all at once, or what it comes to."""
    study = load(file)
    print(f"{study.name}: {_comes_to(study, file.parent)}")


def _comes_to(study: Study, folder: Path) -> str:
    from heartfelt.study.items import batches_of, items_of

    if study.kind == "collect":
        own = study.collect
        turns = f"{own.least_turns}-{own.most_turns} turns"
        return f"talks of {turns} about {len(own.emotions)} emotions, with {own.partner}"
    items = items_of(study, folder)
    batches, raters = batches_of(study, items), study.batches.raters
    systems = sorted({system for item in items for system in item.replies})
    return (
        f"{len(items):,} items of {len(systems)} systems ({', '.join(systems)}) in {len(batches):,} batches, "
        f"each by {raters} raters: {len(items) * raters:,} answers"
    )


@click.command()
@file_argument
@database_option
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 lets other machines in.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8010, show_default=True, help="0: any that is free."
)
@click.option("--key", help=f"Of the admin page; or ${KEY}; else one is made and printed.")
@agent_options
def serve(file: Path, database: str | None, host: str, port: int, key: str | None, **options: Any) -> None:
    """Serve a study: raters at /, whoever leads it at /admin. An answer is on disk before the page says saved."""
    uvicorn = need("uvicorn", "serve", "heartfelt study serve")
    need("fastapi", "serve", "heartfelt study serve")
    from heartfelt.serving.commands import announced
    from heartfelt.study.app import make_study_app
    from heartfelt.study.store import begin, database_of

    study = load(file)
    if study.kind == "collect":
        need("websockets", "serve", "A collection study")
    store = begin(study, file.parent, database_of(study, file.parent, database))
    given = key or os.environ.get(KEY) or secrets.token_urlsafe(12)
    if not (key or os.environ.get(KEY)):
        print(f"The admin page's key is {given}", file=sys.stderr)
    app = make_study_app(store, given, _agent(study, options))
    config = uvicorn.Config(
        app, host, port, log_level="warning", access_log=False, timeout_graceful_shutdown=10, server_header=False,
        ws_max_size=64 * 1024,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):
        announced(uvicorn.Server(config), host, port, f"The study {study.name} is on")


def _agent(study: Study, options: dict[str, Any]) -> Callable[..., str] | None:
    if study.kind != "collect" or study.collect.partner == "people":
        return None
    agent = load_agent(**options)
    return lambda dialogue: agent.reply(dialogue).text


@click.command()
@file_argument
@database_option
@click.option("--count", type=click.IntRange(1, 10_000), default=1, show_default=True, help="New links.")
@click.option("--url", default="http://127.0.0.1:8010", show_default=True, help="Where the study is served.")
def links(file: Path, database: str | None, count: int, url: str) -> None:
    """Make links, one a rater: who has one needs no account and comes back to where they were."""
    need("sqlalchemy", "serve", "heartfelt study")
    from heartfelt.study.store import begin, database_of

    study = load(file)
    store = begin(study, file.parent, database_of(study, file.parent, database))
    for _ in range(count):
        print(f"{url.rstrip('/')}/r/{store.join()}")
    store.close()


@click.command()
@file_argument
@database_option
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(file: Path, database: str | None, as_json: bool) -> None:
    """How far a study is, and its raters; also while it runs."""
    store = opened(file, database)
    from heartfelt.study.status import status as of

    found = of(store)
    store.close()
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    out = console()
    out.print(f"{found['study']} ({found['kind']})")
    out.print(", ".join(f"{name} {value}" for name, value in found["figures"].items()))
    if found["raters"]:
        columns = list(found["raters"][0])
        rows = table(*columns)
        for rater in found["raters"]:
            rows.add_row(*(printable("" if rater[name] is None else str(rater[name])) for name in columns))
        out.print(rows)


@click.command()
@file_argument
@database_option
@click.option("--to", type=_PATH, required=True, help="A file that is not there yet.")
def backup(file: Path, database: str | None, to: Path) -> None:
    """Copy a study's SQLite database, whole, also while it is served (PostgreSQL: pg_dump)."""
    store = opened(file, database)
    store.backup(to)
    store.close()
    print(to)
