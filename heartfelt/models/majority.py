"""The floor under every classifier: always the labels in the order of how often they occur."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Settings:
    pass


@dataclass(frozen=True)
class Majority:
    counts: NDArray[np.float64]  # (classes,)

    @property
    def parameters(self) -> int:
        return len(self.counts)

    def logits(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts, classes): the same for each."""
        return np.tile(np.log(self.counts), (len(texts), 1))

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "counts.npz", counts=self.counts)


def fit(settings: Settings, texts: Sequence[str], labels: Sequence[int], classes: int) -> Majority:
    return Majority((np.bincount(labels, minlength=classes) + 0.5).astype(np.float64))


def load(folder: Path) -> Majority:
    return Majority(np.load(folder / "counts.npz")["counts"])
