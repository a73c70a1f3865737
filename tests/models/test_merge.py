"""An adapter put into its base weights: the sum of both, made once, and nothing half-made."""

import os
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import BadData
from heartfelt.models.merge import is_merged, merged
from tests.models.gguf_files import read, write

RANK, ALPHA = 32, 64.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTFELT_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path


@pytest.fixture
def parts(home: Path) -> tuple[Path, Path]:
    draw = np.random.default_rng(0)
    weights = {name: draw.normal(size=(64, 96)).astype(np.float32) for name in ("blk.0.a.weight", "other")}
    write(home / "base.gguf", weights, "Q4_1", {"llama.block_count": 7, "tokenizer.ggml.tokens": ["a", "بـ"]})
    return home / "base.gguf", adapter(home / "kind.gguf", 1)


def adapter(to: Path, seed: int, name: str = "blk.0.a.weight") -> Path:
    draw = np.random.default_rng(seed)
    sides = {"a": draw.normal(size=(RANK, 96)), "b": draw.normal(size=(64, RANK))}
    tensors = {f"{name}.lora_{side}": rows.astype(np.float32) for side, rows in sides.items()}
    return write(to, tensors, "Q8_0", {"adapter.type": "lora", "adapter.lora.alpha": ALPHA})


def test_the_sum_is_what_two_would_have_said(parts: tuple[Path, Path]) -> None:
    base, beside = parts
    known, weights = read(base)
    _, learned = read(beside)
    up, down = learned["blk.0.a.weight.lora_b"], learned["blk.0.a.weight.lora_a"]
    fields, found = read(merged(base, beside))
    expected = weights["blk.0.a.weight"] + up @ down * (ALPHA / RANK)
    assert np.abs(found["blk.0.a.weight"] - expected).max() < np.abs(expected).max() / 127
    assert (found["other"] == weights["other"]).all()
    assert fields == known
    assert fields["tokenizer.ggml.tokens"] == ["a", "بـ"]


def test_it_is_made_once_and_the_oldest_of_four_goes(parts: tuple[Path, Path], home: Path) -> None:
    base, beside = parts
    assert not is_merged(base, beside)
    whole = merged(base, beside)
    assert is_merged(base, beside)
    assert whole.stem == "base+kind"
    written = whole.stat().st_mtime_ns
    assert merged(base, beside).stat().st_mtime_ns == written
    newer = [whole]
    for seed in (2, 3, 4):
        os.utime(newer[-1], (seed, seed))  # one after the other
        newer.append(merged(base, adapter(beside, seed=seed)))
    left = {path for path in (home / "weights" / "merged").rglob("*") if path.is_file()}
    assert left == set(newer[1:])


def test_a_model_is_no_adapter(parts: tuple[Path, Path]) -> None:
    with pytest.raises(BadData, match="not an adapter but a model of its own"):
        merged(parts[0], parts[0])


def test_an_adapter_for_other_weights_leaves_nothing(parts: tuple[Path, Path], home: Path) -> None:
    with pytest.raises(BadData, match=r"for other weights than .*base.gguf: they have no blk.9.a.weight"):
        merged(parts[0], adapter(home / "far.gguf", 1, "blk.9.a.weight"))
    (home / "broken.gguf").write_bytes(b"GGUFnot")
    with pytest.raises(BadData, match=r"broken.gguf cannot be read as GGUF"):
        merged(parts[0], home / "broken.gguf")
    assert list((home / "weights" / "merged").iterdir()) == []
