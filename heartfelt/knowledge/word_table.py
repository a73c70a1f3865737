"""A table from words to rows of numbers in one file, memory-mapped: a look-up reads a few pages, not the file.

header    64 bytes: mark, words, numbers a word, bytes of text, SHA-256 of what follows
rows      (words, numbers) float32, in the order in which they came
places    (words,) uint32: which row belongs to the i-th word of the alphabet
ends      (words,) uint32: where the i-th word ends in the text
text      the words as UTF-8, sorted by their bytes, one after the other
"""

import hashlib
import mmap
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, MissingData
from heartfelt.files import writing

Row = NDArray[np.float32]
_HEADER = struct.Struct("<8sQQQ32s")
_MARK = b"HFWORDS1"


def write(path: Path, rows: Iterable[tuple[str, Sequence[float] | NDArray[Any]]]) -> int:
    """Write a table; of a word that comes twice the first row counts. Returns how many words it has."""
    places: dict[str, int] = {}
    size = 0
    digest = hashlib.sha256()
    with writing(path, "wb") as file:

        def put(numbers: NDArray[Any]) -> None:
            raw = numbers.tobytes()
            digest.update(raw)
            file.write(raw)

        file.write(bytes(_HEADER.size))
        for word, numbers in rows:
            if word not in places:
                places[word] = len(places)
                size = len(numbers)
                put(np.asarray(numbers, np.float32))
        order = sorted((word.encode(), place) for word, place in places.items())
        put(np.array([place for _, place in order], np.uint32))
        put(np.cumsum([len(word) for word, _ in order], dtype=np.uint32))
        text = b"".join(word for word, _ in order)
        put(np.frombuffer(text, np.uint8))
        file.seek(0)
        file.write(_HEADER.pack(_MARK, len(order), size, len(text), digest.digest()))
    return len(places)


class WordTable:
    """Word → row, or None."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                count, size, self.sha256 = _header(path, file)
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise MissingData(f"There is no file {path}: heartfelt knowledge build") from None
        start = _HEADER.size
        self._rows = np.frombuffer(self._bytes, np.float32, count * size, start).reshape(count, size)
        start += self._rows.nbytes
        self._places = np.frombuffer(self._bytes, np.uint32, count, start)
        self._ends = np.frombuffer(self._bytes, np.uint32, count, start + 4 * count)
        self._text = start + 8 * count

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Numbers a word."""
        return int(self._rows.shape[1])

    def get(self, word: str) -> Row | None:
        wanted = word.encode()
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._word(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(self) or self._word(low) != wanted:
            return None
        row: Row = self._rows[self._places[low]]
        return row

    def _word(self, index: int) -> bytes:
        start = int(self._ends[index - 1]) if index else 0
        return self._bytes[self._text + start : self._text + int(self._ends[index])]


def _header(path: Path, file: IO[bytes]) -> tuple[int, int, str]:
    raw = file.read(_HEADER.size)
    if len(raw) == _HEADER.size:
        mark, count, size, length, digest = _HEADER.unpack(raw)
        whole = _HEADER.size + 4 * count * size + 8 * count + length
        if mark == _MARK and path.stat().st_size == whole:
            return count, size, digest.hex()
    raise BadData(f"{path} is not a whole table of words: heartfelt knowledge build")
