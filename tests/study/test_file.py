"""The study file: what it may say, and how it is refused."""

import json
from pathlib import Path

import pytest

from heartfelt import cli
from heartfelt.errors import BadData, MissingData
from heartfelt.study.file import KINDS, BadStudy, load, parse
from heartfelt.study.items import batches_of, items_of
from heartfelt.study.new import new_study
from tests.study.conftest import SYSTEMS, study_in

CHOOSE = "name: x\nkind: choose\nitems: a\nattention: [{context: [c], replies: [a, b], expect: [good, null]}]"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_new_study_can_be_served_as_it_is(
    tmp_path: Path, kind: str, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = new_study(tmp_path / "mine", kind, language)
    assert load(path).kind == kind
    with pytest.raises(SystemExit) as left:
        cli.main(["study", "check", str(path)])
    assert left.value.code == 0
    assert "mine: " in capsys.readouterr().out


def test_all_problems_at_once() -> None:
    text = """
name: "a b"
kind: likert
batches: {size: 0, raters: -1}
questions: [{name: empathy, ask: x, low: 1, high: 1}, {name: empathy, ask: y, colour: red}]
bonus: 2
"""
    with pytest.raises(BadStudy) as refused:
        parse(text)
    assert "there is no questions[1].colour" in str(refused.value)
    with pytest.raises(BadStudy) as refused:
        parse(text.replace(", colour: red", ""))
    said = str(refused.value)
    for part in ("'a b' is not made of letters", "batches.size is above 0", "batches.raters", "two have one name",
                 "2 to 11 points", "bonus and warmup belong to sort", "either systems"):  # fmt: skip
        assert part in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name: x\nkind: collect\ncollect: {emotions: [bored]}", "'bored' is none of the 32"),
        ("name: x\nkind: collect\ncollect: {least_turns: 9}", "least_turns is not above most_turns"),
        ("name: x\nkind: rank", "kind: invalid enum value 'rank'"),
        (CHOOSE, "good cannot be answered"),
        ("- 1", "should be a mapping"),
        ("name: [", "is not YAML"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadStudy, match="study"):
        parse(text)
    with pytest.raises(BadStudy) as refused:
        parse(text)
    assert why in str(refused.value)


def test_items_by_kind(tmp_path: Path) -> None:
    one = items_of(study_in(tmp_path, "likert"), tmp_path)
    assert len(one) == 4 * 3
    assert all(len(item.replies) == 1 for item in one)
    assert len(items_of(study_in(tmp_path, "likert", more="together: true"), tmp_path)) == 4
    pairs = items_of(study_in(tmp_path, "choose"), tmp_path)
    assert len(pairs) == 4 * 3
    assert {tuple(item.replies) for item in pairs} == {
        (a, b) for i, a in enumerate(SYSTEMS) for b in SYSTEMS[i + 1 :]
    }
    batches = batches_of(study_in(tmp_path, "choose", more="batches: {size: 4}"), pairs)
    assert [len(batch) for batch in batches] == [4, 4, 4]
    for batch in batches:  # a dialogue not twice in a batch
        assert len({item.dialogue for item in batch}) == 4


def test_items_from_outputs_files(tmp_path: Path) -> None:
    for name, turns in (("a", (1, 2, 3)), ("b", (1, 3))):
        header = {"format": "heartfelt-outputs", "system": name, "corpus": "ed"}
        rows = [
            {
                "dialogue": "d",
                "turn": t,
                "context": [f"c{i}" for i in range(6)],
                "reply": f"{name}{t}",
                "reference": "r",
                "gold": "sad",
            }
            for t in turns
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in [header, *rows]) + "\n")
    study = parse("name: x\nkind: sort\nsystems: {a: a.jsonl, b: b.jsonl}\nhuman: true\n")
    items = items_of(study, tmp_path)
    assert [item.name for item in items] == ["d#1", "d#3"]  # the turns that both answered
    assert items[1].replies == {"a": "a3", "b": "b3", "human": "r"}
    assert items[0].context == ("c2", "c3", "c4", "c5")
    assert items[0].emotion == "sad"
    with pytest.raises(MissingData):
        items_of(parse("name: x\nkind: sort\nitems: nothing.jsonl"), tmp_path)
    (tmp_path / "bad.jsonl").write_text('{"name": "x", "context": ["c"], "replies": {"a": " "}}\n')
    with pytest.raises(BadData, match=r"bad.jsonl:1: not an Item: item x: a reply has no text"):
        items_of(parse("name: x\nkind: sort\nitems: bad.jsonl"), tmp_path)
