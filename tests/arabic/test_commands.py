"""`heartfelt arabic segment | restore`: a text, a file, standard input."""

from pathlib import Path

from click.testing import CliRunner, Result

from heartfelt.cli import app


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["arabic", *arguments], input=given)


def test_there_and_back(tmp_path: Path) -> None:
    assert run("segment", "والكتب للناس؟").output == "و+ ال+ كتب ل+ ال+ ناس ؟\n"
    assert run("restore", "و+ ال+ كتب ل+ ال+ ناس ؟").output == "والكتب للناس؟\n"
    source = tmp_path / "texts.txt"
    source.write_text("\ufeffبيتنا جميل\n\nhello 🙂\n", "utf-8")
    assert run("segment", str(source), "--to", str(tmp_path / "cut.txt")).exit_code == 0
    assert (tmp_path / "cut.txt").read_text(
        "utf-8"
    ) == "بيت +نا جميل\n\nhello 🙂\n"  # empty lines keep their place
    assert run("restore", str(tmp_path / "cut.txt")).output == "بيتنا جميل\n\nhello 🙂\n"


def test_standard_input() -> None:
    assert run("segment", "-", "--segmenter", "none", given="والكتب ،نعم\n").output == "والكتب ، نعم\n"
    assert run("restore", given=b"\xff\xfe \xd8\xa8+ +\xd9\x87\n").output.endswith(
        "به\n"
    )  # ب+ +ه after broken bytes


def test_options(tmp_path: Path) -> None:
    assert run("segment", "أحمد", "--alef", "--segmenter", "none").output == "احمد\n"
    counted = tmp_path / "words.txt"
    counted.write_text("هذه الزعافيط كثيرة\n", "utf-8")
    assert run("segment", "وزعافيط", "--words", str(counted)).output == "و+ زعافيط\n"


def test_what_cannot_be_done_is_said() -> None:
    for arguments, said in (
        (("segment", "x", "--segmenter", "plane"), "Did you mean 'plain'?"),
        (("segment", ""), "There is no text"),
        (("restore", "-"), "There is no text"),
    ):
        done = run(*arguments, given="")
        assert done.exit_code != 0
        assert said in str(done.exception)
