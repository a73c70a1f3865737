"""A finished run answers again, also for another task."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.recipe import Recipe
from heartfelt.training import engine, predictions
from heartfelt.training.ensemble import ensemble
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


def test_rare_labels_are_named_as_valid_likes(bayes: Path, moods: Path) -> None:
    plain = score(bayes, find("situations"), "test", moods)["emotion"]
    balanced = score(bayes, find("situations"), "test", moods, balanced=True)["emotion"]
    assert 0 <= balanced.pop("power") <= 1
    assert set(balanced) == set(plain)
    assert balanced["weighted_f1"][0] == 1  # nothing to mend here


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
    monkeypatch.setattr(predict, "logits_of", asked)
    assert score(bayes, find("situations"), "test", moods)["emotion"]["accuracy_1"][0] == 1
    with pytest.raises(AssertionError, match="asked again for 16 items"):  # contexts have an "!" more
        score(bayes, find("contexts"), "test", moods)
    assert everything_new["emotion"]["items"] == 16


def test_it_is_asked_anew_where_what_it_said_is_of_other_data(bayes: Path, moods: Path) -> None:
    test = moods / "empathetic_dialogues" / "test.csv"
    test.write_text("".join(test.read_text().splitlines(keepends=True)[:-2]))  # a dialogue less
    assert score(bayes, find("situations"), "test", moods)["emotion"]["items"] == 15


def test_a_split_that_does_not_exist_is_not_taken_for_train(bayes: Path, moods: Path) -> None:
    with pytest.raises(UnknownName, match=r"no split 'tset'\. Did you mean 'test'"):
        score(bayes, find("topics"), "tset", moods)


def test_an_ensemble_has_no_model_to_ask(bayes: Path, moods: Path, tmp_path: Path) -> None:
    recipe = Recipe("situations", "naive_bayes", {"smoothing": 1.0})
    engine.train(recipe, tmp_path / "other", moods)
    ensemble([Run(bayes), Run(tmp_path / "other")], tmp_path / "both", data=moods, resamples=2)
    assert score(tmp_path / "both", find("situations"), "test", moods)["emotion"]["items"] == 16
    with pytest.raises(InvalidValue, match=r"both \(ensemble\) has no model to ask"):
        score(tmp_path / "both", find("contexts"), "test", moods)
