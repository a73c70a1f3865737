"""A hashed linear run as the guard's ear: its threshold is the lowest that ED's valid split allows."""

from pathlib import Path

import msgspec
import numpy as np

from heartfelt.agent.ear import EarCard
from heartfelt.agent.patterns import FOLDER as PATTERNS
from heartfelt.agent.patterns import Sheet
from heartfelt.errors import InvalidValue
from heartfelt.files import writing
from heartfelt.models import hashed_linear
from heartfelt.training.crisis import speakers
from heartfelt.training.run import Run

SHARE = (
    0.0025  # of ED valid's speaker turns; the patterns take less than this, and both together may take .005
)


def export_ear(run: Run, to: Path, data: Path | None = None, share: float = SHARE) -> Path:
    """Write ear.json and numbers.npz for a finished run of the crisis task."""
    if run.recipe.model != "hashed_linear" or run.results is None or "crisis" not in run.labels:
        raise InvalidValue(f"{run.folder} is not a finished hashed linear run that tells a crisis")
    model = hashed_linear.load(run.folder / "model")
    patterns = Sheet(PATTERNS / "crisis-en.yaml")
    said = [text for _, text in speakers("valid", data)]
    odds = model.scores([text for text in said if not patterns.find(text)])
    threshold = float(np.sort(odds)[-int(share * len(said)) - 1]) + 1e-4
    model.save(to)
    with writing(to / "ear.json", "wb") as file:
        card = EarCard(threshold=round(threshold, 4), share=share)
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=2))
    return to
