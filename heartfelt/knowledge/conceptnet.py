"""ConceptNet in one file (SQLite): every English edge from both of its ends, so that a look-up is one step.

Rows are kept in the order (word, weight): what is asked for, the edges of a word from some weight on, lies together,
and a word with a hundred thousand weak edges costs no more than another.
"""

import sqlite3
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from heartfelt.errors import BadData, MissingData


class Source(msgspec.Struct, frozen=True):
    """What was read of a file."""

    name: str
    fingerprint: str
    lines: int
    taken: int  # lines that are edges we keep
    broken: int  # lines that are no edges; the rest is of other languages


class Card(msgspec.Struct, frozen=True):
    edges: int  # each is in the file from both ends
    sources: tuple[Source, ...]


class Neighbour(NamedTuple):
    """What a word is tied to."""

    relation: str
    concept: str
    weight: float
    backwards: bool  # the edge goes from the concept to the word


class ConceptNet:
    """The index, opened for reading."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise MissingData(f"There is no file {path}: heartfelt knowledge build")
        self._path = path
        try:
            # Nobody writes to it: a new index is a new file that takes its place.
            place = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._database = sqlite3.connect(place, uri=True, check_same_thread=False)
            ((card,),) = self._database.execute("SELECT json FROM card")
            self.card = msgspec.json.decode(card, type=Card)
            self._relations = dict(self._database.execute("SELECT id, name FROM relations"))
        except (sqlite3.DatabaseError, ValueError, TypeError) as problem:
            raise self._broken(problem) from None

    def __len__(self) -> int:
        return self.card.edges

    def about(self, word: str, least: float = 0.0) -> list[Neighbour]:
        """What a word is tied to by edges of at least this weight, the strongest first."""
        question = (
            "SELECT relation, other, weight, backwards FROM facts WHERE word = ? AND weight >= ? "
            "ORDER BY weight DESC, relation DESC, other DESC, backwards DESC"
        )
        try:
            rows = self._database.execute(question, (word, least)).fetchall()
        except sqlite3.DatabaseError as problem:
            raise self._broken(problem) from None
        return [
            Neighbour(self._relations[relation], other, weight, bool(backwards))
            for relation, other, weight, backwards in rows
        ]

    def _broken(self, problem: Exception) -> BadData:
        return BadData(f"{self._path} is not a whole index ({problem}): heartfelt knowledge build")
