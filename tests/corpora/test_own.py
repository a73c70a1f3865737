"""Our own format: what goes out comes back, in JSON lines and in Parquet."""

import json
from pathlib import Path

import pytest

from heartfelt import Dialogue, Turn, corpora
from heartfelt.corpora import own
from heartfelt.corpora.describe import describe
from heartfelt.errors import BadData, MissingData, UnknownName
from heartfelt.files import Faults


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
@pytest.mark.parametrize("name", corpora.CORPORA)
def test_round_trip(name: str, ending: str, fixtures: Path, tmp_path: Path) -> None:
    split = corpora.CORPORA[name].splits[0]
    dialogues = list(corpora.load(name, split, data=fixtures, faults=Faults()))
    path = tmp_path / f"corpus{ending}"
    with path.open("wb") as file:
        assert own.write(dialogues, file, ending) == len(dialogues)
    assert list(corpora.load(str(path))) == dialogues


def test_a_folder_has_a_file_a_split_in_the_usual_order(tmp_path: Path) -> None:
    for split in ("test", "valid", "train", "extra"):
        (tmp_path / f"{split}.jsonl").write_text(Dialogue(split, (Turn("a", "b"),)).to_json())
    assert corpora.find(str(tmp_path)).splits == ("train", "valid", "test", "extra")
    assert [d.id for d in corpora.load(str(tmp_path), "valid")] == ["valid"]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_a_repeated_id_is_skipped_and_told(tmp_path: Path, ending: str) -> None:
    twice = [Dialogue("d", (Turn("a", "b"),)), Dialogue("d", (Turn("a", "c"),))]
    path = tmp_path / f"twice{ending}"
    with path.open("wb") as file:
        own.write(twice, file, ending)
    faults = Faults()
    assert [d.turns[0].text for d in corpora.load(str(path), faults=faults)] == ["b"]
    assert [(f.line, f.reason) for f in faults.first] == [(2, "dialogue 'd' came before")]


def test_parquet_of_something_else_is_told_row_by_row(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": ["x", "y"], "score": [1, 2]}), path)
    faults = Faults()
    assert not list(corpora.load(str(path), faults=faults))
    assert [f.line for f in faults.first] == [1, 2]
    table = {"id": ["x"], "turns": [[{"speaker": "a", "text": "b"}]], "meta": ['{"x": "\\ud800"}']}
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(BadData, match=r"Nothing could be read of .*meta is not JSON"):
        list(corpora.load(str(path)))
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(BadData, match=r"Nothing could be read of .*not Parquet"):
        list(corpora.load(str(path)))


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="no file or folder"):
        corpora.find(str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(BadData, match="no file there ends in"):
        corpora.find(str(tmp_path))
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadData, match="should end in"):
        corpora.find(str(tmp_path / "notes.txt"))
    with pytest.raises(MissingData, match="File name too long"):
        corpora.find("a" * 300)
    with pytest.raises(UnknownName, match="Did you mean 'dailydialog'"):
        corpora.find("dailydialogue")
    with pytest.raises(UnknownName, match="no split of 20news 'dev'"):
        corpora.load("20news", "dev")
    with pytest.raises(MissingData, match=r"heartfelt corpora pull edos"):
        corpora.load("edos", data=tmp_path)
    (tmp_path / "empathetic_dialogues").write_text("a file where a folder should be")
    with pytest.raises(MissingData, match="Not a directory"):
        list(corpora.load("empathetic_dialogues", data=tmp_path))


def line_of(id_: str, **fields: object) -> str:
    return json.dumps({"id": id_, "turns": [{"speaker": "a", "text": "b"}], **fields}) + "\n"


def test_a_relative_path_is_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.jsonl").write_text(line_of("d"))
    monkeypatch.chdir(tmp_path)
    assert [d.id for d in corpora.load("mine.jsonl")] == ["d"]
    assert [d.id for d in corpora.load("./mine.jsonl")] == ["d"]


def test_no_dialogue_is_in_two_splits(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(line_of("d") + line_of("e"))
    (tmp_path / "test.jsonl").write_text(line_of("d"))
    faults = Faults()
    assert [d.id for d in corpora.load(str(tmp_path), faults=faults)] == ["d", "e"]
    assert faults.first == [(tmp_path / "test.jsonl", 1, "dialogue 'd' came before")]


def test_two_files_of_one_split_are_refused(tmp_path: Path) -> None:
    for name in ("train.jsonl", "train.parquet"):
        (tmp_path / name).write_text(line_of("d"))
    with pytest.raises(BadData, match=r"train.jsonl and train.parquet in .* are both the split 'train'"):
        corpora.find(str(tmp_path))


def test_an_empty_split_is_no_fault_and_one_bad_line_is_not_the_whole(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(line_of("d") + "nonsense\n")
    (tmp_path / "test.jsonl").write_text("")
    found = describe(str(tmp_path))
    assert [split.dialogues for split in found.splits] == [1, 0]
    assert found.faults.count == 1


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (line_of("d", emotion="ecstatic"), "'ecstatic', not one of the 32"),
        (line_of("d")[:-2] + ', "meta": ' + '{"a":' * 5000 + "1" + "}" * 5001, "not a Dialogue"),
    ],
)
def test_what_a_line_may_not_hold(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "mine.jsonl").write_text(line)
    with pytest.raises(BadData, match=complaint):
        list(corpora.load(str(tmp_path / "mine.jsonl")))
