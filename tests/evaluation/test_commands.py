"""The commands, typed as a user would, and the report as a browser would see it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from heartfelt.cli import main
from heartfelt.evaluation import Header, Output, Outputs, read, write


class Said:
    """A finished command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def command(*arguments: str | Path) -> Said:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Said(int(stop.value.code or 0), said.out, said.err)

    return command


def outputs(name: str, replies: list[str], label: str) -> Outputs:
    rows = []
    for i, reply in enumerate(replies):
        rows.append(
            Output(
                f"d{i // 2}",
                1 + 2 * (i % 2),
                ("I <b>lost</b> it",),
                f"human said {i}",
                reply,
                gold="sad",
                guesses=("sad",),
                reply_label=label,
                reference_label="questioning",
            )
        )
    return Outputs(Header(name, "empathetic_dialogues", "test"), tuple(rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "a.jsonl", outputs("parrot", ["i am sorry to hear that"] * 12, "sympathizing"))
    write(
        tmp_path / "b.jsonl",
        outputs("listener", [f"human said what {i} ?" for i in range(12)], "questioning"),
    )
    return tmp_path


def test_evaluate(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    said = run("evaluate", folder / "a.jsonl", folder / "b.jsonl", "--resamples", "50")
    assert said.code == 0
    line = next(line for line in said.out.splitlines() if line.startswith("sorry to hear %"))
    assert re.findall(r"[\d.]+", line) == [
        "100.0",
        "100.0",
        "100.0",
        "0.0",
        "0.0",
        "0.0",
        "0.0",
        "0.0",
        "0.0",
    ]
    assert "not computed: ppl" in said.out


def test_evaluate_json(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    [result] = json.loads(run("evaluate", folder / "a.jsonl", "--json", "--metric", "length").out)
    assert result["scores"]["length"]["value"] == 6
    assert result["system"] == "parrot"


class Page(HTMLParser):
    """What a page asks a browser to fetch or run, and its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.wanted += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    html = folder / "report.html"
    said = run("evaluate", folder / "a.jsonl", folder / "b.jsonl", "--resamples", "50", "--html", html)
    assert said.code == 0
    source = html.read_text(encoding="utf-8")
    page = Page()
    page.feed(source)
    assert page.wanted == []  # nothing is fetched
    assert "script" not in page.tags
    assert "<b>lost</b>" not in source  # what people say is text, never markup
    assert "I <b>lost</b> it" in page.text
    for heading in (
        "Scores",
        "Most repeated replies of parrot",
        "parrot against people",
        "Nearest",
        "Farthest",
    ):
        assert heading in page.text
    assert page.tags.count("svg") > 10
    assert 'dir="auto"' in source


def test_compare(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    said = run("compare", folder / "a.jsonl", folder / "b.jsonl", "--resamples", "200", "--metric", "f1")
    assert said.code == 0
    assert re.search(r"F1 ↑ .* \*", said.out)
    assert "12 turns of 6 dialogues" in said.out


def test_leaderboard(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    said = run("leaderboard", folder, "--resamples", "50", "--by", "f1", "--html", folder / "all.html")
    assert said.code == 0
    names = re.findall(r"^(human|listener|parrot)\b", said.out, re.M)
    assert names == ["human", "listener", "parrot"]
    assert (folder / "all.html").exists()


@pytest.mark.parametrize("command", [("evaluate", "x1.jsonl", "x2.jsonl", "x3.jsonl"), ("leaderboard", ".")])
def test_eighty_columns_hold_whole_names_and_figures(  # type: ignore[no-untyped-def]
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("heartfelt.terminal.PIPED_WIDTH", 80)
    names = [f"a-system-with-a-rather-long-name-{i}" for i in (1, 2, 3)]
    for i, name in enumerate(names, 1):
        write(tmp_path / f"x{i}.jsonl", outputs(name, [f"human said {j % i}" for j in range(12)], "x"))
    said = run(command[0], *(tmp_path / file for file in command[1:]), "--resamples", "20")
    table = said.out.partition("not computed")[0].partition("±:")[0]
    assert max(map(len, table.splitlines())) <= 80
    assert all(name in table for name in names)
    assert "…" not in table
    if command[0] == "leaderboard":
        assert re.search(r" p vs\n.* best$", table, re.M)
        assert re.search(r" [01]\.\d{3}$", table, re.M)
    assert len(re.findall(r"^(?:turns|system) ", table, re.M)) > 1  # blocks, one below the other


def test_two_files_of_one_system_are_told_apart(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    write(folder / "c.jsonl", read(folder / "a.jsonl"))
    said = run("evaluate", folder / "a.jsonl", folder / "b.jsonl", folder / "c.jsonl", "--resamples", "0")
    assert said.out.split()[:6] == ["parrot", "(a)", "listener", "parrot", "(c)", "human"]


def test_a_lone_system_stands_on_a_scale_from_0(tmp_path: Path) -> None:
    """Accuracy 1 of 2 without an interval: the scale runs from 0 to .5 and a little."""
    from heartfelt.evaluation import evaluate
    from heartfelt.evaluation.report import panels

    rows = tuple(Output(str(i), 1, gold="sad", guesses=(guess,)) for i, guess in enumerate(("sad", "angry")))
    [panel] = panels([evaluate(Outputs(Header("x"), rows), ["accuracy_1"], 0)])
    assert (panel.least, panel.most) == ("0.0000", "0.5200")
    assert panel.marks[0].at == pytest.approx(0.5 / 0.52)


def test_a_name_cannot_move_the_cursor(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    write(folder / "a.jsonl", outputs("par\x1b[2Jrot", ["a b"] * 11, "x"))
    for command in (("evaluate",), ("compare", "--shared")):
        said = run(*command, folder / "a.jsonl", folder / "b.jsonl", "--resamples", "20")
        assert said.code == 0
        assert "\x1b[2J" not in said.out
        assert "par [2Jrot" in said.out


def test_metrics(run) -> None:  # type: ignore[no-untyped-def]
    said = run("metrics", "--json")
    listed = {metric["name"]: metric for metric in json.loads(said.out)}
    assert listed["avg_bleu"]["direction"] == "higher"
    assert {"ses", "ppl", "ece", "p_at_1"} <= set(listed)
    assert "avg_bleu" in run("metrics").out


def test_import_and_formats(run, fixtures: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A reply to each listener turn of the self-written ED test split, and one to a turn that is not in it."""
    from heartfelt import corpora
    from heartfelt.dialogue import examples

    turns = [e for d in corpora.load("empathetic_dialogues", "test", data=fixtures) for e in examples(d)]
    rows = [f"{e.dialogue.id}\t{e.index}\tI see, {i}\t{e.response.text}" for i, e in enumerate(turns)]
    table = tmp_path / "mine.tsv"
    table.write_text("\n".join(["dialogue\tturn\treply\treference", *rows, "nobody\t1\ta\tb"]) + "\n")
    said = run("outputs", "import", "table", table, "--to", tmp_path / "out", "--data", fixtures)
    assert said.code == 0
    assert "unmatched: mine.tsv mine line" in said.err
    imported = read(tmp_path / "out" / "mine.jsonl")
    assert len(imported.rows) == len(turns)
    assert len(imported.header.unmatched) == 1
    assert "moel" in run("outputs", "formats").out
    scored = run(
        "evaluate", tmp_path / "out" / "mine.jsonl", "--corpus", "empathetic_dialogues", "--data", fixtures
    )
    assert scored.code == 0


def test_two_files_of_one_name_do_not_overwrite_each_other(run, fixtures: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from heartfelt import corpora
    from heartfelt.dialogue import examples

    [turn, *_] = [e for d in corpora.load("empathetic_dialogues", "test", data=fixtures) for e in examples(d)]
    files = [tmp_path / folder / "mine.csv" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text(f"dialogue,turn,reply\n{turn.dialogue.id},{turn.index},{file.parent.name}\n")
    to = ("--to", tmp_path / "out", "--data", fixtures)
    said = run("outputs", "import", "table", *files, *to)
    assert said.code == 2
    assert "both hold a system 'mine'; import one of them with --name" in said.err
    assert not (tmp_path / "out").exists()  # nothing was written
    assert run("outputs", "import", "table", files[0], *to).code == 0
    assert run("outputs", "import", "table", files[1], *to, "--name", "other").code == 0
    assert [read(tmp_path / "out" / f"{name}.jsonl").rows[0].reply for name in ("mine", "other")] == [
        "a",
        "b",
    ]
    assert "--name is for one system" in run("outputs", "import", "table", *files, *to, "--name", "x").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "none.jsonl"), "There is no file none.jsonl"),
        (("evaluate", "{folder}/a.jsonl", "--metric", "bleu"), "There is no metric 'bleu'. Did you mean"),
        (("leaderboard", "{folder}/none"), "There is no folder"),
        (("evaluate", "{folder}/a.jsonl", "--metric", "ses"), "add --ses"),
        (
            ("outputs", "import", "moel2", "x", "--to", "y"),
            "There is no importer 'moel2'. Did you mean 'moel'?",
        ),
        (("evaluate", "{folder}/a.jsonl", "--ses"), "pip install 'heartfelt[similarity]'"),
        (("evaluate", "{folder}/a.jsonl", "--seed", "-1"), "-1 is not in the range x>=0"),
        (("evaluate",), "Missing argument"),
    ],
)
def test_errors_are_one_line(run, folder: Path, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    said = run(*(argument.format(folder=folder) for argument in arguments))
    assert said.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
