"""Several runs as one: aligned by item and head, calibrated on valid, weighted by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import BadData, HeartfeltError, InvalidValue
from heartfelt.recipe import Recipe
from heartfelt.training import engine, predictions, report, tasks
from heartfelt.training.ensemble import best_weights, ensemble
from heartfelt.training.run import Run, runs_below
from heartfelt.training.scores import by_head, scores
from heartfelt.training.tasks import Item, Task

MOODS = ("joyful", "sad")
PLANS = ("ask", "cheer", "wish")


def little(split: str, data: Path | None) -> Iterator[Item]:
    for i in range(8):
        yield Item(f"{split}{i}", 0, (f"text {i}",), {"emotion": MOODS[i % 2]})


def large(split: str, data: Path | None) -> Iterator[Item]:
    """The items of `little`, in another order, among others, with a head more."""
    for i in reversed(range(8)):
        yield Item(f"{split}{i}", 1, (f"context {i}",), {"emotion": MOODS[i % 2], "plan": PLANS[i % 3]})
        yield Item(f"{split}{i}", 0, (f"text {i}",), {"emotion": MOODS[i % 2]})


def other(split: str, data: Path | None) -> Iterator[Item]:
    for item in little(split, data):
        yield item._replace(turns=("another text",))


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    for task in (
        Task("little", "", {"emotion": MOODS}, little),
        Task("large", "", {"plan": PLANS, "emotion": MOODS}, large),
        Task("other", "", {"emotion": MOODS}, other),
        Task("topic", "", {"topic": MOODS}, little),
    ):
        monkeypatch.setitem(tasks.TASKS, task.name, task)


def run(folder: Path, name: str, chances: Any, labels: tuple[str, ...] = MOODS) -> Run:
    """A finished run that gives an item's true emotion this chance; `labels` in the order of its outputs."""
    task = tasks.find(name)
    heads = {head: labels if head == "emotion" else given for head, given in task.heads.items()}
    made = Task(name, "", heads, task.read)
    recipe = Recipe(name, "majority", {"name": folder.name})
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(engine_dump(recipe))
    measured = {}
    for split in ("valid", "test"):
        items = list(task.read(split, None))
        rows = []
        for item in items:
            row = {head: np.zeros(len(given)) for head, given in heads.items()}
            true = chances(int(item.dialogue[-1]))
            if "emotion" in row:
                row["emotion"] = np.log(
                    [true if label == item.labels["emotion"] else 1 - true for label in labels]
                )
            rows.append(np.concatenate(list(row.values())))
        logits = np.array(rows)
        predictions.save(Run(folder), split, made, items, logits)
        measured[split] = scores(made, items, logits, 10)
    results = {
        "task": name, "model": "majority", "scores": measured, "parameters": 2, "minutes": 0.5, "items": {},
        "recipe": recipe.hash(), "data": "", "environment": {},
    }  # fmt: skip
    engine.finish(Run(folder), recipe, made, results)
    return Run(folder)


def engine_dump(recipe: Recipe) -> str:
    from heartfelt.recipe import dump

    return dump(recipe)


def test_two_runs_that_err_on_different_items_err_less_together(tmp_path: Path) -> None:
    # Each is wrong on two items of eight, at even odds of .6, and surer on the others.
    a = run(tmp_path / "a", "little", lambda i: 0.4 if i in (0, 1) else 0.9)
    b = run(tmp_path / "b", "little", lambda i: 0.4 if i in (2, 3) else 0.9)
    results = ensemble([a, b], tmp_path / "both", resamples=10)
    alone = [member["scores"]["test"]["emotion"]["accuracy_1"][0] for member in results["members"]]
    assert alone == [0.75, 0.75]
    assert results["scores"]["test"]["emotion"]["accuracy_1"][0] == 1.0
    assert [member["weights"] for member in results["members"]] == [{"emotion": 0.5}, {"emotion": 0.5}]
    assert (results["parameters"], results["minutes"]) == (4, 1.0)


def test_the_mean_of_calibrated_chances_by_hand(tmp_path: Path) -> None:
    """Right 3 times of 4 at a chance of .9: the temperature is 2 and the chance .75, as in the export's test."""
    a = run(tmp_path / "a", "little", lambda i: 0.9 if i % 4 else 0.1)
    b = run(tmp_path / "b", "little", lambda i: 0.5)
    results = ensemble([a, b], tmp_path / "both", resamples=10)
    assert results["members"][0]["temperatures"]["emotion"] == pytest.approx(2.0, rel=1e-2)
    said = predictions.load(Run(tmp_path / "both"), "test")
    (emotion,) = said.heads()
    found = np.exp(emotion.logits) / np.exp(emotion.logits).sum(-1, keepdims=True)
    given = found[np.arange(8), emotion.gold]
    expected = [(0.5 + (0.75 if i % 4 else 0.25)) / 2 for i in range(8)]
    assert given == pytest.approx(expected, abs=5e-3)


def test_runs_of_which_one_has_more_items_and_heads_meet_where_both_are(tmp_path: Path) -> None:
    a = run(tmp_path / "a", "little", lambda i: 0.4 if i in (0, 1) else 0.9)
    b = run(tmp_path / "b", "large", lambda i: 0.4 if i in (2, 3) else 0.9, labels=MOODS[::-1])
    for runs in ([a, b], [b, a]):
        folder = tmp_path / "".join(one.name for one in runs)
        results = ensemble(runs, folder, resamples=10)
        assert (results["task"], results["items"]) == ("little", {"valid": 8, "test": 8})
        assert results["scores"]["test"]["emotion"]["accuracy_1"][0] == 1.0
        assert set(Run(folder).labels) == {"emotion"}
    assert results["members"][0]["items"] == {"valid": 16, "test": 16}


def test_two_runs_of_several_heads_keep_them(tmp_path: Path) -> None:
    a = run(tmp_path / "a", "large", lambda i: 0.9)
    b = run(tmp_path / "b", "large", lambda i: 0.8)
    results = ensemble([a, b], tmp_path / "both", fit=True, resamples=10)
    assert results["scores"]["test"].keys() == {"plan", "emotion"}
    assert results["scores"]["test"]["plan"]["items"] == 8
    said = predictions.load(Run(tmp_path / "both"), "test")
    assert by_head(said.task, said.logits)["plan"].shape == (16, 3)


def test_fitted_weights_go_to_who_knows(tmp_path: Path) -> None:
    # In a mixture of .9 and .1 for half of the items, and .1 and .9 for the others, both weigh alike by symmetry.
    assert best_weights(np.array([[0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9]])) == pytest.approx([0.5, 0.5])
    # Three to one: d/dw [3 ln(.1 + .8 w) + ln(.9 - .8 w)] = 0 at w = (3 * .9 - .1) / 3.2.
    given = np.array([[0.9, 0.9, 0.9, 0.1], [0.1, 0.1, 0.1, 0.9]])
    assert best_weights(given)[0] == pytest.approx((3 * 0.9 - 0.1) / 3.2, abs=1e-4)
    assert best_weights(np.array([[0.9, 0.8], [0.2, 0.1]])) == pytest.approx([1, 0], abs=1e-3)
    good = run(tmp_path / "good", "little", lambda i: 0.95)
    lost = run(tmp_path / "lost", "little", lambda i: 0.5)
    results = ensemble([lost, good], tmp_path / "both", fit=True, resamples=10)
    assert [round(member["weights"]["emotion"]) for member in results["members"]] == [0, 1]


def test_an_ensemble_is_like_a_run(tmp_path: Path) -> None:
    a = run(tmp_path / "a", "little", lambda i: 0.4 if i == 0 else 0.9)
    b = run(tmp_path / "b", "little", lambda i: 0.4 if i in (0, 1) else 0.8)
    results = ensemble([a, b], tmp_path / "both", resamples=10)
    made = Run(tmp_path / "both")
    assert made.results == results
    assert made.recipe.model == "ensemble"
    assert (
        str(tmp_path)
        not in (made.folder / "recipe.yaml").read_text() + (made.folder / "results.json").read_text()
    )
    assert made.folder in [found.folder for found in runs_below(tmp_path)]
    assert report.report(made, resamples=10).heads[0].items == 8
    assert ensemble([a, b], tmp_path / "both", resamples=10) == results  # the same again
    assert ensemble([a, made], tmp_path / "more", resamples=10)["task"] == "little"  # one may be a member
    with pytest.raises(HeartfeltError, match="run of another recipe"):
        ensemble([a, b], tmp_path / "both", fit=True, resamples=10)


def test_runs_that_do_not_go_together(tmp_path: Path) -> None:
    a = run(tmp_path / "a", "little", lambda i: 0.9)
    wrong: list[tuple[type[HeartfeltError], str, list[Run]]] = [
        (InvalidValue, "two runs at the least", [a]),
        (InvalidValue, "the run a is named 2 times", [a, Run(tmp_path / "a" / ".." / "a")]),
        (InvalidValue, "no head in common: .*a has emotion; .*t has topic", [a, run(tmp_path / "t", "topic", int)]),
        (BadData, "valid0:0 is another text in .*o than in .*a", [a, run(tmp_path / "o", "other", lambda i: 0.9)]),
        (
            InvalidValue, "other labels for the head emotion",
            [a, run(tmp_path / "l", "little", lambda i: 0.9, labels=(*MOODS, "angry"))],
        ),
    ]  # fmt: skip
    for kind, match, runs in wrong:
        with pytest.raises(kind, match=match):
            ensemble(runs, tmp_path / "never", resamples=10)
    assert not (tmp_path / "never").exists()
