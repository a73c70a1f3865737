"""The guard's ear: hears a crisis between the lines, where no pattern says it. English, a quarter of a megabyte.

A linear model on hashed words, pairs and letters (heartfelt/models/hashed_linear.py), trained by
recipes/guard/crisis-linear.cpu.yaml on messages of our own and, as what is no crisis, on ED's train split.
"""

from functools import cache
from importlib import resources
from pathlib import Path
from zipfile import BadZipFile

import msgspec

from heartfelt.errors import BadData, MissingData
from heartfelt.models import hashed_linear
from heartfelt.text import language_of

FOLDER = Path(str(resources.files("heartfelt"))) / "assets" / "ear"
LONGEST = (
    2_000  # characters that are read, half from the start and half from the end: longer texts are all noise
)


class EarCard(msgspec.Struct, frozen=True):
    """ear.json: what one must know to use the numbers beside it."""

    threshold: float  # log odds from which on it is a crisis
    share: float  # of ED valid's speaker turns, beyond what patterns find: so often it may be wrong there


class Ear:
    def __init__(self, folder: Path) -> None:
        try:
            self.card = msgspec.json.decode((folder / "ear.json").read_bytes(), type=EarCard)
            self._model = hashed_linear.load(folder)
        except FileNotFoundError as missing:
            name = Path(missing.filename).name
            raise MissingData(f"There is no ear in {folder}: {name} is missing") from None
        except (msgspec.MsgspecError, ValueError, KeyError, BadZipFile) as problem:
            raise BadData(f"The ear in {folder} cannot be read: {problem}") from None

    def __call__(self, text: str) -> bool:
        """Does this sound like a crisis?"""
        if language_of(text[:LONGEST]) != "en" or not text.strip():
            return False
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
        return bool(self._model.scores([text])[0] >= self.card.threshold)


@cache
def shipped() -> Ear:
    return Ear(FOLDER)
