"""Where a study lives: SQLite, or PostgreSQL by URL. What the page calls saved is committed, with its file synced.

Every change takes the study's one lock, so that no two raters get the last place of a batch. Raters have links, not
accounts: a link's token is the rater's id and a code that only this database's secret can make.
"""

import base64
import hashlib
import hmac
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
from sqlalchemy import delete, event, func, insert, select, text, update
from sqlalchemy.engine import Connection, Engine, RowMapping
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from heartfelt.errors import BadData, HeartfeltError, InvalidValue
from heartfelt.serving.migrations import migrate
from heartfelt.serving.problems import Refused
from heartfelt.serving.sessions import open_engine
from heartfelt.study.file import Study
from heartfelt.study.items import Item, attention_items, batches_of, items_of
from heartfelt.study.migrations import ITEMS, RATERS, SCHEMA, STEPS, STUDIES, VISITS, WORK

_LOCK = 0x5374756479  # PostgreSQL's, with a checksum of the study's name
_WORKER = 200  # characters of a platform's worker id


class Store:
    def __init__(self, engine: Engine, study: Study, clock: Callable[[], float] = time.time) -> None:
        self.engine, self.study, self.clock = engine, study, clock
        self.secret = b""
        self.items: dict[int, Item] = {}  # by number
        self.batches: dict[int, list[int]] = {}  # batch → its items' numbers
        self.attention: list[int] = []

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._at_work(self.engine) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer of this study overlaps; it is on disk when the block is left."""
        with self._at_work(self.engine.execution_options(writes=True)) as connection:
            if self.engine.dialect.name == "postgresql":
                lock = _LOCK * 2**20 + crc32(self.study.name.encode()) % 2**20
                connection.execute(text(f"SELECT pg_advisory_xact_lock({lock})"))
            yield connection

    @contextmanager
    def _at_work(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as problem:
            kind = type(problem).__name__
            message = f"The database does not answer ({kind}); nothing of this was saved"
            raise Refused(503, message, "database_gone", {"Retry-After": "2"}) from None

    # -- raters ------------------------------------------------------------------------------------------------------

    def join(self, worker: str | None = None) -> str:
        """A rater's token: a new rater's, or, with a worker's id that came before, the same one's again."""
        if worker is not None and not 0 < len(worker.strip()) <= _WORKER:
            raise InvalidValue(f"A worker's id has 1 to {_WORKER} characters")
        with self.writing() as connection:
            if worker is not None:
                mine = (RATERS.c.study == self.study.name) & (RATERS.c.worker == worker.strip())
                if known := connection.scalar(select(RATERS.c.id).where(mine)):
                    return self.token(known)
            rater = f"r{secrets.token_hex(6)}"
            own = worker.strip() if worker is not None else None
            connection.execute(
                insert(RATERS).values(id=rater, study=self.study.name, worker=own, created=self.clock())
            )
        return self.token(rater)

    def token(self, rater: str) -> str:
        code = hmac.new(self.secret, f"{self.study.name} {rater}".encode(), hashlib.sha256).digest()
        return f"{rater}.{base64.urlsafe_b64encode(code[:18]).decode()}"

    def rater(self, connection: Connection, token: str) -> RowMapping:
        """Whose token this is; forged ones are unknown ones."""
        name = token.partition(".")[0]
        if hmac.compare_digest(self.token(name).encode(), token.encode()):
            mine = (RATERS.c.id == name) & (RATERS.c.study == self.study.name)
            if found := connection.execute(select(RATERS).where(mine)).mappings().first():
                return found
        raise Refused(404, "This link is not known here; ask for a new one", "unknown_link")

    def mark(self, token: str, column: str, value: Any = None) -> None:
        """Consent given, instructions read: written once."""
        with self.writing() as connection:
            rater = self.rater(connection, token)
            if rater[column] is None:
                now = self.clock() if value is None else value
                connection.execute(update(RATERS).where(RATERS.c.id == rater["id"]).values({column: now}))

    def survey(self, token: str, given: dict[str, str]) -> None:
        asked = {one.name: one for one in self.study.survey}
        if odd := sorted(set(given) - set(asked)):
            raise InvalidValue(f"The survey has no question '{odd[0][:60]}'")
        for name, question in asked.items():
            said = given.get(name, "").strip()
            if question.required and not said:
                raise InvalidValue(f"This question wants an answer: {question.ask}")
            if said and question.options and said not in question.options:
                raise InvalidValue(f"'{said[:60]}' is no answer to: {question.ask}")
        with self.writing() as connection:
            rater = self.rater(connection, token)
            values = {"survey": json.dumps(given, ensure_ascii=False), "surveyed": self.clock()}
            if rater["surveyed"] is None:
                connection.execute(update(RATERS).where(RATERS.c.id == rater["id"]).values(values))

    # -- beginning and ending ------------------------------------------------------------------------------------------

    def register(self, items: list[Item], file: str) -> None:
        """Put the study's items into the database, once; later it must be the same study."""
        with self.writing() as connection:
            known = (
                connection.execute(select(STUDIES).where(STUDIES.c.name == self.study.name))
                .mappings()
                .first()
            )
            print_ = self.study.fingerprint() + crc32(msgspec.json.encode(items)).to_bytes(4).hex()
            if known and known["fingerprint"] != print_:
                self._replace(connection)
                known = None
            if known is None:
                self._import(connection, items, file, print_)
        self.recall()

    def _import(self, connection: Connection, items: list[Item], file: str, fingerprint: str) -> None:
        name = self.study.name
        values = {
            "fingerprint": fingerprint,
            "secret": secrets.token_hex(32),
            "file": file,
            "created": self.clock(),
        }
        connection.execute(insert(STUDIES).values(name=name, **values))
        batches = batches_of(self.study, items)
        placed: list[tuple[int | None, Item]] = [
            (i, item) for i, batch in enumerate(batches) for item in batch
        ]
        placed += [(None, item) for item in attention_items(self.study)]
        if placed:
            rows = [
                {"study": name, "number": i, "batch": batch, "content": item.to_json()}
                for i, (batch, item) in enumerate(placed)
            ]
            connection.execute(insert(ITEMS), rows)

    def _replace(self, connection: Connection) -> None:
        """Another study under the same name: fine while nobody has begun, refused after that."""
        name = self.study.name
        begun = sum(
            connection.scalar(select(func.count()).select_from(table).where(table.c.study == name)) or 0
            for table in (WORK, VISITS)
        )
        if begun:
            raise BadData(
                f"The study '{name}' has begun with other items or questions: give the new one another name, or "
                "another database"
            )
        connection.execute(delete(RATERS).where(RATERS.c.study == name))
        connection.execute(delete(ITEMS).where(ITEMS.c.study == name))
        connection.execute(delete(STUDIES).where(STUDIES.c.name == name))

    def recall(self) -> None:
        """What does not change while a study runs, from the database."""
        name = self.study.name
        with self.reading() as connection:
            secret = connection.scalar(select(STUDIES.c.secret).where(STUDIES.c.name == name))
            if secret is None:
                raise BadData(f"The study '{name}' has not begun: heartfelt study serve begins it")
            self.secret = secret.encode()
            rows = connection.execute(
                select(ITEMS).where(ITEMS.c.study == name).order_by(ITEMS.c.number)
            ).mappings()
            for row in rows:
                self.items[row["number"]] = Item.from_json(row["content"])
                if row["batch"] is None:
                    self.attention.append(row["number"])
                else:
                    self.batches.setdefault(row["batch"], []).append(row["number"])

    def backup(self, path: Path) -> None:
        """A copy of an SQLite study while it runs: SQLite's own, whole and consistent."""
        if self.engine.dialect.name != "sqlite":
            raise InvalidValue("PostgreSQL has its own backups: pg_dump, while the study runs")
        if path.exists():
            raise InvalidValue(f"{path} is there already; name another file")
        part = path.with_name(f".{path.name}.part")
        part.unlink(missing_ok=True)
        part.touch(0o600)
        source = sqlite3.connect(str(self.engine.url.database))
        target = sqlite3.connect(part)
        try:
            source.backup(target)
        finally:
            target.close()
            source.close()
        part.replace(path)

    def alive(self) -> bool:
        try:
            with self.reading() as connection:
                connection.execute(text("SELECT 1"))
        except Refused:
            return False
        return True

    def close(self) -> None:
        self.engine.dispose()


def database_of(study: Study, folder: Path, named: str | None = None) -> str:
    """Where a study's answers are: --database, or the file's `database`, or NAME.db beside the study file."""
    chosen = named or study.database or f"{study.name}.db"
    return chosen if "://" in chosen or named else str(folder / chosen)


def open_store(study: Study, url: str, clock: Callable[[], float] = time.time) -> Store:
    engine = open_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _own_transactions)
        event.listen(engine, "begin", _begin)
    try:
        migrate(engine, STEPS, SCHEMA)
    except SQLAlchemyError as problem:
        said = " ".join(str(getattr(problem, "orig", None) or problem).split())
        raise HeartfeltError(f"The database {engine.url!r} cannot be used: {said}") from None
    return Store(engine, study, clock)


def begin(study: Study, folder: Path, url: str, clock: Callable[[], float] = time.time) -> Store:
    """Open a study's database, and put its items in if this is the first time."""
    items = [] if study.kind == "collect" else items_of(study, folder)
    store = open_store(study, url, clock)
    store.register(items, msgspec.json.encode(study).decode())
    return store


def _own_transactions(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # or Python's sqlite3 begins them too late to hold a lock
    connection.execute("PRAGMA busy_timeout = 30000")
    connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk, not only in the machine's memory


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
