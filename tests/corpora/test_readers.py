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


@pytest.mark.parametrize(
    "row",
    [
        "c1,2,sad,I was, sad then,0,hello there friend,,",  # a bare comma in the situation
        "c1,2,sad,p,0,one two, three four,,",  # a bare comma in the utterance
        "c1,2,sad,p,0,too few",
        "c1,2,angry,p,0,another emotion,,",
        "c1,2,sad,p,me,a speaker who is no number,,",
    ],
)
def test_ed_does_not_take_in_a_misplaced_field(tmp_path: Path, row: str) -> None:
    dialogues, faults = ed(tmp_path, HEADER + "c1,1,sad,p,1,one,,\n" + row + "\n")
    assert dialogues == ["c1:1"]
    assert [line for line, _ in faults] == [3]


def test_ed_with_a_column_called_emotion_says_what_to_do(tmp_path: Path) -> None:
    ed(tmp_path, HEADER.replace("context", "emotion") + "c1,1,sad,p,1,one,,\n")
    with pytest.raises(BadData, match=r"train.csv:1: no column 'context'.*keeps the emotion in 'context'"):
        list(corpora.load("empathetic_dialogues", "train", data=tmp_path))


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


def arabic(tmp_path: Path, rows: str) -> tuple[list[list[str]], list[int]]:
    folder = tmp_path / "arabic_ed_soror_test"
    folder.mkdir(exist_ok=True)
    (folder / "test_arabic_history.csv").write_text("emotion,context,response\n" + rows, encoding="utf-8")
    faults = Faults()
    found = [[t.text for t in d.turns] for d in corpora.load("arabic_ed_test", data=tmp_path, faults=faults)]
    return sorted(found), [fault.line for fault in faults.first]


def test_arabic_rows_become_dialogues_whole_history_or_last_turns(tmp_path: Path) -> None:
    whole = "sad,a,b\nsad,a SOC b SOC c,d\nsad,a SOC b SOC c SOC d SOC e,f\n"
    last = "sad,g,h\nsad,g SOC h SOC i,j\nsad,i SOC j SOC k,l\n"
    assert arabic(tmp_path, whole + last) == ([list("abcdef"), list("ghijkl")], [])


def test_an_arabic_row_that_is_lost_does_not_split_its_dialogue(tmp_path: Path) -> None:
    rows = "sad,a,b\nsad,a SOC b SOC c,\nsad,a SOC b SOC c SOC d SOC e,f\n"
    assert arabic(tmp_path, rows) == ([list("abcdef")], [3])


def test_an_arabic_row_that_is_lost_keeps_its_place_in_the_draw(tmp_path: Path) -> None:
    rows = [f"sad,text {i},answer {i}\n" for i in range(200)]

    def splits() -> dict[str, str]:
        names = corpora.CORPORA["arabic_ed_test"].splits
        return {
            d.id: s for s in names for d in corpora.load("arabic_ed_test", s, data=tmp_path, faults=Faults())
        }

    arabic(tmp_path, "".join(rows))
    before = splits()
    arabic(tmp_path, "".join([*rows[:50], "hungry,text,answer\n", *rows[51:]]))
    after = splits()
    assert after == {id_: split for id_, split in before.items() if id_ != "line-52"}


def test_an_unclosed_quote_costs_one_row(tmp_path: Path) -> None:
    rows = 'sad,a1,"b1 unclosed\nsad,a2,b2\nangry,a3,"b ""3"""\n'
    assert arabic(tmp_path, rows) == ([["a2", "b2"], ["a3", 'b "3"']], [2])


def test_a_nest_of_brackets_is_a_fault(tmp_path: Path, fixtures: Path) -> None:
    shutil.copytree(fixtures / "chitchat", tmp_path / "chitchat")
    (tmp_path / "chitchat/chatterbot_english/food.yml").write_text("conversations: " + "[" * 900_000)
    faults = Faults()
    list(corpora.load("chitchat", data=tmp_path, faults=faults))
    assert "not YAML" in faults.first[0].reason


def test_chitchat_lines_keep_their_numbers(tmp_path: Path, fixtures: Path) -> None:
    shutil.copytree(fixtures / "chitchat", tmp_path / "chitchat")
    path = tmp_path / "chitchat/chatterbot_english/food.yml"
    path.write_bytes(path.read_bytes().replace(b"- food", b"\xff"))
    faults = Faults()
    list(corpora.load("chitchat", data=tmp_path, faults=faults))
    assert [fault.line for fault in faults.first] == [2, 6]


def test_numbers_too_long_to_be_numbers(tmp_path: Path, fixtures: Path) -> None:
    shutil.copytree(fixtures, tmp_path, dirs_exist_ok=True)
    long = "9" * 5_000
    (tmp_path / "dailydialog/train/dialogues_emotion_train.txt").write_text(f"0 0 {long}\n")
    (tmp_path / "empathetic_intents/train_data/train.txt").write_text(f"{long} <SEP> text\n")
    comment = {"id": "x", "parent_id": "t3_y", "link_id": "t3_y", "body": "b", "created_utc": long}
    (tmp_path / "reddit_dumps/RC_2015-02.jsonl").write_bytes(msgspec.json.encode(comment))
    for name in ("dailydialog", "intent_utterances", "reddit_dumps"):
        assert list(corpora.load(name, data=tmp_path, faults=Faults()))


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
