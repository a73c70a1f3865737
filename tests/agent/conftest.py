"""A tiny encoder with the shipped one's heads, made by the real engine and the real exporter."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from heartfelt.labels import EMOTIONS, LABELS
from heartfelt.models.weights import weights_folder
from heartfelt.recipe import Recipe, Training
from heartfelt.training import engine, tasks
from heartfelt.training.run import Run
from tests.conftest import skip
from tests.training.conftest import tiny_bert as tiny_bert
from tests.training.conftest import torch_is_here as torch_is_here

_WEIGHTS = weights_folder() / "smollm2"  # before `untouched` hides the user's cache


@pytest.fixture(scope="session")
def base_weights() -> Path:
    """The real base weights, for the real llama.cpp."""
    if find_spec("xllamacpp") is None:
        skip("needs llama.cpp: pip install 'heartfelt[chat]'")
    if not _WEIGHTS.is_dir():
        skip("needs the base weights: heartfelt models pull smollm2")
    return _WEIGHTS


ROWS = (
    (
        "i am so sad . my dog died",
        {"emotion": "sad", "label": "sad", "plan": "sympathizing", "neutral": "felt", "crisis": "no"},
    ),
    (
        "i am so happy . i won the game",
        {"emotion": "joyful", "label": "joyful", "plan": "questioning", "neutral": "felt", "crisis": "no"},
    ),
    ("what did you say ?", {"label": "questioning", "neutral": "plain", "crisis": "no"}),
    ("so new so", {"crisis": "yes"}),  # the tiny vocabulary has no word for it
)
HEADS = {
    "emotion": EMOTIONS, "label": LABELS, "plan": LABELS, "neutral": ("felt", "plain"), "crisis": ("no", "yes"),
}  # fmt: skip


def rows(split: str, data: Path | None) -> Iterator[tasks.Item]:
    for i in range({"train": 80, "valid": 8, "test": 8}[split]):
        text, labels = ROWS[i % 4]
        yield tasks.Item(f"{split}{i}", 0, (text + " today" * (i % 5 % 4),), labels)


@pytest.fixture(scope="session")
def tiny_encoder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from heartfelt.training.export import export

    tasks.TASKS["tiny"] = tasks.Task("tiny", "", HEADS, rows)
    training = Training(
        epochs=16, batch_size=6, learning_rate=5e-4, head_learning_rate=1e-2, evaluate_every=80
    )
    settings: dict[str, Any] = {"checkpoint": str(tiny_bert), "max_tokens": 48}
    folder = tmp_path_factory.mktemp("encoder")
    # ED's speakers, by whom the threshold is fitted: none of them needs help.
    said = [(f"d{i}", ROWS[i % 3][0]) for i in range(12)]
    try:
        patch = pytest.MonkeyPatch()
        patch.setattr("heartfelt.training.export.speakers", lambda split, data: iter(said))
        engine.train(Recipe("tiny", "encoder_classifier", settings, training), folder / "run")
        return export(Run(folder / "run"), folder / "out", int8=False)
    finally:
        patch.undo()
        del tasks.TASKS["tiny"]
