"""Outputs files: what is written is read back, and what cannot be scored is refused by row."""

import json
import math
from pathlib import Path

import pytest

from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.evaluation import Header, Output, Outputs, from_texts, read, write

HEADER = '{"format":"heartfelt-outputs","system":"mine"}'


def row(**fields: object) -> str:
    return json.dumps({"dialogue": "d1", "turn": 1, "reference": "oh no", "reply": "why ?", **fields})


def saved(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "outputs.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_round_trip(tmp_path: Path) -> None:
    outputs = Outputs(
        Header("mine", "empathetic_dialogues", "test", decoding="greedy", unmatched=("line 3: what",)),
        (
            Output("d1", 1, ("hi",), "oh no", "why ?", gold="sad", emotion={"sad": 0.7, "angry": 0.3}),
            Output("d1", 3, ("hi", "you"), "I see", "où ?", gold="sad", emotion={"sad": 0.2, "angry": 0.8}),
        ),
    )
    write(tmp_path / "o.jsonl", outputs)
    again = read(tmp_path / "o.jsonl")
    assert again == outputs
    assert again.fields == {"reference", "reply", "gold", "emotion"}
    assert (tmp_path / "o.jsonl").read_text().startswith('{"format":"heartfelt-outputs","system":"mine"')


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, row(reply="  ")], r":2: .*an empty reply for turn 1 of d1"),
        ([HEADER, row(reference="")], r":2: .*an empty reference for turn 1 of d1"),
        ([HEADER, row(log_likelihood=-3.0)], r":2: .*log_likelihood without tokens"),
        ([HEADER, row(log_likelihood=3.0, tokens=2)], r":2: .*a log_likelihood of 3.0"),
        ([HEADER, row(log_likelihood=-3.0, tokens=0)], r":2: .*0 tokens"),
        ([HEADER, row().replace('"why ?"', "NaN")], r":2: not an Output"),
        ([HEADER, row(emotion={"sad": 0.5})], r":2: .*adds up to 0.500, not 1"),
        ([HEADER, row(emotion={})], r":2: .*empty, negative or not finite"),
        ([HEADER, row(emotion={"sad": 1.0}, guesses=["sad"])], r":2: .*both emotion and guesses"),
        ([HEADER, row(candidates=["a", "b"], scores=[0.1], answer=0)], r":2: .*2 candidates and 1 scores"),
        ([HEADER, row(candidates=["a"], scores=[0.1], answer=1)], r":2: .*answer 1 is not one of 1"),
        ([HEADER, row(candidates=["a"])], r":2: .*candidates without scores, answer"),
        ([HEADER, row(turn=-1)], r":2: .*turn -1 is negative"),
        ([HEADER, row(dialogue=" ")], r":2: .*no dialogue id"),
        ([HEADER, row(answr=1)], r":2: .*unknown field `answr`"),
        ([HEADER, row(), "{"], r":3: not an Output"),
        ([HEADER, row(), row()], r"row 2: turn 1 of d1 came before, in row 1"),
        ([HEADER, row(), '{"dialogue":"d2","turn":1,"reply":"a"}'], r"row 2: turn 1 of d2 has no reference"),
        (
            [HEADER, row(), row(dialogue="d2", gold="sad")],
            r"row 2: turn 1 of d2 has gold, which row 1 has not",
        ),
        (
            [HEADER, row(), row(dialogue="d2", language="ar")],
            r"row 2: turn 1 of d2 is in 'ar', the file in 'en'",
        ),
        (
            [HEADER, row(), row(dialogue="d2", reference="مرحبا")],
            r"row 2: the reference .*in ARABIC script, row 1 in LATIN",
        ),
        (
            [HEADER, row(reply="مرحبا")],
            r"row 1: the reply of turn 1 of d1 is in ARABIC script, row 1 in LATIN",
        ),
        (
            [
                HEADER,
                row(reference="?", reply="!"),
                row(dialogue="d2"),
                row(dialogue="d3", reference="привет"),
            ],
            r"row 3: the reference .*in CYRILLIC script, row 2 in LATIN",
        ),
        (
            [
                HEADER,
                row(candidates=["a", "b"], scores=[1, 2], answer=0),
                row(dialogue="d2", candidates=["a"], scores=[1], answer=0),
            ],
            r"row 2: turn 1 of d2 has 1 candidates, row 1 has 2",
        ),
        ([HEADER], r"row 1: there are no outputs"),
        ([row()], r":1: the first line of an outputs file is its header"),
        (['{"system":""}', row()], r"the system has no name"),
    ],
)
def test_what_cannot_be_scored_is_refused_by_row(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(BadData, match=message) as refusal:
        read(saved(tmp_path, *lines))
    assert "\n" not in str(refusal.value)


def test_japanese_is_one_language() -> None:
    rows = [
        Output(str(i), 1, reference=text, reply="ラーメン!")
        for i, text in enumerate(("そうですか", "日本語", "カメラ"))
    ]
    assert len(Outputs(Header("x", language="ja"), tuple(rows)).rows) == 3


def test_all_faults_are_counted(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"and 7 more"):
        read(saved(tmp_path, HEADER, *[row(dialogue=f"d{i}", reply="") for i in range(10)]))


def test_files_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="no file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(BadData, match="the file is empty"):
        read(tmp_path / "empty.jsonl")


def test_numbers_that_are_none() -> None:
    with pytest.raises(InvalidValue, match="a log_likelihood of nan for turn 1 of d"):
        Output("d", 1, reference="a", log_likelihood=math.nan, tokens=1)
    with pytest.raises(InvalidValue, match="a candidate score of inf"):
        Output("d", 1, candidates=("a",), scores=(math.inf,), answer=0)


def test_lists_of_different_length_name_the_row() -> None:
    with pytest.raises(InvalidValue, match="2 replies and 3 references: row 3 has no reply"):
        from_texts("x", ["a", "b"], ["a", "b", "c"])
    with pytest.raises(InvalidValue, match="1 replies and 0 references: row 1 has no reference"):
        from_texts("x", ["a"], [])
    with pytest.raises(InvalidValue, match="row 2: an empty reply"):
        from_texts("x", ["a", ""], ["a", "b"])


def test_the_human_in_the_systems_place() -> None:
    human = from_texts("x", ["a b", "c"], ["d", "e f g"]).human()
    assert human is not None
    assert [r.reply for r in human.rows] == ["d", "e f g"]
    assert Outputs(Header("x"), (Output("d", 1, gold="sad", guesses=()),)).human() is None
