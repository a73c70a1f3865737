"""Openings that occur in two splits, word for word or nearly: a leak between training and test.

Nearly the same = Jaccard similarity of their word trigrams at least NEAR, found by MinHash with banding
(Broder 1997): signatures that agree on a whole band become pairs to compare.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from heartfelt.text import normalized

NEAR = 0.8
BANDS, ROWS = 16, 4  # finds a pair of similarity .8 with probability .9998, of .5 with .64
_PRIME = np.uint64((1 << 61) - 1)


@dataclass
class Overlap:
    """How many openings of one split have a twin in another, and some of them to look at."""

    split: str
    other: str
    same: int = 0  # openings of `split` that are in `other` word for word
    near: int = 0  # further ones that are there nearly
    shown: list[tuple[str, str]] = field(default_factory=list)  # (opening, its twin)


class Openings:
    """Gathers openings by split; `overlaps` compares them."""

    SHOWN = 5
    SHORT = 4  # openings of fewer words ("hi, how are you") are common property, not a leak

    def __init__(self) -> None:
        self._by_split: dict[str, list[str]] = defaultdict(list)

    def add(self, split: str, text: str) -> None:
        key = normalized(text)
        if len(key.split(" ", self.SHORT)) >= self.SHORT:
            self._by_split[split].append(key)

    def overlaps(self) -> list[Overlap]:
        """For each split and each one before it: how much of it was seen there."""
        found = []
        splits = list(self._by_split)
        indexes = {split: _Index(self._by_split[split]) for split in splits[:-1]}
        for later, split in enumerate(splits):
            signed = _signatures(self._by_split[split])
            for other in splits[:later]:
                overlap = Overlap(split, other)
                for text, signature in zip(self._by_split[split], signed, strict=True):
                    twin = indexes[other].twin(text, signature)
                    if twin is None:
                        continue
                    overlap.same += twin == text
                    overlap.near += twin != text
                    if len(overlap.shown) < self.SHOWN:
                        overlap.shown.append((text, twin))
                found.append(overlap)
        return found


class _Index:
    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._known = set(texts)
        self._buckets: dict[bytes, list[int]] = defaultdict(list)
        for index, signature in enumerate(_signatures(texts)):
            for band in _bands(signature):
                self._buckets[band].append(index)

    def twin(self, text: str, signature: np.ndarray) -> str | None:
        if text in self._known:
            return text
        own = shingles(text)
        candidates = {i for band in _bands(signature) for i in self._buckets.get(band, ())}
        for index in sorted(candidates):
            others = shingles(self._texts[index])
            if len(own & others) >= NEAR * len(own | others):
                return self._texts[index]
        return None


def shingles(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))}


def _signatures(texts: Iterable[str]) -> list[np.ndarray]:
    """MinHash of each text's shingles: (BANDS * ROWS,) numbers."""
    draw = np.random.default_rng(0)
    factors = draw.integers(1, 1 << 31, BANDS * ROWS, dtype=np.uint64)
    offsets = draw.integers(0, 1 << 31, BANDS * ROWS, dtype=np.uint64)
    found = []
    for text in texts:
        hashes = np.array([crc32(s.encode()) for s in shingles(text)], dtype=np.uint64)
        found.append(((hashes[:, None] * factors + offsets) % _PRIME).min(axis=0))
    return found


def _bands(signature: np.ndarray) -> list[bytes]:
    # The band's number is part of its key, so that bands are compared only with their like.
    return [bytes([b]) + signature[b * ROWS : (b + 1) * ROWS].tobytes() for b in range(BANDS)]
