"""Predictions survive half precision and are read beside the truth; temperatures and unseen items by hand."""

from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData
from heartfelt.recipe import Recipe
from heartfelt.training import engine, predictions
from heartfelt.training.calibration import best_temperature, temperatures
from heartfelt.training.run import Run
from heartfelt.training.scores import chances
from heartfelt.training.tasks import Item, Task


def test_the_best_temperature_by_hand() -> None:
    # Three of four are right at odds of 9 to 1: the true odds are 3 to 1, so ln 9 should be ln 3, and T is 2.
    logits = np.array([[np.log(9), 0.0]] * 4)
    assert best_temperature(logits, np.array([0, 0, 0, 1])) == pytest.approx(2.0, rel=1e-3)


def test_only_the_first_label_counts() -> None:
    """It is right half the time at a chance of one half; that the other labels are never right does not matter."""
    logits = np.log(np.array([[0.5, 0.3, 0.1, 0.1]] * 4))
    assert best_temperature(logits, np.array([0, 0, 3, 3])) == pytest.approx(1.0, rel=1e-3)


def test_a_temperature_has_bounds() -> None:
    logits = np.array([[1.0, 0.0]] * 4)
    assert best_temperature(logits, np.zeros(4, int)) == pytest.approx(0.05)  # always right
    assert best_temperature(logits, np.ones(4, int)) == pytest.approx(20.0)  # never


@pytest.fixture
def run(intents: Path, tmp_path: Path) -> Run:
    engine.train(Recipe("utterances", "naive_bayes"), tmp_path / "nb", intents)
    return Run(tmp_path / "nb")


def test_what_is_kept_gives_the_chances_that_were_scored(tmp_path: Path) -> None:
    """A sum of logarithms is large, and half precision would lose it: -1000.3 and -1000.7 were one number."""
    task = Task("t", "", {"a": ("x", "y"), "b": ("p", "q", "r")}, lambda split, data: iter(()))
    logits = np.array([[-1000.3, -1000.7, 5.0, 6.0, 5.5], [-300_000.0, 0.0, -1.0, -2.0, -3.0]])
    run = Run(tmp_path)
    items = [Item(str(i), 0, ("hm",), {}) for i in range(2)]
    predictions.save(run, "test", task, items, logits)
    with np.load(tmp_path / "predictions" / "test.npz") as kept:
        found = kept["logits"].astype(np.float64)
    for part in (slice(0, 2), slice(2, 5)):
        assert np.allclose(chances(found[:, part]), chances(logits[:, part]), atol=1e-4)


def test_a_run_is_read_again_with_texts_and_labels(run: Run, intents: Path) -> None:
    said = predictions.load(run, "test", intents)
    (head,) = said.heads()
    assert [item.text for item in head.items] == [
        "my dog won",
        "my cat died",
        "what happened?",
        "best of luck",
    ]
    assert [head.labels[i] for i in head.gold] == ["joyful", "sad", "questioning", "wishing"]
    again = predictions.scores(said.task, said.items, said.logits)["label"]
    for name, value in (run.results or {})["scores"]["test"]["label"].items():
        assert again[name] == pytest.approx(value, abs=1e-3)
    assert temperatures(run, intents).keys() == {"label"}


def test_unseen_items_by_hand(run: Run, intents: Path) -> None:
    # "what happened?" is in train and is right; "best of luck" is not in train, and "luck" gives it away.
    said = predictions.load(run, "test", intents)
    assert predictions.seen(said.items, list(said.task.read("train", intents))) == [False, False, True, False]
    found = predictions.unseen_scores(run, intents, 20)
    assert found["seen"] == 1
    assert found["scores"]["label"]["items"] == 3
    whole = (run.results or {})["scores"]["test"]["label"]["accuracy_1"][0]
    right = round(4 * whole)
    assert found["scores"]["label"]["accuracy_1"][0] == pytest.approx((right - 1) / 3, abs=1e-4)


def test_predictions_that_do_not_fit(run: Run, intents: Path, tmp_path: Path) -> None:
    def complaint(kind: type[HeartfeltError], match: str) -> None:
        with pytest.raises(kind, match=match):
            predictions.load(run, "test", intents)

    rows = intents / "empathetic_intents" / "train_data" / "test.txt"
    published = rows.read_text()
    rows.write_text("22 <SEP> my dog won\n")
    complaint(
        BadData, r"3 of the 4 items that .*nb predicted are not in the test split of utterances at hand"
    )
    rows.write_text(published)
    path = run.folder / "predictions" / "test.npz"
    path.write_bytes(b"nothing of the kind")
    complaint(BadData, "is not a file of predictions")
    path.unlink()
    complaint(MissingData, "keeps no predictions of that split")
    (run.folder / "results.json").unlink()
    complaint(InvalidValue, "is not a finished run")
