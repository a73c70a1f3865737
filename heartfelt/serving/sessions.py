"""Conversations that are stored: in SQLite, or in PostgreSQL by URL. Private data is masked before it is written.

Whoever knows a session's id may read it and delete it; ids are 256 random bits. What was answered was stored first.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import create_engine, delete, event, insert, make_url, select, text, update
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from heartfelt.agent.private import mask
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Reply, Turn
from heartfelt.errors import HeartfeltError, InvalidValue, MissingExtra
from heartfelt.serving.messages import top
from heartfelt.serving.migrations import SESSIONS, TURNS, migrate
from heartfelt.serving.problems import Refused


class Sessions:
    def __init__(self, engine: Engine, keep_days: float) -> None:
        self._engine, self._keep = engine, timedelta(days=keep_days)

    def new(self) -> str:
        name = secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        with self._at_work() as connection:
            self._forget_old(connection)
            connection.execute(insert(SESSIONS).values(id=name, created=now, touched=now))
        return name

    def turns(self, name: str) -> list[Turn]:
        with self._at_work() as connection:
            self._known(connection, name)
            rows = connection.execute(select(TURNS).where(TURNS.c.session == name).order_by(TURNS.c.place))
            return [Turn(row.speaker, row.text, row.label) for row in rows]

    def with_history(self, name: str, dialogue: Dialogue) -> Dialogue:
        """The stored talk, and the new message after it."""
        said = self.turns(name)
        return msgspec.structs.replace(dialogue, turns=(*said, dialogue.turns[-1]))

    def add(self, name: str, place: int, message: Turn, reply: Reply) -> None:
        """A message and its answer, both or neither, as the turns at `place` and after it."""
        turns = (Turn(SPEAKER, message.text), Turn(LISTENER, reply.text, top(reply.plan)))
        rows = [
            {
                "session": name,
                "place": place + i,
                "speaker": turn.speaker,
                "text": mask(turn.text),
                "label": turn.label,
            }
            for i, turn in enumerate(turns)
        ]
        try:
            with self._at_work() as connection:
                self._known(connection, name)
                connection.execute(insert(TURNS), rows)
                now = datetime.now(UTC)
                connection.execute(update(SESSIONS).where(SESSIONS.c.id == name).values(touched=now))
        except IntegrityError:
            raise Refused(409, "Another message of this session was answered meanwhile; ask again") from None

    def delete(self, name: str) -> None:
        with self._at_work() as connection:
            self._known(connection, name)
            connection.execute(delete(SESSIONS).where(SESSIONS.c.id == name))

    def forget_old(self) -> None:
        with self._at_work() as connection:
            self._forget_old(connection)

    def alive(self) -> bool:
        try:
            with self._at_work() as connection:
                connection.execute(text("SELECT 1"))
        except Refused:
            return False
        return True

    def close(self) -> None:
        self._engine.dispose()

    def _forget_old(self, connection: Connection) -> None:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.touched < datetime.now(UTC) - self._keep))

    def _known(self, connection: Connection, name: str) -> None:
        if connection.scalar(select(SESSIONS.c.id).where(SESSIONS.c.id == name)) is None:
            raise Refused(404, "There is no such session; it may have been deleted", "session_not_found")

    @contextmanager
    def _at_work(self) -> Iterator[Connection]:
        """A transaction. A database that does not answer is said in a line, without what was to be written."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as problem:
            kind = type(problem).__name__
            message = f"The database does not answer ({kind}); nothing of this request was stored"
            raise Refused(503, message, "database_gone", {"Retry-After": "5"}) from None


def open_sessions(url: str, keep_days: float = 30.0) -> Sessions:
    """url: sqlite:///file.db, postgresql://user@host/database; or the path of an SQLite file."""
    if keep_days <= 0:
        raise InvalidValue(f"Conversations are kept for more than {keep_days} days, or not stored at all")
    engine = open_engine(url)
    try:
        migrate(engine)
        found = Sessions(engine, keep_days)
        found.forget_old()
        return found
    except SQLAlchemyError as problem:
        said = " ".join(str(getattr(problem, "orig", None) or problem).split())
        raise HeartfeltError(f"The database {engine.url!r} cannot be used: {said}") from None


def open_engine(url: str) -> Engine:
    """A database by URL, or an SQLite file by its path; the file is its owner's alone."""
    if "://" not in url:
        path = Path(url).expanduser().resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)  # talks are their owner's alone
        url = f"sqlite:///{path}"
    if url.startswith(("postgresql://", "postgres://")):
        url = "postgresql+psycopg://" + url.partition("://")[2]
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise ArgumentError
        # Connections that died while the database was away are noticed before they are used.
        engine = create_engine(parsed, pool_pre_ping=True, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError):
        raise InvalidValue(
            "The database's URL is sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        ) from None
    except ImportError:
        raise MissingExtra("PostgreSQL needs psycopg: pip install 'heartfelt[postgres]'") from None
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _with_foreign_keys)
    return engine


def _with_foreign_keys(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")  # or a deleted session would leave its turns behind
    connection.execute("PRAGMA journal_mode = WAL")
