"""Builds ConceptNet's index from its published files: streamed, and gone on with after an interrupt.

Edges go to a database beside the index (.conceptnet.sqlite.part). How far a file was read is written in the same
transaction as the edges that were read, so the two cannot disagree. When all is read, the index is made of it, sorted,
and takes its place.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from heartfelt.errors import BadData, HeartfeltError
from heartfelt.knowledge.assertions import Broken, Edge, raw_lines, reader_of
from heartfelt.knowledge.conceptnet import Card, Source

PART = 50_000  # lines between two commits: what an interrupt loses
_OFTEN = 10_000_000  # steps of SQLite's machine between two signs of life, at which Ctrl-C is heard
_ENDS = 1 << 20  # bytes at either end of a file that tell it from another

_BEGIN = """
CREATE TABLE IF NOT EXISTS edges (start TEXT, relation TEXT, "end" TEXT, weight REAL);
CREATE TABLE IF NOT EXISTS sources (place INTEGER PRIMARY KEY, name, fingerprint, lines, taken, broken);
"""

# Two sources, or two senses of a word, may say the same: the greatest weight counts.
_FINISH = """
CREATE TABLE whole.relations (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
INSERT INTO whole.relations (name) SELECT DISTINCT relation FROM edges ORDER BY relation;
CREATE TABLE whole.facts (word TEXT, weight REAL, relation INTEGER, other TEXT, backwards INTEGER,
    PRIMARY KEY (word, weight, relation, other, backwards)) WITHOUT ROWID;
INSERT INTO whole.facts
    SELECT word, max(weight) AS weight, id, other, backwards FROM (
        SELECT start AS word, relation, "end" AS other, 0 AS backwards, weight FROM edges
        UNION ALL SELECT "end", relation, start, 1, weight FROM edges
    ) JOIN whole.relations ON name = relation
    GROUP BY word, id, other, backwards ORDER BY word, weight;
CREATE TABLE whole.card (json TEXT);
"""


def build(path: Path, files: Sequence[Path], step: Callable[[str], None] = lambda _: None) -> Card:
    """Make the index at `path` of these files. What was read before an interrupt is not read again."""
    readers = [reader_of(file) for file in files]  # what is no ConceptNet is refused before the long work
    begun, whole = (path.with_name(f".{path.name}.{end}") for end in ("part", "whole"))
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = [(file.name, _fingerprint(file)) for file in files]
    with _database(begun, wanted) as database:
        for place, (file, reader) in enumerate(zip(files, readers, strict=True)):
            for source in _read(database, place, file, reader):
                step(f"{file.name}: {source.lines:,} lines, {source.taken:,} taken")
        sources = _sources(database)
        if not any(source.taken for source in sources):
            raise BadData(f"No English edge in {', '.join(str(file) for file in files)}; no index was made")
        card = _finish(database, whole, sources, step)
    whole.replace(path)
    begun.unlink()
    return card


def _fingerprint(path: Path) -> str:
    """Tells a file from others by its size and its two ends; to read all of it would take a minute."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(b"%d" % size + head + file.read()).hexdigest()


@contextmanager
def _database(begun: Path, wanted: list[tuple[str, str]]) -> Iterator[sqlite3.Connection]:
    """What was read so far of these very files; of others, it is begun anew."""
    if begun.exists() and not _is_of(begun, wanted):
        begun.unlink()
    try:
        with closing(sqlite3.connect(begun, isolation_level=None)) as database:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.executescript(_BEGIN)
            for place, (name, fingerprint) in enumerate(wanted):
                row = (place, name, fingerprint)
                database.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, ?, 0, 0, 0)", row)
            yield database
    except sqlite3.OperationalError as problem:
        if "interrupted" in str(problem):  # by Ctrl-C, which SQLite hears through its progress handler
            raise KeyboardInterrupt from None
        why = "another build is at work there" if "locked" in str(problem) else str(problem)
        raise HeartfeltError(
            f"The index could not be written to {begun.parent}: {why}. What was read is kept: the same command goes on"
        ) from None


def _is_of(begun: Path, wanted: list[tuple[str, str]]) -> bool:
    try:
        with closing(sqlite3.connect(begun)) as database:
            return [(source.name, source.fingerprint) for source in _sources(database)] == wanted
    except sqlite3.OperationalError as problem:
        return "locked" in str(problem)  # leave it to whoever holds it
    except sqlite3.DatabaseError:
        return False


def _sources(database: sqlite3.Connection) -> tuple[Source, ...]:
    rows = database.execute("SELECT name, fingerprint, lines, taken, broken FROM sources ORDER BY place")
    return tuple(Source(*row) for row in rows)


def _read(
    database: sqlite3.Connection, place: int, file: Path, reader: Callable[[bytes], Edge | None]
) -> Iterator[Source]:
    """Read a file on from where it was left, a transaction a part; yields how far it is after each."""
    source = _sources(database)[place]
    done, broken = source.lines, source.broken
    edges: list[Edge] = []
    number, taken = done, source.taken

    def save() -> Source:
        database.execute("BEGIN")
        database.executemany("INSERT INTO edges VALUES (?, ?, ?, ?)", edges)
        counts = (number, taken + len(edges), broken, place)
        database.execute("UPDATE sources SET lines = ?, taken = ?, broken = ? WHERE place = ?", counts)
        database.execute("COMMIT")
        return _sources(database)[place]

    for number, line in raw_lines(file):
        if number <= done:
            continue
        edge = None
        try:
            edge = reader(line)
        except Broken:
            broken += 1
        if edge and edge.start != edge.end:
            edges.append(edge)
        if number % PART == 0:
            yield save()
            taken += len(edges)
            edges = []
    yield save()


def _finish(
    database: sqlite3.Connection, whole: Path, sources: tuple[Source, ...], step: Callable[[str], None]
) -> Card:
    whole.unlink(missing_ok=True)  # of a build that was stopped here
    database.set_progress_handler(lambda: step("sorting"), _OFTEN)
    try:
        database.execute("ATTACH ? AS whole", (str(whole),))
        database.executescript(f"BEGIN; {_FINISH}")
        ((edges,),) = database.execute("SELECT count(*) FROM whole.facts WHERE NOT backwards")
        card = Card(edges, sources)
        database.execute("INSERT INTO whole.card VALUES (?)", (msgspec.json.encode(card).decode(),))
        database.execute("COMMIT")
    except BaseException:
        database.set_progress_handler(None, 0)
        if database.in_transaction:
            database.execute("ROLLBACK")
        whole.unlink(missing_ok=True)
        raise
    database.execute("DETACH whole")
    return card
