"""What single readers promise beyond their golden rows."""

import shutil
import tracemalloc
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
import zstandard

from heartfelt import corpora
from heartfelt.corpora.arabic import split_indices
from heartfelt.dialogue import LISTENER, SPEAKER
from heartfelt.errors import BadData, MissingData
from heartfelt.files import Faults

HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"


def ed(tmp_path: Path, text: str) -> tuple[list[str], list[tuple[int, str]]]:
    """Dialogue ids with their number of turns, and the faults, of an EmpatheticDialogues file."""
    folder = tmp_path / "empathetic_dialogues"
    folder.mkdir(exist_ok=True)
    (folder / "train.csv").write_text(text, encoding="utf-8")
    faults = Faults()
    dialogues = list(corpora.load("empathetic_dialogues", "train", data=tmp_path, faults=faults))
    return [f"{d.id}:{len(d.turns)}" for d in dialogues], [(f.line, f.reason) for f in faults.first]


def test_ed_is_kept_up_to_the_first_turn_that_cannot_be_read(tmp_path: Path) -> None:
    text = HEADER + (
        "c1,1,sad,p,1,one,,\nc1,2,sad,p,0,a comma, unescaped, twice, here, and here,,\nc1,3,sad,p,1,three,,\n"
        "c2,1,ecstatic,p,1,one,,\nc2,2,ecstatic,p,0,two,,\n"
        "c3,1,sad,p,1,one,,\nc3,3,sad,p,1,three,,\n"
        "c1,1,sad,p,1,again,,\nc1,2,sad,p,0,again,,\n"
        "c4,1,sad,p,1,one,,\nc4,2,sad,p,0, ,,\n"
        "c5,1,joyfull,p,1,one,,\n"
    )
    dialogues, faults = ed(tmp_path, text)
    assert dialogues == ["c1:1", "c3:1", "c4:1"]
    assert faults == [
        (3, "12 fields, not 8 or 9; a comma inside a text is written _comma_"),
        (5, "unknown emotion 'ecstatic'"),
        (8, "turn '3' of c3 where turn 2 should come"),
        (9, "conversation 'c1' came before; its rows here are skipped"),
        (12, "an empty utterance"),
        (13, "unknown emotion 'joyfull'; near: joyful"),
    ]


def test_ed_with_a_column_called_emotion_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"train.csv:1: no column 'context'.*keeps the emotion in 'context'"):
        ed(tmp_path, HEADER.replace("context", "emotion") + "c1,1,sad,p,1,one,,\n")


def test_ed_workers_numbers_become_roles(fixtures: Path) -> None:
    first = next(corpora.load("empathetic_dialogues", "train", data=fixtures))
    assert [turn.speaker for turn in first.turns] == [SPEAKER, LISTENER] * 2


def test_intents_need_empathetic_dialogues(fixtures: Path, tmp_path: Path) -> None:
    shutil.copytree(fixtures / "empathetic_intents", tmp_path / "empathetic_intents")
    with pytest.raises(MissingData, match="heartfelt corpora pull empathetic_dialogues"):
        list(corpora.load("empathetic_intents", data=tmp_path))


def test_dailydialog_keeps_a_misaligned_dialogue_without_labels(fixtures: Path, tmp_path: Path) -> None:
    shutil.copytree(fixtures / "dailydialog", tmp_path / "dailydialog")
    (tmp_path / "dailydialog/train/dialogues_emotion_train.txt").write_text("0 0\n")
    faults = Faults()
    (dialogue,) = corpora.load("dailydialog", "train", data=tmp_path, faults=faults)
    assert [turn.label for turn in dialogue.turns] == [None] * 3
    assert faults.first[0].reason == "3 turns, 2 emotions, 3 acts; the dialogue is kept without labels"


def test_the_arabic_split_is_the_notebooks() -> None:
    """naous2021's notebook: datasets' train_test_split(0.1, seed=42), then its test part in half."""
    count = 36_628
    order = np.random.default_rng(42).permutation(count)
    split = split_indices(count)
    assert {name: len(ids) for name, ids in split.items()} == {"train": 32_965, "valid": 1_831, "test": 1_832}
    assert set.union(*split.values()) == set(range(count))
    assert split["valid"] | split["test"] == {int(i) for i in order[:3_663]}


def test_reddit_dumps_hold_every_edge_once(tmp_path: Path) -> None:
    """A random forest of comments: each comment → reply edge is in exactly one dialogue."""
    draw = np.random.default_rng(0)
    parents = {i: int(draw.integers(0, i)) if draw.random() < 0.9 else None for i in range(1, 2_000)} | {
        0: None
    }
    root = {}
    for i in range(2_000):
        root[i] = i if parents[i] is None else root[parents[i]]
    comments = [
        {
            "id": f"c{i}", "parent_id": f"t3_p{i}" if parents[i] is None else f"t1_c{parents[i]}",
            "link_id": f"t3_p{root[i]}", "body": f"text {i}", "author": f"u{i % 7}", "created_utc": str(i),
        }
        for i in draw.permutation(2_000).tolist()
    ]  # fmt: skip
    folder = tmp_path / "reddit_dumps"
    folder.mkdir()
    raw = b"\n".join(msgspec.json.encode(c) for c in comments)
    packed = zstandard.ZstdCompressor(level=3).compress(raw)
    (folder / "RC_2015-01.zst").write_bytes(packed)
    edges: Counter[tuple[str, str]] = Counter()
    for dialogue in corpora.load("reddit_dumps", data=tmp_path):
        texts = [turn.text for turn in dialogue.turns]
        edges.update(pairwise(texts))
    assert edges == Counter((f"text {p}", f"text {i}") for i, p in parents.items() if p is not None)


def test_a_broken_dump_gives_what_it_has(tmp_path: Path, fixtures: Path) -> None:
    folder = tmp_path / "reddit_dumps"
    folder.mkdir()
    text = (fixtures / "reddit_dumps/RC_2015-01.jsonl").read_bytes()
    (folder / "RC_2015-01.jsonl").write_bytes(text + text.split(b"\n")[0] + b'\n{"id": "z"}\nnonsense\n')
    faults = Faults()
    assert len(list(corpora.load("reddit_dumps", data=tmp_path, faults=faults))) == 3
    assert [f.line for f in faults.first] == [10, 11, 9]
    assert "came before" in faults.first[2].reason


def peak_of_reading(tmp_path: Path, dialogues: int) -> int:
    """Peak memory, in bytes, of streaming an EmpatheticDialogues file of this many dialogues."""
    folder = tmp_path / str(dialogues) / "empathetic_dialogues"
    folder.mkdir(parents=True)
    row = "c{0},{1},sad,I lost the long letter that my aunt had sent me,{2},I cannot find it anywhere at all.,,\n"
    with (folder / "train.csv").open("w") as file:
        file.write(HEADER)
        for i in range(dialogues):
            file.writelines(row.format(i, turn, turn % 2) for turn in range(1, 5))
    tracemalloc.start()
    for _ in corpora.load("empathetic_dialogues", "train", data=folder.parent):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small, large = peak_of_reading(tmp_path, 500), peak_of_reading(tmp_path, 8_000)
    # Sixteen times the file (3.2 MB more); what grows is the set of id hashes, under 100 bytes a dialogue.
    assert large - small < 100 * 8_000
