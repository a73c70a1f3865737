"""Dialogues that are there twice, word for word or nearly, within a film and across films: the first of them stays.

MinHash with banding (Broder 1997), a band at a time over signatures on disk: what is in memory is
sixteen bytes a dialogue, not its text. Likeness is the share of a signature's numbers that agree.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heartfelt.corpora.near_duplicates import BANDS, NEAR, ROWS, shingles
from heartfelt.dialogue import Dialogue
from heartfelt.text import normalized

Signatures = NDArray[np.uint32]  # (dialogues, BANDS * ROWS)


def signed(dialogues: Sequence[Dialogue]) -> Signatures:
    """The signatures of dialogues, of all that is said in them."""
    draw = np.random.default_rng(0)
    # Multiply-shift over 64 bits that wrap: with fewer, the smallest hash would be the smallest under most of them, and
    # the numbers of a signature would agree or differ together.
    factors = draw.integers(1 << 62, 1 << 63, BANDS * ROWS, dtype=np.uint64) | np.uint64(1)
    offsets = draw.integers(0, 1 << 63, BANDS * ROWS, dtype=np.uint64)
    found = np.empty((len(dialogues), BANDS * ROWS), np.uint32)
    for i, dialogue in enumerate(dialogues):
        text = normalized(" ".join(turn.text for turn in dialogue.turns))
        hashes = np.frombuffer(b"".join(_hash(part) for part in shingles(text)), np.uint64)
        found[i] = ((hashes[:, None] * factors + offsets) >> np.uint64(32)).min(axis=0)
    return found


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


class Stored:
    """Signatures in files, one after the other, as one table that is never read whole."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._parts: list[Signatures] = [np.load(path, mmap_mode="r") for path in paths]
        self.starts = np.cumsum([0, *(len(part) for part in self._parts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def band(self, number: int) -> NDArray[np.void]:
        """One band of all signatures, each as one value."""
        columns = slice(number * ROWS, (number + 1) * ROWS)
        whole = np.concatenate([np.ascontiguousarray(part[:, columns]) for part in self._parts])
        return whole.view(np.dtype((np.void, ROWS * 4))).ravel()

    def rows(self, places: NDArray[np.int64]) -> Signatures:
        found = np.empty((len(places), BANDS * ROWS), np.uint32)
        parts = np.searchsorted(self.starts, places, side="right") - 1
        for number in np.unique(parts):
            chosen = parts == number
            found[chosen] = self._parts[number][places[chosen] - self.starts[number]]
        return found


def twins(stored: Stored, near: float = NEAR) -> NDArray[np.int64]:
    """For each dialogue the earlier one that it repeats, or -1.

    In a band's bucket each is compared with the first and with the one before it, so that a bucket of n costs n.
    """
    found = np.full(len(stored), -1, np.int64)
    if not len(stored):
        return found
    for number in range(BANDS):
        _, bucket = np.unique(stored.band(number), return_inverse=True)
        order = np.argsort(bucket, kind="stable")
        sorted_ = bucket[order]
        starts = np.r_[0, np.flatnonzero(np.diff(sorted_)) + 1]
        first = order[np.repeat(starts, np.diff(np.r_[starts, len(order)]))]
        before = np.r_[order[:1], order[:-1]]
        for other in (first, before):
            pairs = (other < order) & (bucket[other] == sorted_) & (found[order] < 0)
            later, earlier = order[pairs], other[pairs]
            for part in range(0, len(later), 100_000):
                a, b = later[part : part + 100_000], earlier[part : part + 100_000]
                like = (stored.rows(a) == stored.rows(b)).mean(axis=1) >= near
                found[a[like]] = b[like]
    return found
