"""The Arabic gate that we ship, and what it takes to make one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from heartfelt.agent.gate import Gate
from heartfelt.agent.listen import SHIPPED, arabic_gate, as_dialogue
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.recipe import Recipe
from heartfelt.training.gate import calibrated, export_gate
from heartfelt.training.run import Run

PLAIN = ("مرحبا، كيف حالك؟", "ما هي عاصمة فرنسا؟", "صباح الخير", "أخبرني نكتة")
FELT = ("توفي والدي الأسبوع الماضي ولا أعرف كيف أكمل", "حصلت على الوظيفة أخيرا!", "أنا وحيد جدا هذه الأيام")


def test_the_shipped_gate_knows_a_greeting_from_a_grief() -> None:
    assert all(chance > 0.5 for chance in arabic_gate()(PLAIN))
    assert all(chance < 0.5 for chance in arabic_gate()(FELT))
    assert as_dialogue(PLAIN[0]).language == "ar"
    assert sum(path.stat().st_size for path in (SHIPPED / "gate-ar").iterdir()) < 1e6


def test_a_long_text_is_judged_without_a_warning() -> None:
    felt, plain = arabic_gate()([f"{FELT[2]} " * 3_000, f"{PLAIN[2]} " * 3_000])
    assert (felt, plain) == pytest.approx((0, 1))


def test_calibration_undoes_scale_and_frequency() -> None:
    """Log odds ten times too large, and four felt for each plain: slope .1, and a shift that forgets the four."""
    draw = np.random.default_rng(0)
    plain = np.repeat([True, False], [2_000, 8_000])
    true_odds = np.where(plain, 1, -1) * 2.0 + 2.0 * draw.normal(
        size=len(plain)
    )  # log odds of N(±2, 2²): x itself
    slope, shift = calibrated(10 * (true_odds - np.log(4)), plain)
    assert slope == pytest.approx(0.1, rel=0.05)
    assert shift == pytest.approx(np.log(4), rel=0.15)
    for one_kind in (plain[:5], plain[-5:], plain[:0]):
        with pytest.raises(InvalidValue, match="there is one kind only"):
            calibrated(np.zeros(len(one_kind)), one_kind)


def test_what_is_missing_or_does_not_fit_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match=r"no gate in .* gate\.json is missing"):
        Gate(tmp_path)
    (tmp_path / "gate.json").write_text("{}")
    with pytest.raises(BadData, match="cannot be read"):
        Gate(tmp_path)
    shutil.copytree(SHIPPED / "gate-ar", tmp_path / "cut")
    numbers = tmp_path / "cut" / "numbers.npz"
    numbers.write_bytes(numbers.read_bytes()[:5_000])
    with pytest.raises(BadData, match="cannot be read: File is not a zip file"):
        Gate(tmp_path / "cut")
    shutil.copytree(SHIPPED / "gate-ar", tmp_path / "other")
    (tmp_path / "other" / "gate.json").write_text('{"labels": ["joy", "sadness"], "slope": 1, "shift": 0}')
    with pytest.raises(BadData, match="its labels are not plain and another one"):
        Gate(tmp_path / "other")
    run = tmp_path / "run"
    run.mkdir()
    (run / "recipe.yaml").write_text("task: situations\nmodel: majority\n")
    assert Run(run).recipe == Recipe("situations", "majority")
    with pytest.raises(InvalidValue, match="tells plain from felt"):
        export_gate(Run(run), tmp_path / "out")
