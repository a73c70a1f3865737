"""A retrieval model that learns from another one, or by adapters alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heartfelt.recipe import BadRecipe, Teacher
from heartfelt.training.pairs import PAIRS
from heartfelt.training.run import Run
from tests.training.test_matching import bert


def test_a_student_is_as_far_from_its_teacher_as_their_chances_are() -> None:
    import torch

    from heartfelt.models.heads import Lesson
    from heartfelt.models.matcher import fits_as_taught

    vectors = torch.eye(2)
    lesson = Lesson(torch.stack([vectors * 2, vectors], 1), 0.5, 2.0)  # products: 2 on the diagonal
    everything = torch.tensor([True, True])
    assert fits_as_taught(2 * vectors, lesson, everything, True) == pytest.approx(0, abs=1e-6)
    # Even chances against those of softmax(2/2, 0/2), times the temperature squared.
    chances = np.exp([1.0, 0.0]) / np.exp([1.0, 0.0]).sum()
    far = 4 * (chances * np.log(chances / 0.5)).sum()
    assert fits_as_taught(torch.zeros(2, 2), lesson, everything, False) == pytest.approx(far)
    # A row without a reply neither teaches nor is taught.
    assert fits_as_taught(torch.zeros(2, 2), lesson, torch.tensor([True, False]), True) == pytest.approx(0)


def test_a_student_learns_what_its_teacher_has_learned(tiny_bert: Path, talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    engine.train(bert(tiny_bert), tmp_path / "teacher", talks)
    lesson = Teacher((str(tmp_path / "teacher"),), weight=1.0)  # and not the labels
    results = engine.train(replace(bert(tiny_bert), teacher=lesson), tmp_path / "student", talks)
    assert results["scores"]["test"]["replies"]["p_at_1"][0] > 80
    (kept,) = (tmp_path / "teacher" / "predictions").iterdir()
    (part,) = kept.iterdir()
    before = part.stat().st_mtime_ns
    engine.train(replace(bert(tiny_bert, epochs=1), teacher=lesson), tmp_path / "another", talks)
    assert part.stat().st_mtime_ns == before, "the teacher was asked again of what it had said"


def test_teachers_are_of_one_kind(tiny_bert: Path, talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    engine.train(bert(tiny_bert, epochs=1), tmp_path / "teacher", talks)
    for name in ("recipe.yaml", "results.json"):
        text = (tmp_path / "teacher" / name).read_text().replace("encoder_matcher", "encoder_classifier")
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / name).write_text(text)
    both = Teacher((str(tmp_path / "teacher"), str(tmp_path / "other")), heads=("emotion",))
    with pytest.raises(BadRecipe, match=r"no retrieval run as the others.*teacher\.heads"):
        engine.train(replace(bert(tiny_bert), teacher=both), tmp_path / "student", talks)
    assert not (tmp_path / "student").exists()


def test_adapters_alone_learn_and_are_read_as_one_with_the_weights(
    tiny_bert: Path, talks: Path, tmp_path: Path
) -> None:
    from heartfelt.models import encoder_matcher as em
    from heartfelt.training import engine
    from heartfelt.training.matching import score

    recipe = bert(tiny_bert, learning_rate=1e-2)
    recipe = replace(recipe, settings={**recipe.settings, "lora_rank": 8})
    results = engine.train(recipe, tmp_path / "run", talks)
    assert results["scores"]["test"]["replies"]["p_at_1"][0] > 80
    again = score(Run(tmp_path / "run"), PAIRS["pairs"], "test", talks, lambda _: None)
    assert again["replies"]["p_at_1"] == results["scores"]["test"]["replies"]["p_at_1"]
    base, _ = em.build(em.Settings(checkpoint=str(tiny_bert)), {}, [])
    learned = em.load(tmp_path / "run" / "model").state_dict()
    for name, weights in base.state_dict().items():
        if name.startswith("encoder."):
            place = (
                name
                if name in learned
                else name.replace(".weight", ".base_layer.weight").replace(".bias", ".base_layer.bias")
            )
            assert (learned[place] == weights).all(), name


def test_situations_join_in_training_alone(talks: Path) -> None:
    both, everything = (
        {split: list(PAIRS[name].read(split, talks)) for split in ("train", "valid")}
        for name in ("pairs_of_both", "pairs_of_all")
    )
    assert both["valid"] == everything["valid"]
    more = everything["train"][len(both["train"]) :]
    assert more and everything["train"][: len(both["train"])] == both["train"]
    assert all(len(pair.context) == 1 and pair.turn < 0 for pair in more)
    assert len({(pair.dialogue, pair.turn) for pair in everything["train"]}) == len(everything["train"])
