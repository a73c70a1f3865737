"""Logistic regression on hashed words, pairs of words and letters: a quarter of a megabyte, no torch, no vocabulary.

Letters are there for misspelt words ("suisidl"); a hash in place of a vocabulary keeps the texts that were learned
from out of the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from heartfelt.errors import InvalidValue
from heartfelt.text import normalized

_LETTERS = (3, 4, 5)  # in a row, within a word


@dataclass(frozen=True)
class Settings:
    bits: int = 18  # 2 to this power weights; features that fall together share one
    decay: float = 0.3  # L2 penalty
    iterations: int = 150


@dataclass(frozen=True)
class HashedLinear:
    weights: NDArray[np.float32]  # (2 ** bits,)
    bias: float

    @property
    def parameters(self) -> int:
        return self.weights.size + 1

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts,): the log odds of the second class"""
        found: NDArray[np.float64] = _features(texts, self.weights.size) @ self.weights.astype(np.float64)
        return found + self.bias

    def logits(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts, 2)"""
        odds = self.scores(texts)
        return np.stack([np.zeros_like(odds), odds], axis=1)

    def save(self, folder: Path) -> None:
        """Weights as whole numbers of 8 bits and their scale."""
        folder.mkdir(parents=True, exist_ok=True)
        scale = float(np.abs(self.weights).max()) / 127 or 1.0
        rounded = np.round(self.weights / scale).astype(np.int8)
        np.savez_compressed(folder / "numbers.npz", weights=rounded, scale=scale, bias=self.bias)


def fit(settings: Settings, texts: Sequence[str], labels: Sequence[int], classes: int) -> HashedLinear:
    if classes != 2:
        raise InvalidValue(f"hashed_linear tells two classes apart, not {classes}")
    features = _features(texts, 1 << settings.bits)  # (texts, 2 ** bits)
    sign = np.where(np.asarray(labels) == 1, 1.0, -1.0)

    def surprise(line: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        weights, bias = line[:-1], line[-1]
        signed = sign * (features @ weights + bias)
        slope = -sign * expit(-signed)
        loss = np.logaddexp(0, -signed).sum() + settings.decay / 2 * (weights @ weights)
        return float(loss), np.append(features.T @ slope + settings.decay * weights, slope.sum())

    start = np.zeros((1 << settings.bits) + 1)
    found = minimize(surprise, start, jac=True, method="L-BFGS-B", options={"maxiter": settings.iterations}).x
    return HashedLinear(found[:-1].astype(np.float32), float(found[-1]))


def load(folder: Path) -> HashedLinear:
    with (folder / "numbers.npz").open("rb") as file:
        numbers = dict(np.load(file))
    weights = numbers["weights"].astype(np.float32) * np.float32(numbers["scale"])
    return HashedLinear(weights, float(numbers["bias"]))


def _features(texts: Sequence[str], size: int) -> sparse.csr_array:
    """(texts, size): what a text has, once each, and as long as any other text."""
    places: list[int] = []
    values: list[float] = []
    ends = [0]
    for text in texts:
        found = {crc32(feature.encode()) % size for feature in _named(text)}
        places += found
        values += [max(len(found), 1) ** -0.5] * len(found)  # none in "?!"
        ends.append(len(places))
    return sparse.csr_array((values, places, ends), (len(texts), size))


def _named(text: str) -> Iterator[str]:
    words = normalized(text).replace("'", "").split()
    yield from words
    yield from (f"{a} {b}" for a, b in pairwise(words))
    for word in words:
        marked = f"<{word}>"
        for length in _LETTERS:
            yield from (f"_{marked[i : i + length]}" for i in range(len(marked) - length + 1))
