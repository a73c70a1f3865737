"""A Naive Bayes run as a gate that the agent can use: calibrated on valid, small, without torch."""

from pathlib import Path

import msgspec
import numpy as np

from heartfelt.agent.gate import GateCard
from heartfelt.errors import InvalidValue
from heartfelt.files import writing
from heartfelt.models import naive_bayes
from heartfelt.training.calibration import temperatures
from heartfelt.training.run import Run


def export_gate(run: Run, to: Path, data: Path | None = None) -> Path:
    """Write gate.json, vocabulary.json and numbers.npz for a finished Naive Bayes run of plain or felt."""
    if run.recipe.model != "naive_bayes" or run.results is None or "neutral" not in run.labels:
        raise InvalidValue(f"{run.folder} is not a finished Naive Bayes run that tells plain from felt")
    model = naive_bayes.load(run.folder / "model")
    # 16 bits: a logarithm's fourth digit is lost, and half of the size.
    model.save(to, np.float16)
    card = GateCard(labels=tuple(run.labels["neutral"]), temperature=temperatures(run, data)["neutral"])
    with writing(to / "gate.json", "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=2))
    return to
