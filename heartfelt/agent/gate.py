"""Is this small talk? A Naive Bayes gate for languages that the encoder does not speak: half a megabyte, no torch."""

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from heartfelt.errors import BadData, MissingData
from heartfelt.models import naive_bayes


class GateCard(msgspec.Struct, frozen=True):
    """gate.json: what one must know to use the numbers beside it."""

    labels: tuple[str, ...]
    slope: float  # chance of "plain" = sigmoid(slope · log odds + shift)
    shift: float


class Gate:
    def __init__(self, folder: Path) -> None:
        try:
            self.card = msgspec.json.decode((folder / "gate.json").read_bytes(), type=GateCard)
            self._model = naive_bayes.load(folder)
            if "plain" not in self.card.labels or len(self.card.labels) != 2:
                raise ValueError("its labels are not plain and another one")
        except FileNotFoundError as missing:
            raise MissingData(
                f"There is no gate in {folder}: {Path(missing.filename).name} is missing"
            ) from None
        except (msgspec.MsgspecError, ValueError, KeyError, BadZipFile) as problem:
            raise BadData(f"The gate in {folder} cannot be read: {problem}") from None

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """The chance of each text that it wants a plain answer."""
        odds = log_odds(self._model, self.card.labels, texts)
        chances: list[float] = expit(self.card.slope * odds + self.card.shift).tolist()
        return chances


def log_odds(
    model: naive_bayes.NaiveBayes, labels: Sequence[str], texts: Sequence[str]
) -> NDArray[np.float64]:
    logits = model.logits(texts)
    plain = list(labels).index("plain")
    found: NDArray[np.float64] = logits[:, plain] - logits[:, 1 - plain]
    return found
