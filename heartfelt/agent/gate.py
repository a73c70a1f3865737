"""Is this small talk? A Naive Bayes gate for languages that the encoder does not speak; a megabyte and no torch."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from heartfelt.errors import BadData, MissingData
from heartfelt.models import naive_bayes


class GateCard(msgspec.Struct, frozen=True):
    """gate.json: what one must know to use the numbers beside it."""

    labels: tuple[str, ...]
    temperature: float


class Gate:
    def __init__(self, folder: Path) -> None:
        try:
            self.card = msgspec.json.decode((folder / "gate.json").read_bytes(), type=GateCard)
            self._model = naive_bayes.load(folder)
        except FileNotFoundError as missing:
            raise MissingData(
                f"There is no gate in {folder}: {Path(missing.filename).name} is missing"
            ) from None
        except (msgspec.MsgspecError, ValueError, KeyError) as problem:
            raise BadData(f"The gate in {folder} cannot be read: {problem}") from None

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """The chance of each text that it wants a plain answer."""
        logits = self._model.logits(texts) / self.card.temperature
        chances = np.exp(logits - logits.max(-1, keepdims=True))
        plain: list[float] = (chances / chances.sum(-1, keepdims=True))[
            :, self.card.labels.index("plain")
        ].tolist()
        return plain
