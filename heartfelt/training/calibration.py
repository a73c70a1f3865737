"""Chances that can be believed: logits divided by the temperature that fits the valid split (Guo et al. 2017)."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from heartfelt.training.predictions import load
from heartfelt.training.run import Run
from heartfelt.training.scores import Array


def temperatures(run: Run, data: Path | None = None) -> dict[str, float]:
    """Head → the temperature that makes its labels on valid most likely."""
    heads = load(run, "valid", data).heads()
    return {head.name: round(best_temperature(head.logits, head.gold), 4) for head in heads}


def best_temperature(logits: Array, gold: NDArray[np.integer[Any]]) -> float:
    """What to divide logits by so that the gold labels are most likely."""

    def surprise(log_temperature: float) -> float:
        scaled = logits / np.exp(log_temperature)
        top = scaled.max(-1, keepdims=True)
        norm = top[:, 0] + np.log(np.exp(scaled - top).sum(-1))
        return float((norm - scaled[np.arange(len(gold)), gold]).mean())

    return float(np.exp(minimize_scalar(surprise, bounds=(-3.0, 3.0), method="bounded").x))
