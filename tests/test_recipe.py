"""Recipes: all problems at once, changes by name, the same values the same hash."""

from pathlib import Path

import pytest

from heartfelt import recipe
from heartfelt.errors import MissingData
from heartfelt.recipe import BadRecipe, dump, load, parse

RECIPES = [
    path
    for path in sorted((Path(__file__).parent.parent / "recipes").rglob("*.yaml"))
    if path.name != "tables.yaml"
]


def test_a_recipe_with_defaults_survives_yaml() -> None:
    read = parse("{task: situations, model: encoder_classifier, training: {epochs: 2, learning_rate: 1e-4}}")
    assert (read.training.epochs, read.training.learning_rate, read.training.batch_size) == (2.0, 1e-4, 32)
    assert parse(dump(read)) == read
    assert parse(dump(read)).hash() == read.hash()


def test_a_field_that_came_later_changes_no_hash() -> None:
    # As the first run folders have it: a younger field counts only where it says something.
    text = "{task: situations, model: naive_bayes, settings: {smoothing: 0.5}, training: {seed: 3}}"
    assert parse(text).hash() == "7bcb3ed542ac"
    assert "extra" not in dump(parse(text))
    more = parse(text, ["extra=[a.jsonl, b.jsonl]"])
    assert more.extra == ("a.jsonl", "b.jsonl")
    assert parse(dump(more)) == more
    assert more.hash() != parse(text).hash()
    with pytest.raises(BadRecipe, match="extra: expected `array`, got `str`"):
        parse(text, ["extra=a.jsonl"])


def test_all_problems_at_once() -> None:
    text = "{tsk: situations, model: 3, training: {epochs: many, batch_size: 2.5, sead: 1}}"
    with pytest.raises(BadRecipe) as told:
        parse(text)
    said = str(told.value)
    assert "there is no tsk; there is task, model" in said
    assert "task is missing" in said
    assert "model: expected `str`, got `int`" in said
    assert "training.epochs: expected `float" in said
    assert "training.batch_size: expected `int" in said
    assert "there is no training.sead" in said
    assert "\n" not in said


def test_set_changes_one_value() -> None:
    text = "{task: t, model: m, settings: {checkpoint: a}}"
    changed = parse(text, ["training.epochs=1", "settings.checkpoint=b", "settings.max_tokens=64"])
    assert changed.training.epochs == 1
    assert changed.settings == {"checkpoint": "b", "max_tokens": 64}
    assert changed.hash() != parse(text).hash()
    for wrong in ("training.epochs", "=3", "task.name=x"):
        with pytest.raises(BadRecipe, match="--set"):
            parse(text, [wrong])


def test_what_is_not_a_recipe(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="cannot be read: No such file"):
        load(tmp_path / "nowhere.yaml")
    for text in ("[1, 2]", "", "a: b: c", "[" * 50_000):
        with pytest.raises(BadRecipe):
            parse(text)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_is_valid(path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    from heartfelt.models import GENERATORS, module_of
    from heartfelt.training import pairs, talks, tasks

    read = load(path)
    settings, problems = recipe.fill(module_of(read.model).Settings, read.settings, "settings.")
    assert not problems
    assert settings is not None
    if read.task in talks.TALKS:
        assert read.training.metric in ("loss", "ppl")
    elif read.task in pairs.PAIRS:
        assert read.training.metric in ("loss", "ppl" if read.model in GENERATORS else "p_at_1")
    else:
        heads = tasks.find(read.task).heads
        assert read.training.metric == "loss" or read.training.metric.removesuffix("_accuracy") in heads
