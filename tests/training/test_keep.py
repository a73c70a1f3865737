"""Results to commit: recipe and scores, mean and spread over seeds, and nothing of the machine."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.recipe import Recipe, Training
from heartfelt.training import engine
from heartfelt.training.keep import keep, over_seeds
from heartfelt.training.run import Run, portable

NB = Recipe("situations", "naive_bayes", {"smoothing": 0.5})


def test_a_run_becomes_a_small_file(moods: Path, tmp_path: Path) -> None:
    results = engine.train(NB, tmp_path / "nb", moods)
    (path,) = keep([tmp_path / "nb"], tmp_path / "results" / "recognise")
    assert path.name == "nb.json"
    text = path.read_text()
    kept = json.loads(text)
    assert kept["recipe"]["settings"] == {"smoothing": 0.5}
    assert kept["results"] == results
    assert '"accuracy_1": [1.0, 1.0, 1.0],' in text  # a list of numbers is one line
    assert len(text) < 5000
    before = path.read_bytes()
    keep([tmp_path / "nb"], path.parent)
    assert path.read_bytes() == before


def test_paths_of_the_machine_stay_behind(moods: Path, tmp_path: Path) -> None:
    recipe = replace(
        NB,
        note=f"stands for {tmp_path}/weights/minilm; see https://example.org/a/b and owner/model, and/or 1/2",
    )
    engine.train(recipe, tmp_path / "nb", moods)
    (path,) = keep([tmp_path / "nb"], tmp_path / "results")
    assert str(tmp_path) not in path.read_text()
    note = json.loads(path.read_text())["recipe"]["note"]
    assert note == "stands for minilm; see https://example.org/a/b and owner/model, and/or 1/2"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/me/weights/minilm", "minilm"),
        ("~/weights/my minilm", "my minilm"),
        ("../weights/minilm", "minilm"),
        ("C:\\Users\\me\\minilm", "minilm"),
        ("/minilm", "minilm"),
        ("aubmindlab/bert-base-arabertv02", "aubmindlab/bert-base-arabertv02"),
        ("extra/balanced.jsonl", "extra/balanced.jsonl"),
        (" I feel", " I feel"),
        ("", ""),
    ],
)
def test_what_is_a_path_of_a_machine(text: str, left: str) -> None:
    assert portable(text) == left
    assert portable({"a": [text, {"b": (text,)}], "n": 1.5}) == {"a": [left, {"b": (left,)}], "n": 1.5}
    assert portable(replace(NB, extra=(text,))).extra == (left,)


def test_seeds_become_mean_and_standard_deviation(moods: Path, tmp_path: Path) -> None:
    for seed in (2, 10, 1):
        engine.train(replace(NB, training=Training(seed=seed)), tmp_path / "nb" / f"seed-{seed}", moods)
    # By hand: .5, .7 and .9 have mean .7 and standard deviation .2.
    for seed, value in ((1, 0.5), (2, 0.7), (10, 0.9)):
        run = Run(tmp_path / "nb" / f"seed-{seed}")
        results = run.results or {}
        results["scores"]["test"]["emotion"]["accuracy_1"] = [value, 0.0, 1.0]
        run.write("results.json", results)
    (path,) = keep([tmp_path / "nb"], tmp_path / "results")
    kept = json.loads(path.read_text())
    assert path.name == "nb.json"
    assert kept["seeds"] == [1, 2, 10]
    assert kept["results"]["scores"]["test"]["emotion"]["accuracy_1"] == {
        "mean": 0.7, "sd": 0.2, "values": [0.5, 0.7, 0.9],
    }  # fmt: skip
    assert len(set(kept["results"]["recipe"])) == 3
    assert "seed" not in kept["recipe"]["training"]
    (one,) = keep([tmp_path / "nb" / "seed-2"], tmp_path / "results")
    assert one.name == "nb-seed-2.json"


def test_one_seed_has_no_spread() -> None:
    found = over_seeds([{"test": {"emotion": {"accuracy_1": [0.5, 0.4, 0.6], "items": 7}}}])
    assert found["test"]["emotion"] == {"accuracy_1": {"mean": 0.5, "sd": None, "values": [0.5]}, "items": 7}


def test_what_cannot_be_kept_is_refused_and_nothing_is_written(moods: Path, tmp_path: Path) -> None:
    engine.train(NB, tmp_path / "nb", moods)
    engine.train(replace(NB, note="another"), tmp_path / "other" / "nb", moods)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "recipe.yaml").write_text("{task: situations, model: naive_bayes}")
    for seed, note in ((0, ""), (1, "another recipe")):
        recipe = replace(NB, training=Training(seed=seed), note=note)
        engine.train(recipe, tmp_path / "mixed" / f"seed-{seed}", moods)
    to = tmp_path / "results"
    for folders, complaint in (
        (["nb", "new"], "new is not finished: heartfelt train"),
        (["nb", "nowhere"], "neither a run folder nor a folder of seeds"),
        (["nb", "other/nb"], "two of the runs are called nb"),
        (["nb", "mixed"], "differ in more than the seed"),
    ):
        with pytest.raises(HeartfeltError, match=complaint):
            keep([tmp_path / folder for folder in folders], to)
    assert not to.exists()
    keep([tmp_path / "nb"], to)
    with pytest.raises(HeartfeltError, match=r"nb.json holds results of another recipe"):
        keep([tmp_path / "other" / "nb"], to)
    (to / "mine.json").write_text("[1]")
    (tmp_path / "other" / "nb").rename(tmp_path / "mine")
    with pytest.raises(HeartfeltError, match=r"mine.json is there and holds no results"):
        keep([tmp_path / "mine"], to)
