"""The ear: it learns, comes back from its files, and tells what is wrong with them."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from heartfelt.agent.ear import FOLDER, Ear
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.models import hashed_linear
from heartfelt.models.hashed_linear import Settings
from heartfelt.recipe import Recipe
from heartfelt.training.ear import export_ear
from heartfelt.training.run import Run

TEXTS = ("i feel awful today", "i feel dreadful today", "i ate cake today", "i ate bread today")


def test_it_learns_and_survives_its_file(tmp_path: Path) -> None:
    model = hashed_linear.fit(Settings(bits=12, decay=0.01), TEXTS, [1, 1, 0, 0], 2)
    assert (model.scores(TEXTS) > 0).tolist() == [True, True, False, False]
    assert model.scores(["awfull"])[0] > model.scores(["cakes"])[0]  # letters, not words
    model.save(tmp_path)
    loaded = hashed_linear.load(tmp_path)
    assert np.allclose(loaded.scores(TEXTS), model.scores(TEXTS), atol=0.1)
    assert loaded.logits(["", "i"]).shape == (2, 2)
    with pytest.raises(InvalidValue, match="two classes"):
        hashed_linear.fit(Settings(bits=4), TEXTS, [0, 1, 2, 0], 3)


def test_the_shipped_one_is_small_and_hears_english_only() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 500_000
    ear = Ear(FOLDER)
    assert ear("I cut my arms every night and hide the blood from my mum.")
    assert not ear("I bought a new bike.")
    assert not any(map(ear, ("", "   ", "?!", "أنا بخير")))


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match=r"ear\.json is missing"):
        Ear(tmp_path)
    shutil.copytree(FOLDER, tmp_path / "cut")
    (tmp_path / "cut" / "numbers.npz").write_bytes(b"PK")
    with pytest.raises(BadData, match="cannot be read"):
        Ear(tmp_path / "cut")
    (tmp_path / "recipe.yaml").write_text("task: situations\nmodel: majority\n")
    assert Run(tmp_path).recipe == Recipe("situations", "majority")
    with pytest.raises(InvalidValue, match="tells a crisis"):
        export_ear(Run(tmp_path), tmp_path / "out")
