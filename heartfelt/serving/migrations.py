"""The database's layout, step by step. A step that has been released is never changed: a new one follows it.

Every step runs once, in order, in a transaction of its own, and is written down in `heartfelt_schema`.
"""

from collections.abc import Callable

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    select,
    text,
)

from heartfelt.errors import BadData

META = MetaData()
SCHEMA = Table("heartfelt_schema", META, Column("step", Integer, primary_key=True))
SESSIONS = Table(
    "heartfelt_sessions", META,
    Column("id", String(64), primary_key=True),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("touched", DateTime(timezone=True), nullable=False, index=True),
)  # fmt: skip
TURNS = Table(
    "heartfelt_turns", META,
    Column("session", String(64), ForeignKey("heartfelt_sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("speaker", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("label", String(32)),
)  # fmt: skip
_LOCK = 0x4865617274  # PostgreSQL's: two servers that start together do not both migrate


def sessions_and_turns(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE TABLE heartfelt_sessions (id VARCHAR(64) PRIMARY KEY, created TIMESTAMP WITH TIME ZONE NOT NULL, "
            "touched TIMESTAMP WITH TIME ZONE NOT NULL)"
        )
    )
    connection.execute(
        text(
            "CREATE TABLE heartfelt_turns (session VARCHAR(64) NOT NULL REFERENCES heartfelt_sessions (id) "
            "ON DELETE CASCADE, place INTEGER NOT NULL, speaker VARCHAR(16) NOT NULL, text TEXT NOT NULL, "
            "PRIMARY KEY (session, place))"
        )
    )


def what_turns_express(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE heartfelt_turns ADD COLUMN label VARCHAR(32)"))


def find_old_sessions(connection: Connection) -> None:
    connection.execute(text("CREATE INDEX heartfelt_sessions_touched ON heartfelt_sessions (touched)"))


Steps = tuple[Callable[[Connection], None], ...]
STEPS: Steps = (sessions_and_turns, what_turns_express, find_old_sessions)


def migrate(engine: Engine, steps: Steps | None = None, schema: Table = SCHEMA) -> int:
    """Bring a database up to date; how many steps that took. Other rooms have steps and a schema table of their own."""
    steps = STEPS if steps is None else steps
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        schema.create(connection, checkfirst=True)
        done = connection.scalar(select(func.coalesce(func.max(schema.c.step), 0))) or 0
        if done > len(steps):
            raise BadData(
                f"The database is of a newer Heartfelt (step {done}; this one knows {len(steps)}): "
                "pip install -U heartfelt"
            )
        for number, step in enumerate(steps[done:], done + 1):
            step(connection)
            connection.execute(insert(schema).values(step=number))
    return len(steps) - done
