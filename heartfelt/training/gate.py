"""A Naive Bayes run as a gate that the agent can use: calibrated on valid, small, without torch."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from heartfelt.agent.gate import GateCard, log_odds
from heartfelt.errors import InvalidValue
from heartfelt.files import writing
from heartfelt.models import naive_bayes
from heartfelt.training.run import Run
from heartfelt.training.tasks import find


def export_gate(run: Run, to: Path, data: Path | None = None) -> Path:
    """Write gate.json, vocabulary.json and numbers.npz for a finished Naive Bayes run of plain or felt."""
    if run.recipe.model != "naive_bayes" or run.results is None or "neutral" not in run.labels:
        raise InvalidValue(f"{run.folder} is not a finished Naive Bayes run that tells plain from felt")
    model = naive_bayes.load(run.folder / "model")
    items = list(find(run.recipe.task).read("valid", data))
    labels = tuple(run.labels["neutral"])
    odds = log_odds(model, labels, [item.text for item in items])
    slope, shift = calibrated(odds, np.array([item.labels["neutral"] == "plain" for item in items]))
    model.save(to, np.float16)  # a logarithm's fourth digit is lost, and half of the size
    card = GateCard(labels=labels, slope=round(slope, 4), shift=round(shift, 4))
    with writing(to / "gate.json", "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=2))
    return to


def calibrated(odds: NDArray[np.float64], plain: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and shift that make chances true where both kinds are equally frequent (Platt 1999).

    Corpora of feelings are large and those of small talk small; what people will type is neither.
    """
    if plain.all() or not plain.any():
        raise InvalidValue(
            "a gate is calibrated on plain and felt items of valid, and there is one kind only"
        )
    weights = np.where(plain, 0.5 / plain.mean(), 0.5 / (1 - plain.mean()))

    def surprise(line: NDArray[Any]) -> float:
        signed = np.where(plain, 1, -1) * (line[0] * odds + line[1])
        return float((weights * np.logaddexp(0, -signed)).mean())

    slope, shift = minimize(surprise, (1.0, 0.0), method="Nelder-Mead").x
    return float(slope), float(shift)
