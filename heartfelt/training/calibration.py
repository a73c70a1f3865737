"""Chances that can be believed: logits divided by the temperature at which valid's mean chance is its accuracy.

Guo et al. (2017) take the temperature that makes the labels most likely. It heeds the chances of all labels, and with
32 of them it made ours surer than they were right, on valid too (docs/log.md). So here the first label counts alone
(expectation consistency, Clarté et al. 2023).
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from heartfelt.training.predictions import load
from heartfelt.training.run import Run
from heartfelt.training.scores import Array, chances

_LEAST, _MOST = np.log(0.05), np.log(20.0)  # of a temperature's logarithm: where all is right, or nothing


def temperatures(run: Run, data: Path | None = None) -> dict[str, float]:
    """Head → the temperature at which its first label is on average as likely on valid as it is right."""
    heads = load(run, "valid", data).heads()
    return {head.name: round(best_temperature(head.logits, head.gold), 4) for head in heads}


def best_temperature(logits: Array, gold: NDArray[np.integer[Any]]) -> float:
    """What to divide logits by so that first labels are on average as likely as they are right."""
    right = float((logits.argmax(-1) == gold).mean())

    def too_sure(log_temperature: float) -> float:
        return float(chances(logits, np.exp(log_temperature)).max(-1).mean()) - right

    if too_sure(_LEAST) <= 0:  # right throughout
        return float(np.exp(_LEAST))
    if too_sure(_MOST) >= 0:  # right more seldom than by chance
        return float(np.exp(_MOST))
    return float(np.exp(brentq(too_sure, _LEAST, _MOST, xtol=1e-6)))
