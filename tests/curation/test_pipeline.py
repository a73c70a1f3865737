"""From files to a corpus: the whole way, killed in every stage and gone on with, by several engines."""

import hashlib
import json
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heartfelt import cli, corpora
from heartfelt.corpora.describe import describe
from heartfelt.curation import engines, labelling
from heartfelt.curation.pipeline import curate
from heartfelt.curation.stages import STAGES, Settings, split_of
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.labels import EMOTIONS, LABELS
from tests.conftest import ROOT
from tests.curation import killed
from tests.curation import subtitles as made


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return made.library(tmp_path / "in")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelling, "_chances", killed.chances)


def hashes(out: Path) -> dict[str, str]:
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def test_files_become_a_corpus(library: Path, tmp_path: Path, quick: None) -> None:
    out = tmp_path / "out"
    counted = curate([library], out, killed.SETTINGS)
    assert counted["read"]["files"] == 9
    assert counted["read"]["readable files"] == 7
    assert counted["choose"] == {"rivals left": 1, "taken": 6}
    assert counted["cut"]["dialogues"] == 6 * 8  # scenes lie ten seconds apart
    assert counted["cut"]["clean turns"] == counted["label"]["turns"] == 6 * 8 * len(made.TALK)
    assert counted["select"]["emotional"] == round(0.5 * counted["label"]["dialogues"])

    quarantine = (out / "quarantine.tsv").read_text()
    assert "in/broken.srt\t" in quarantine
    assert "in/cut.xml.gz\tthe compressed file is cut off" in quarantine
    assert "in/film0-again.srt\t\ta part: 48 lines where a rival has 64" in (out / "choices.tsv").read_text()

    emotional = list(corpora.load(str(out)))
    others = list(corpora.load(str(out / "others")))
    assert len(emotional) == counted["select"]["emotional"]
    assert len(emotional) + len(others) == counted["label"]["dialogues"]
    assert min(d.meta["emotionality"] for d in emotional) >= max(d.meta["emotionality"] for d in others)
    for dialogue in emotional:
        assert all(turn.label in LABELS for turn in dialogue.turns)
        expected = (
            killed.chances([turn.text for turn in dialogue.turns], Path())[:, : len(EMOTIONS)].sum(1).mean()
        )
        assert dialogue.meta["emotionality"] == pytest.approx(expected, abs=1e-3)
    for split in corpora.find(str(out)).splits:
        assert {split_of(d.meta["film"]) for d in corpora.load(str(out), split)} == {split}

    described = describe(str(out))
    assert sum(split.dialogues for split in described.splits) == len(emotional)
    assert not described.faults.count
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["files"] == {
        name: value
        for name, value in hashes(out).items()
        if name.endswith(".parquet") and "work/" not in name
    }
    assert manifest["statistics"]["emotional"]["turns"] == sum(len(d.turns) for d in emotional)
    page = (out / "README.md").read_text()
    assert "| films (one subtitle each) | 6 |" in page
    assert str(tmp_path) not in page + (out / "manifest.json").read_text()
    assert len({row.split(",")[0] for row in (out / "audit.csv").read_text().splitlines()[1:]}) == 5


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES])
def test_killed_and_gone_on_with(stage: str, library: Path, tmp_path: Path, quick: None) -> None:
    curate([library], tmp_path / "whole", killed.SETTINGS)
    out = tmp_path / "out"
    run = [sys.executable, "-m", "tests.curation.killed", str(library), str(out), stage]
    assert subprocess.run(run, cwd=ROOT, check=False).returncode == -9
    assert not (out / "manifest.json").exists()
    done = {path: path.stat().st_mtime_ns for path in (out / "work").rglob("*.json")}
    with pytest.raises(InvalidValue, match="--resume"):
        curate([library], out, killed.SETTINGS)
    curate([library], out, killed.SETTINGS, resume=True)
    assert hashes(out) == hashes(tmp_path / "whole")
    redone = {path.parent.name for path, time in done.items() if path.stat().st_mtime_ns != time}
    assert redone <= {stage}  # and of this stage, only what was not finished
    if stage in ("read", "cut", "label"):
        assert not redone


def test_a_finished_run_is_left_as_it_is(library: Path, tmp_path: Path, quick: None) -> None:
    curate([library], tmp_path / "out", killed.SETTINGS)
    before = hashes(tmp_path / "out")
    curate([library], tmp_path / "out", killed.SETTINGS, resume=True)
    assert hashes(tmp_path / "out") == before


def test_other_settings_are_refused(library: Path, tmp_path: Path, quick: None) -> None:
    curate([library], tmp_path / "out", killed.SETTINGS)
    with pytest.raises(InvalidValue, match="begun with other settings"):
        curate([library], tmp_path / "out", Settings(top=0.1), resume=True)
    with pytest.raises(UnknownName, match="local, ray"):
        curate([library], tmp_path / "new", killed.SETTINGS, engine="spark")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidValue, match="no run of ours"):
        curate([library], tmp_path / "mine", killed.SETTINGS)


def test_a_defect_of_ours_is_quarantined_too(
    library: Path, tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.curation import srt

    read = srt.read

    def sometimes(content: bytes) -> Any:
        if b"engine" in content[:400]:
            raise KeyError("oops")
        return read(content)

    monkeypatch.setattr(srt, "read", sometimes)
    curate([library], tmp_path / "out", killed.SETTINGS)
    assert "defect: KeyError" in (tmp_path / "out" / "quarantine.tsv").read_text()


class _Rows:
    """Stands for a Ray dataset: the calls that we make, in this process."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def map(
        self, kind: Callable[..., Any], fn_constructor_args: tuple[Any, ...], concurrency: int
    ) -> "_Rows":
        actors = [kind(*fn_constructor_args) for _ in range(concurrency)]
        return _Rows([actors[i % concurrency](row) for i, row in reversed(list(enumerate(self.rows)))])

    def iter_rows(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


def test_rays_path_gives_the_same_bytes_by_a_stand_in(
    library: Path, tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not Ray itself: that our side of it (actors, arguments, counts, any order) is right."""
    data = types.ModuleType("ray.data")
    data.from_items = lambda rows, override_num_blocks: _Rows(rows)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.data", data)
    curate([library], tmp_path / "local", killed.SETTINGS)
    curate([library], tmp_path / "ray", killed.SETTINGS, engine="ray", workers=2)
    assert hashes(tmp_path / "local") == hashes(tmp_path / "ray")


def test_ray_itself_gives_the_same_bytes(library: Path, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'heartfelt[ray]'")
    curate([library], tmp_path / "local", killed.SETTINGS)
    ray.init(num_cpus=2)
    try:
        curate([library], tmp_path / "ray", killed.SETTINGS, engine="ray", workers=2)
    finally:
        ray.shutdown()
    assert hashes(tmp_path / "local") == hashes(tmp_path / "ray")


def test_without_ray_the_install_line(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit) as stop:
        cli.main(["curate", "subtitles", str(library), str(tmp_path / "out"), "--engine", "ray"])
    assert stop.value.code == 2


def test_two_processes_give_the_same_bytes_and_the_shipped_encoder_labels(tmp_path: Path) -> None:
    library = tmp_path / "in"
    library.mkdir()
    for word in ("apple", "river"):
        (library / f"{word}.srt").write_text(made.film(word, scenes=2))
    settings = Settings(min_lines=4, files_a_shard=1, top=2.0, audit=1, segmenter=killed.EVERY_LINE)
    curate([library], tmp_path / "one", settings)
    curate([library], tmp_path / "two", settings, workers=2)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    turns = [turn for place in ("one", "one/others") if (tmp_path / place).exists()
             for d in corpora.load(str(tmp_path / place)) for turn in d.turns]  # fmt: skip
    assert len(turns) == 2 * 2 * len(made.TALK)
    asked = Counter(turn.label for turn in turns if turn.text.endswith("?"))
    assert asked.most_common(1)[0][0] == "questioning"


def test_the_command(library: Path, tmp_path: Path, quick: None, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    call = [
        "curate",
        "subtitles",
        str(library),
        str(out),
        "--min-lines",
        "4",
        "--top",
        "3",
        "--files-a-shard",
        "4",
        "--segmenter",
        killed.EVERY_LINE,
    ]
    with pytest.raises(SystemExit) as stop:
        cli.main(call)
    assert stop.value.code == 0
    shown = capsys.readouterr()
    assert "3 emotional dialogues of" in shown.out
    assert "2 files could not be read" in shown.out
    assert [line.split()[0] for line in shown.err.splitlines()] == [stage.name for stage in STAGES]
    with pytest.raises(SystemExit) as stop:
        cli.main(call)
    assert stop.value.code == 2
    assert "add --resume" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        cli.main(["corpora", "describe", str(out)])
    assert stop.value.code == 0


def test_every_stage_has_an_engine_that_knows_it() -> None:
    assert set(engines._STAGES) == {stage.name for stage in STAGES}
