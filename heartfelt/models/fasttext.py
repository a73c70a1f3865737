"""fastText (Joulin et al. 2017): the emotion and topic classifier of rashkin2019's EmoPrepend and TopicPrepend.

Through floret, a maintained fork: the fasttext wheels that we tried gave another model each time, and NaN on easy data.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import need
from heartfelt.files import writing
from heartfelt.text import words


@dataclass(frozen=True)
class Settings:
    size: int = 100
    epochs: int = 25
    learning_rate: float = 0.3
    ngrams: int = 2  # words
    min_count: int = 1
    buckets: int = 200_000  # for hashed n-grams


@dataclass(frozen=True)
class FastText:
    model: Any
    classes: int

    @property
    def parameters(self) -> int:
        return int(
            np.prod(self.model.get_input_matrix().shape) + np.prod(self.model.get_output_matrix().shape)
        )

    def logits(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(texts, classes): log-probabilities."""
        found = np.full((len(texts), self.classes), 1e-9)
        for row, text in enumerate(texts):
            for chance, label in self.model.f.predict(_line(text), self.classes, 0.0, "strict"):
                found[row, int(label.removeprefix("__label__"))] = max(chance, 1e-9)
        return np.log(found)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save_model(str(folder / "fasttext.bin"))
        with writing(folder / "classes.json") as file:  # fastText knows only those that it has seen
            json.dump(self.classes, file)


def fit(settings: Settings, texts: Sequence[str], labels: Sequence[int], classes: int) -> FastText:
    library = need("floret", "train", "The fastText classifier")
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        # In a random order: fastText goes through the lines as they stand, and forgets the first of sorted labels.
        for i in np.random.default_rng(0).permutation(len(texts)):
            file.write(f"__label__{labels[i]} {_line(texts[i])}")
        file.flush()
        model = library.train_supervised(
            input=file.name,
            dim=settings.size,
            epoch=settings.epochs,
            lr=settings.learning_rate,
            wordNgrams=settings.ngrams,
            minCount=settings.min_count,
            bucket=settings.buckets,
            loss="softmax",
            thread=1,
            verbose=0,
        )  # fmt: skip - one thread: more would race, and give another model each time
    return FastText(model, classes)


def load(folder: Path) -> FastText:
    library = need("floret", "train", "The fastText classifier")
    model = library.load_model(str(folder / "fasttext.bin"))
    kept = folder / "classes.json"
    classes = json.loads(kept.read_text()) if kept.is_file() else len(model.get_labels())  # older folders
    return FastText(model, classes)


def _line(text: str) -> str:
    return " ".join(words(text)) + "\n"
