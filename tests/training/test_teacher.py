"""A student learns what its teacher says, also of text that has no label."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.recipe import BadRecipe, Recipe, Teacher, Training, dump, parse
from heartfelt.training import engine, teacher
from heartfelt.training.tasks import Item, Task, find

TASK = Task("mood", "", {"mood": ("good", "bad"), "other": ("a", "b")}, lambda split, data: iter(()))


def test_the_loss_of_a_lesson_by_hand() -> None:
    import torch

    from heartfelt.models.heads import Heads, Lesson

    heads = Heads(4, {"a": 2, "b": 2})
    logits = torch.tensor([[math.log(3), 0.0, 0.0, 0.0]])
    nan = math.nan
    lesson = Lesson(torch.tensor([[0.0, 0.0, nan, nan]]), weight=0.25, temperature=1.0)
    # Head a: the label's loss is -ln 3/4; the teacher wants halves: 1/2 ln(1/2 / 3/4) + 1/2 ln(1/2 / 1/4).
    distance = 0.5 * math.log(2 / 3) + 0.5 * math.log(2)
    assert heads.loss(logits, torch.tensor([[0, -100]]), lesson=lesson).item() == pytest.approx(
        -0.75 * math.log(3 / 4) + 0.25 * distance
    )
    # The teacher does not know head b: there the label counts in full. Head a has no label: the teacher alone.
    assert heads.loss(logits, torch.tensor([[-100, 1]]), lesson=lesson).item() == pytest.approx(
        math.log(2) + 0.25 * distance
    )
    # At temperature 2 both sides are flattened, and the distance counts fourfold.
    flat = math.sqrt(3) / (math.sqrt(3) + 1)
    distance = 4 * (0.5 * math.log(0.5 / flat) + 0.5 * math.log(0.5 / (1 - flat)))
    lesson = lesson._replace(temperature=2.0)
    assert heads.loss(logits, torch.tensor([[-100, -100]]), lesson=lesson).item() == pytest.approx(
        0.25 * distance
    )


def test_teachers_are_averaged_in_chances_and_only_where_they_know_the_head() -> None:
    nan = np.nan
    one = np.array([[math.log(9), 0.0, nan, nan]])
    two = np.array([[0.0, 0.0, math.log(3), 0.0]])
    found = np.exp(teacher.mean_of_chances([one, two], TASK))
    assert np.allclose(found, [[(0.9 + 0.5) / 2, (0.1 + 0.5) / 2, 0.75, 0.25]])
    assert np.isnan(teacher.mean_of_chances([one, one], TASK)[0, 2:]).all()


@pytest.fixture(scope="module")
def taught(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    from tests.training.conftest import write_moods

    data = write_moods(tmp_path_factory.mktemp("data"))
    training = Training(
        epochs=12, batch_size=8, learning_rate=5e-4, head_learning_rate=2e-2, evaluate_every=12
    )
    settings: dict[str, Any] = {"checkpoint": str(tiny_bert), "max_tokens": 32}
    folder = tmp_path_factory.mktemp("runs") / "teacher"
    engine.train(Recipe("situations", "encoder_classifier", settings, training), folder, data)
    return folder, data


def test_a_student_of_unlabelled_text_answers_as_its_teacher(
    taught: tuple[Path, Path], tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.training import tasks

    folder, data = taught
    real = tasks.find("situations")

    def unlabelled(split: str, data: Path | None) -> Any:
        for item in real.read(split, data):
            yield item._replace(labels={}) if split == "train" else item

    monkeypatch.setitem(tasks.TASKS, "unlabelled", Task("unlabelled", "", real.heads, unlabelled))
    training = Training(
        epochs=12, batch_size=8, learning_rate=5e-4, head_learning_rate=2e-2, evaluate_every=12
    )
    settings: dict[str, Any] = {"checkpoint": str(tiny_bert), "max_tokens": 32}
    lesson = Teacher((str(folder),), weight=1.0)
    recipe = Recipe("unlabelled", "encoder_classifier", settings, training, teacher=lesson)
    results = engine.train(recipe, tmp_path / "student", data)
    assert results["scores"]["test"]["emotion"]["accuracy_1"][0] == 1.0
    kept = sorted((folder / "predictions").glob("taught-*/*.npz"))
    assert len(kept) == 1  # asked once; a second student would not ask again
    stamp = kept[0].stat().st_mtime_ns
    engine.train(recipe, tmp_path / "second", data)
    assert kept[0].stat().st_mtime_ns == stamp


def test_a_recipe_with_a_teacher_says_all_that_is_wrong(taught: tuple[Path, Path], tmp_path: Path) -> None:
    text = "task: situations\nmodel: naive_bayes\nteacher: {runs: [nowhere], weight: 2}\n"
    with pytest.raises(
        BadRecipe, match=r"cannot learn from a teacher.*between 0 and 1.*nowhere is not a run"
    ):
        engine.train(parse(text), tmp_path / "run", taught[1])
    for name, model in (("begun", "majority"), ("several", "ensemble")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.yaml").write_text(f"task: situations\nmodel: {model}\n")
    (tmp_path / "several" / "results.json").write_text("{}")
    runs = tuple(str(tmp_path / name) for name in ("begun", "several"))
    with pytest.raises(BadRecipe, match=r"begun is not finished; .*several has no model to ask \(ensemble\)"):
        engine.train(Recipe("situations", "encoder_classifier", teacher=Teacher(runs)), tmp_path / "run")
    with pytest.raises(BadRecipe, match=r"teacher\.runs names no run"):
        engine.train(Recipe("situations", "encoder_classifier", teacher=Teacher(())), tmp_path / "run")
    with pytest.raises(BadRecipe, match=r"there is no teacher\.wieght"):
        parse(text.replace("weight", "wieght"))
    recipe = parse(text)
    assert parse(dump(recipe)) == recipe
    topics = Recipe("topics", "encoder_classifier", teacher=Teacher((str(taught[0]),)))
    items = [Item("d", 0, ("hello",), {"topic": "sci.med"})]
    with pytest.raises(Exception, match="cannot teach topics: it knows emotion, group, not topic"):
        teacher.teach(topics.teacher or Teacher(()), find("topics"), items)


def test_a_teacher_is_not_asked_about_what_only_others_know(
    taught: tuple[Path, Path],
) -> None:
    heads = {"emotion": find("situations").heads["emotion"], "neutral": ("felt", "plain")}
    task = Task("both", "", heads, lambda split, data: iter(()))
    labels: list[dict[str, str]] = [{"neutral": "plain"}, {}, {"emotion": "sad"}]
    items = [Item(f"d{i}", 0, (f"I am item {i}",), given) for i, given in enumerate(labels)]
    found = teacher.teach(Teacher((str(taught[0]),)), task, items)
    assert np.isnan(found[0]).all()
    assert not np.isnan(found[1:, :32]).any()
    assert np.isnan(found[1:, 32:]).all()


def _asked(monkeypatch: pytest.MonkeyPatch, logits: list[float]) -> list[int]:
    """A teacher that says the same of every item; grows by the number of items whenever it is asked."""
    asked: list[int] = []

    def answers(folder: Path, items: list[Item]) -> dict[str, np.ndarray]:
        asked.append(len(items))
        return {"mood": np.array([logits] * len(items))}

    monkeypatch.setattr(teacher, "answers", answers)
    monkeypatch.setattr(teacher, "labels_of", lambda folder: {"mood": ["good", "bad"]})
    return asked


def test_a_teacher_is_asked_anew_if_it_or_what_it_reads_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _asked(monkeypatch, [0.0, 1.0])
    (tmp_path / "results.json").write_text("{}")
    one = Item("d", 1, ("so",), {}, ("speaker",), ("sad",))
    said = Teacher((str(tmp_path),))
    for item in (one, one._replace(dialogue="e", labels={"mood": "bad"})):  # nothing that the teacher reads
        teacher.teach(said, TASK, [item])
    assert asked == [1]
    for item in (one._replace(turn_labels=("joyful",)), one._replace(speakers=("listener",))):
        teacher.teach(said, TASK, [item])
    assert asked == [1, 1, 1]
    new = [one._replace(turns=(text,)) for text in ("a", "b", "a")]
    assert len(teacher.teach(said, TASK, [one, *new])) == 4
    assert asked == [1, 1, 1, 2]  # of what is new alone, and once
    (tmp_path / "results.json").write_text('{"recipe": "trained again"}')
    teacher.teach(said, TASK, [one])
    assert asked == [1, 1, 1, 2, 1]
    assert np.isnan(
        teacher.teach(Teacher((str(tmp_path),)), TASK, [one._replace(labels={"else": "x"})])
    ).all()


@pytest.mark.parametrize("logits", [[-300.1, -300.2], [-70_000.0, -70_000.1]])
def test_large_logits_lose_nothing_when_they_are_kept(
    logits: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _asked(monkeypatch, logits)
    (tmp_path / "results.json").write_text("{}")
    found = teacher.teach(Teacher((str(tmp_path),)), TASK, [Item("d", 1, ("so",), {})])
    assert found[0, 0] - found[0, 1] == pytest.approx(0.1, abs=1e-3)


def test_teachers_are_heard_only_on_some_heads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What it would say of the other head is not learned, and items labelled for that one alone are not asked about."""
    task = Task("t", "", {"a": ("x", "y"), "b": ("p", "q")}, lambda split, data: iter(()))
    asked: list[list[str]] = []

    def of_run(folder: Path, task: Task, items: Sequence[Item]) -> np.ndarray:
        asked.append([item.dialogue for item in items])
        return np.zeros((len(items), 4))

    monkeypatch.setattr(teacher, "labels_of", lambda folder: {"a": ["x", "y"], "b": ["p", "q"]})
    monkeypatch.setattr(teacher, "_of_run", of_run)
    items = [Item(head, 0, ("hm",), {head: label}) for head, label in (("a", "x"), ("b", "p"))]
    heard = teacher.teach(Teacher(("one", "two"), heads=("a",)), task, items)
    assert asked == [["a"], ["a"]]
    assert np.isnan(heard).tolist() == [[False, False, True, True], [True] * 4]
    assert not np.isnan(teacher.teach(Teacher(("one",)), task, items)).any()
    # A recipe that does not say so keeps its hash; one that names a foreign head is refused.
    assert "heads" not in dump(Recipe("t", "m", teacher=Teacher(("one",))))
    with pytest.raises(BadRecipe, match=r"teacher\.heads: situations has no plan; it has emotion"):
        named = Teacher(("one",), heads=("plan",))
        engine.train(Recipe("situations", "encoder_classifier", teacher=named), tmp_path / "run")
