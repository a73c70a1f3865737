"""Our own format: what goes out comes back, in JSON lines and in Parquet."""

from pathlib import Path

import pytest

from heartfelt import Dialogue, Turn, corpora
from heartfelt.corpora import own
from heartfelt.errors import BadData, MissingData, UnknownName
from heartfelt.files import Faults


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
@pytest.mark.parametrize("name", corpora.CORPORA)
def test_round_trip(name: str, ending: str, fixtures: Path, tmp_path: Path) -> None:
    split = corpora.CORPORA[name].splits[0]
    dialogues = list(corpora.load(name, split, data=fixtures, faults=Faults()))
    path = tmp_path / f"corpus{ending}"
    write = own.write_jsonl if ending == ".jsonl" else own.write_parquet
    assert write(dialogues, path) == len(dialogues)
    assert list(corpora.load(str(path))) == dialogues


def test_a_folder_has_a_file_a_split_in_the_usual_order(tmp_path: Path) -> None:
    for split in ("test", "valid", "train", "extra"):
        own.write_jsonl([Dialogue(split, (Turn("a", "b"),))], tmp_path / f"{split}.jsonl")
    assert corpora.find(str(tmp_path)).splits == ("train", "valid", "test", "extra")
    assert [d.id for d in corpora.load(str(tmp_path), "valid")] == ["valid"]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_a_repeated_id_is_skipped_and_told(tmp_path: Path, ending: str) -> None:
    twice = [Dialogue("d", (Turn("a", "b"),)), Dialogue("d", (Turn("a", "c"),))]
    path = tmp_path / f"twice{ending}"
    (own.write_jsonl if ending == ".jsonl" else own.write_parquet)(twice, path)
    faults = Faults()
    assert [d.turns[0].text for d in corpora.load(str(path), faults=faults)] == ["b"]
    assert [(f.line, f.reason) for f in faults.first] == [(2, "dialogue 'd' came before")]


def test_parquet_of_something_else_is_told_row_by_row(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": ["x", "y"], "score": [1, 2]}), path)
    faults = Faults()
    with pytest.raises(BadData, match="Nothing could be read"):
        list(corpora.load(str(path), faults=faults))
    assert [f.line for f in faults.first] == [1, 2]
    path.write_bytes(b"PAR1 but no more")
    faults = Faults()
    with pytest.raises(BadData, match="not Parquet"):
        list(corpora.load(str(path), faults=faults))


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="no file or folder"):
        corpora.find(str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(MissingData, match="no file there ends in"):
        corpora.find(str(tmp_path))
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadData, match="should end in"):
        corpora.find(str(tmp_path / "notes.txt"))
    with pytest.raises(UnknownName, match="Did you mean 'dailydialog'"):
        corpora.find("dailydialogue")
    with pytest.raises(UnknownName, match="no split of 20news 'dev'"):
        corpora.load("20news", "dev")
    with pytest.raises(MissingData, match=r"heartfelt corpora pull edos"):
        corpora.load("edos", data=tmp_path)
    (tmp_path / "empathetic_dialogues").write_text("a file where a folder should be")
    with pytest.raises(MissingData, match="Not a directory"):
        list(corpora.load("empathetic_dialogues", data=tmp_path))
