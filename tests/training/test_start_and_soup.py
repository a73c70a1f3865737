"""A run that starts from another, and several runs that become one model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InvalidValue
from heartfelt.recipe import BadRecipe, Recipe, Training, dump, parse
from heartfelt.training import engine, tasks
from heartfelt.training.run import Run
from heartfelt.training.soup import soup
from heartfelt.training.tasks import Task

FAST = Training(epochs=6, batch_size=8, learning_rate=5e-4, head_learning_rate=2e-2, evaluate_every=16,
                metric="emotion_accuracy")  # fmt: skip
STILL = replace(FAST, max_steps=1, learning_rate=0.0, head_learning_rate=0.0)  # shows what it started with


@pytest.fixture
def first(tiny_bert: Path, moods: Path, tmp_path: Path) -> Run:
    engine.train(learn(tiny_bert), tmp_path / "first", moods)
    return Run(tmp_path / "first")


def learn(tiny: Path, training: Training = FAST, start: str = "", task: str = "situations") -> Recipe:
    settings = {"checkpoint": str(tiny), "max_tokens": 32}
    return Recipe(task, "encoder_classifier", settings, training, start=start)


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(folder / "model" / "model.safetensors")


def test_it_starts_with_the_other_runs_weights(first: Run, tiny_bert: Path, moods: Path) -> None:
    folder = first.folder.parent / "second"
    results = engine.train(learn(tiny_bert, STILL, str(first.folder)), folder, moods)
    before, after = weights(first.folder), weights(folder)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert results["scores"]["test"] == (first.results or {})["scores"]["test"]


def test_a_head_for_other_labels_is_drawn_anew(
    first: Run, tiny_bert: Path, moods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same number of labels in another order is another head."""
    task = tasks.find("situations")
    turned = Task("turned", "", {"emotion": task.heads["emotion"][::-1]}, task.read)
    monkeypatch.setitem(tasks.TASKS, "turned", turned)
    folder = first.folder.parent / "turned"
    engine.train(learn(tiny_bert, STILL, str(first.folder), "turned"), folder, moods)
    before, after = weights(first.folder), weights(folder)
    same = {name for name in before if np.array_equal(before[name], after[name])}
    assert same == {name for name in before if not name.startswith("heads.")}


def test_what_cannot_be_started_from(first: Run, tiny_bert: Path, moods: Path, tmp_path: Path) -> None:
    with pytest.raises(BadRecipe, match="start: nowhere is not a run folder"):
        engine.train(learn(tiny_bert, start="nowhere"), tmp_path / "new", moods)
    with pytest.raises(BadRecipe, match="naive_bayes is counted in one go"):
        engine.train(Recipe("situations", "naive_bayes", start=str(first.folder)), tmp_path / "new", moods)
    engine.train(Recipe("situations", "naive_bayes"), tmp_path / "nb", moods)
    with pytest.raises(BadRecipe, match="nb is a naive_bayes, not a encoder_classifier"):
        engine.train(learn(tiny_bert, start=str(tmp_path / "nb")), tmp_path / "new", moods)
    (first.folder / "results.json").unlink()
    with pytest.raises(BadRecipe, match="first is not finished"):
        engine.train(learn(tiny_bert, start=str(first.folder)), tmp_path / "new", moods)
    assert not (tmp_path / "new").exists()


def test_settings_that_change_what_weights_mean_are_refused(first: Run, tiny_bert: Path, moods: Path) -> None:
    settings = {"checkpoint": str(tiny_bert), "max_tokens": 32, "pooling": "first"}
    other = Recipe("situations", "encoder_classifier", settings, FAST, start=str(first.folder))
    with pytest.raises(BadRecipe, match=r"first has settings\.pooling mean, and this recipe first"):
        engine.train(other, first.folder.parent / "new", moods)


def test_what_is_finished_does_not_need_its_start(first: Run, tiny_bert: Path, moods: Path) -> None:
    recipe, folder = learn(tiny_bert, STILL, str(first.folder)), first.folder.parent / "second"
    results = engine.train(recipe, folder, moods)
    assert results["start"] == {
        "run": "first", "recipe": (first.results or {})["recipe"], "data": (first.results or {})["data"],
    }  # fmt: skip
    first.folder.rename(first.folder.with_name("elsewhere"))
    assert engine.train(recipe, folder, moods) == results


def test_recipes_without_a_start_keep_their_hash(tiny_bert: Path) -> None:
    assert "start" not in dump(learn(tiny_bert))
    assert parse(dump(learn(tiny_bert, start="runs/first"))).start == "runs/first"


def test_a_soup_is_the_mean_of_weights(first: Run, tiny_bert: Path, moods: Path, tmp_path: Path) -> None:
    runs = []
    for seed in (1, 2):
        recipe = learn(tiny_bert, replace(FAST, epochs=1, seed=seed), str(first.folder))
        engine.train(recipe, tmp_path / "more" / f"seed-{seed}", moods)
        runs.append(Run(tmp_path / "more" / f"seed-{seed}"))
    results = soup(runs, tmp_path / "soup", moods)
    a, b, mean = (weights(folder) for folder in (runs[0].folder, runs[1].folder, tmp_path / "soup"))
    assert all(np.allclose(mean[name], (a[name] + b[name]) / 2, atol=1e-6) for name in mean)
    assert any(not np.array_equal(a[name], b[name]) for name in mean)
    assert results["scores"]["test"]["emotion"]["accuracy_1"][0] == 1.0
    assert [each["run"] for each in results["averaged"]] == ["more-seed-1", "more-seed-2"]
    # It is a run like any other: it can be a start, be scored, and be made again in no time.
    assert soup(runs, tmp_path / "soup", moods) == results
    with pytest.raises(InvalidValue, match="the mean of other runs"):
        soup(changed(runs), tmp_path / "soup", moods)
    engine.train(learn(tiny_bert, STILL, str(tmp_path / "soup")), tmp_path / "on", moods)
    assert all(np.array_equal(weights(tmp_path / "on")[name], mean[name]) for name in mean)


def changed(runs: list[Run]) -> list[Run]:
    """The same folders, the last one trained anew by another recipe."""
    results = (runs[-1].folder / "results.json").read_text()
    (runs[-1].folder / "results.json").write_text(
        results.replace((runs[-1].results or {})["recipe"], "0" * 12)
    )
    return runs


def test_what_cannot_be_averaged(first: Run, tiny_bert: Path, moods: Path, tmp_path: Path) -> None:
    engine.train(Recipe("situations", "naive_bayes"), tmp_path / "nb", moods)
    engine.train(learn(tiny_bert, STILL, str(first.folder)), tmp_path / "on", moods)
    engine.train(learn(tiny_bert, STILL, str(tmp_path / "on")), tmp_path / "further", moods)
    for runs, message in (
        ([first], "two runs at the least"),
        ([first, first], "named 2 times"),
        ([first, Run(tmp_path / "nb")], "is another model"),
        ([first, Run(tmp_path / "further")], "did not start from the same run"),
        ([Run(tmp_path / "nb"), first], "no weights that can be averaged"),
    ):
        with pytest.raises(InvalidValue, match=message):
            soup(runs, tmp_path / "soup", moods)
    assert not (tmp_path / "soup").exists()
    # A run and the one that it started from lie close together.
    assert soup([first, Run(tmp_path / "on")], tmp_path / "soup", moods)["averaged"]
