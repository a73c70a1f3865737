"""A finished run answers again, also for another task."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InvalidValue
from heartfelt.recipe import Recipe
from heartfelt.training import engine, predictions
from heartfelt.training.predict import answers, labels_of, score
from heartfelt.training.run import Run
from heartfelt.training.tasks import Item, find


@pytest.fixture
def bayes(moods: Path, tmp_path: Path) -> Path:
    engine.train(Recipe("situations", "naive_bayes"), tmp_path / "nb", moods)
    return tmp_path / "nb"


def test_it_says_what_it_said(bayes: Path, moods: Path) -> None:
    task = find("situations")
    items = list(task.read("test", moods))
    kept = predictions.load(Run(bayes), "test", moods).heads()[0].logits  # relative to each item's best
    found = answers(bayes, items)["emotion"]
    assert np.allclose(found - found.max(-1, keepdims=True), kept, rtol=1e-2, atol=1e-2)


def test_it_is_scored_on_another_task_and_by_groups(bayes: Path, moods: Path) -> None:
    assert score(bayes, find("contexts"), "test", moods)["emotion"]["accuracy_1"][0] == 1
    by_group = score(bayes, find("situation_groups"), "test", moods)
    assert list(by_group) == ["group"]
    assert by_group["group"]["accuracy_1"][0] == 1
    assert labels_of(bayes)["group"][0] == "joy"
    items = list(find("situations").read("test", moods))[:1]
    found = answers(bayes, items)
    chances = np.exp(found["emotion"]) / np.exp(found["emotion"]).sum()
    assert np.exp(found["group"]).sum() == pytest.approx(1)
    assert np.exp(found["group"][0, 0]) >= chances[0, find("situations").heads["emotion"].index("joyful")]


def test_what_it_does_not_know_is_refused(bayes: Path, moods: Path, tmp_path: Path) -> None:
    gate = replace(find("neutrality"), read=find("situations").read)
    with pytest.raises(InvalidValue, match="cannot be scored on neutrality: it knows emotion, group"):
        score(bayes, gate, "test", moods)
    (bayes / "results.json").unlink()
    with pytest.raises(InvalidValue, match="is not a finished run"):
        score(bayes, find("situations"), "test", moods)


def test_what_it_said_before_it_is_not_asked_again(
    bayes: Path, moods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.training import predict

    def asked(run: Run, items: list[Item], step: object) -> np.ndarray:
        raise AssertionError(f"asked again for {len(items)} items")

    everything_new = score(bayes, find("contexts"), "test", moods)
    monkeypatch.setattr(predict, "_logits", asked)
    assert score(bayes, find("situations"), "test", moods)["emotion"]["accuracy_1"][0] == 1
    with pytest.raises(AssertionError, match="asked again for 16 items"):  # contexts have an "!" more
        score(bayes, find("contexts"), "test", moods)
    assert everything_new["emotion"]["items"] == 16
