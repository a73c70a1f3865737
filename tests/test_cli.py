"""The commands as a user types them: what they print, where, and with which exit code."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heartfelt import cli

Result = subprocess.CompletedProcess[str]


def heartfelt(*arguments: str | Path, **environment: str) -> Result:
    return subprocess.run(
        [sys.executable, "-m", "heartfelt", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    )  # fmt: skip


def assert_one_line(result: Result) -> str:
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert result.stderr.startswith("heartfelt: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def test_list_shows_all_and_what_is_here(fixtures: Path, tmp_path: Path) -> None:
    here = json.loads(heartfelt("corpora", "list", "--json", "--data", fixtures).stdout)
    assert all(entry["here"] and entry["licence"] for entry in here)
    away = heartfelt("corpora", "list", HEARTFELT_DATA=str(tmp_path))
    assert away.returncode == 0
    assert "pull" in away.stdout
    assert "Known faults" in heartfelt("corpora", "list", "--long").stdout


def test_describe_in_the_terminal_in_json_and_as_a_page(fixtures: Path, tmp_path: Path) -> None:
    shown = heartfelt("corpora", "describe", "empathetic_dialogues", "--data", fixtures)
    assert shown.returncode == 0
    assert "train          2      6" in shown.stdout
    arabic = heartfelt("corpora", "describe", "arabic_ed_test", "--data", fixtures)
    assert "أختي" in arabic.stdout
    assert "██████" in shown.stdout
    found = json.loads(heartfelt("corpora", "describe", "edos", "--json", "--data", fixtures).stdout)
    assert found["splits"][0]["labels"] == {"afraid": 1}
    page = tmp_path / "report.html"
    assert heartfelt("corpora", "describe", "chitchat", "--html", page, "--data", fixtures).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "food.yml:6" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "<script" not in text


def test_check_lists_every_fault_and_exits_1(fixtures: Path) -> None:
    result = heartfelt("corpora", "check", "cornell", "--data", fixtures)
    assert result.returncode == 1
    assert result.stdout.endswith("movie_lines.txt:3: line L3 has no text; the turn is left out\n")
    assert result.stderr == "cornell: 2 dialogues read, 1 fault\n"
    assert heartfelt("corpora", "check", "edos", "--data", fixtures).returncode == 0


def test_check_of_a_file_in_which_nothing_is_right(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{}\n[]\n")
    result = heartfelt("corpora", "check", path)
    assert result.returncode == 1
    assert result.stdout.count("\n") == 2


def test_strict_refuses(fixtures: Path, tmp_path: Path) -> None:
    for command in (
        ["describe", "cornell"],
        ["check", "cornell"],
        ["export", "cornell", "--to", tmp_path / "c.jsonl"],
    ):
        message = assert_one_line(heartfelt("corpora", *command, "--strict", "--data", fixtures))
        assert "movie_lines.txt:3" in message
    assert list(tmp_path.iterdir()) == []


def test_the_default_skips_and_says_so(fixtures: Path, tmp_path: Path) -> None:
    result = heartfelt("corpora", "export", "cornell", "--to", tmp_path / "c.jsonl", "--data", fixtures)
    assert result.returncode == 0
    assert result.stdout == f"Wrote {tmp_path / 'c.jsonl'}: 2 dialogues\n"
    assert result.stderr.startswith("cornell: passed over 1 fault, first ")
    assert "all: heartfelt corpora check cornell" in result.stderr


def test_export_keeps_splits_apart(fixtures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for form in ("jsonl", "parquet"):
        arguments = ("dailydialog", "--to", out, "--format", form, "--data", fixtures)
        assert heartfelt("corpora", "export", *arguments).returncode == 0
        assert sorted(path.stem for path in out.glob(f"*.{form}")) == ["test", "train", "validation"]
    message = assert_one_line(
        heartfelt("corpora", "export", "edos", "--to", tmp_path / "one.jsonl", "--data", fixtures)
    )
    assert "has 4 splits: name one (--split mturk) or a folder" in message
    wrong = (
        ["--to", tmp_path / "x.csv"],
        ["--to", tmp_path / "x.jsonl", "--split", "mturk", "--format", "parquet"],
    )
    for arguments in wrong:
        assert_one_line(heartfelt("corpora", "export", "edos", *arguments, "--data", fixtures))
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["corpora", "describe", "empathetic_dialog"], "Did you mean 'empathetic_dialogues'?"),
        (["corpora", "describe", "nowhere/file.jsonl"], "There is no file or folder"),
        (["corpora", "describe", "edos", "--data", "nowhere"], "heartfelt corpora pull edos"),
        (["corpora", "check", "edos", "--split", "dev"], "There is: mturk,"),
        (["corpora", "describe"], "Missing argument 'NAME'"),
        (["corpora", "nope"], "No such command 'nope'"),
        (["nope"], "Try: heartfelt --help"),
        (["corpora", "pull", "edos"], "add --yes"),
        (["corpora", "pull", "reddit", "--yes"], "has no official download"),
    ],
)
def test_mistakes_are_answered_in_a_line(arguments: list[str], complaint: str) -> None:
    result = heartfelt(*arguments)
    if arguments[1:2] == ["pull"]:  # shows the licence before it asks
        assert "Licence" in result.stdout
        result.stdout = ""
    assert complaint in assert_one_line(result)


def test_check_does_not_hide_a_missing_file(fixtures: Path, tmp_path: Path) -> None:
    shutil.copytree(fixtures / "empathetic_dialogues", tmp_path / "empathetic_dialogues")
    with (tmp_path / "empathetic_dialogues/train.csv").open("a") as file:
        file.write("nonsense\n")
    (tmp_path / "empathetic_dialogues/valid.csv").unlink()
    result = heartfelt("corpora", "check", "empathetic_dialogues", "--data", tmp_path)
    assert result.returncode == 2
    assert "train.csv:8" in result.stdout
    assert "There is no file" in result.stderr


def test_what_is_shown_is_shown_as_text(tmp_path: Path) -> None:
    text = "[/foo] :smile: [bold] \\u001b[31m red"
    line = '{"id": "d", "turns": [{"speaker": "a", "text": "b", "label": "LABEL"}]}'
    (tmp_path / "odd.jsonl").write_text(line.replace("LABEL", text))
    result = heartfelt("corpora", "describe", tmp_path / "odd.jsonl")
    assert result.returncode == 0, result.stderr
    assert "[/foo] :smile: [bold]" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_terminal_without_unicode_gets_what_it_can_show(fixtures: Path) -> None:
    settings = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    result = heartfelt("corpora", "describe", "chitchat", "--data", fixtures, **settings)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr


def test_a_closed_output_is_no_defect(fixtures: Path) -> None:
    command = f"'{sys.executable}' -m heartfelt corpora list --data '{fixtures}' >&-"
    assert subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stderr == ""


def test_traceback_on_request(fixtures: Path) -> None:
    result = heartfelt("corpora", "describe", "nope", "--traceback")
    assert result.returncode == 2
    assert "Traceback" in result.stderr
    assert "UnknownName" in result.stderr


def test_a_defect_is_admitted_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli.COMMANDS["corpora"], "list", "heartfelt.corpora.commands:no_such_function")
    with pytest.raises(SystemExit) as stop:
        cli.main(["corpora", "list"])
    assert stop.value.code == 2
    assert "This is a defect" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(fixtures: Path) -> None:
    for command in ("list --long | head -n 1", f"describe chitchat --data '{fixtures}' | true"):
        shell = f"set -o pipefail; '{sys.executable}' -m heartfelt corpora {command}"
        result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0
        assert "Error" not in result.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_being_stopped_leaves_nothing_half_written(tmp_path: Path, stop: signal.Signals) -> None:
    folder = tmp_path / "reddit_dumps"
    folder.mkdir()
    os.mkfifo(folder / "RC_2015-01.jsonl")  # a file that never ends
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "heartfelt", "corpora", "export", "reddit_dumps", "--to", out, "--data", tmp_path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with (folder / "RC_2015-01.jsonl").open("w") as pipe:  # returns when the command has opened it
        pipe.write("{}\n")
        pipe.flush()
        time.sleep(0.2)
        process.send_signal(stop)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.strip() == "heartfelt: Stopped. Nothing was half-written."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reddit_dumps"]


def test_help_names_every_command() -> None:
    for group, commands in cli.COMMANDS.items():
        path = () if group == "heartfelt" else (group,)
        shown = heartfelt(*path, "--help").stdout
        assert all(command in shown for command in commands)


def test_the_light_install_imports_no_heavy_library() -> None:
    heavy = ["torch", "transformers", "pandas", "pyarrow", "zstandard", "sklearn", "matplotlib"]
    code = f"import sys, heartfelt.corpora.commands; sys.exit(','.join(m for m in {heavy!r} if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == ""
