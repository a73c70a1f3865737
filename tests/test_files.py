"""Files that are broken in every way we know: a fault with its line, never an exception."""

import gzip
import os
from pathlib import Path

import pytest
import zstandard

from heartfelt.errors import BadData, HeartfeltError, MissingData
from heartfelt.files import LINE_LIMIT, Faults, csv_rows, lines, writing


def read(path: Path) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    faults = Faults()
    good = list(lines(path, faults))
    return good, [(fault.line, fault.reason) for fault in faults.first]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_lines_of_a_sound_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbffirst\r\nsecond\nthird")
    assert read(path) == ([(1, "first"), (2, "second"), (3, "third")], [])


def test_a_line_in_another_encoding_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ncafé\nthree".encode("latin-1"))
    good, faults = read(path)
    assert good == [(1, "one"), (3, "three")]
    assert faults == [(2, "not UTF-8: byte 0xe9 at column 4")]
    assert list(lines(path, Faults(), fallback="latin-1"))[1] == (2, "café")


def test_a_whole_file_in_utf16_says_so(tmp_path: Path) -> None:
    good, faults = read(write(tmp_path / "a.txt", "one\ntwo".encode("utf-16")))
    assert not good
    assert faults == [(1, "is encoded as UTF-16; save it as UTF-8")]


def test_an_empty_file_a_folder_a_nul_byte_an_endless_line(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a", b""))[1] == [(1, "the file is empty")]
    (tmp_path / "folder").mkdir()
    assert read(tmp_path / "folder")[1] == [(1, "is a folder, not a file")]
    assert read(write(tmp_path / "b", b"a\0b\nc"))[1] == [(1, "holds a NUL byte; is this a text file?")]
    good, faults = read(write(tmp_path / "c", b"x" * (3 * LINE_LIMIT) + b"\nnext"))
    assert good == [(2, "next")]
    assert faults == [(1, "line longer than 1 MiB")]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_that_is_cut_off_gives_what_it_has(tmp_path: Path, ending: str) -> None:
    text = "".join(f"line {i}\n" for i in range(100_000)).encode()
    packed = gzip.compress(text) if ending == ".gz" else zstandard.compress(text)
    whole = write(tmp_path / f"whole{ending}", packed)
    assert len(read(whole)[0]) == 100_000
    assert read(whole)[1] == []
    assert len(read(write(tmp_path / f"twice{ending}", packed + packed))[0]) == 200_000
    good, faults = read(write(tmp_path / f"cut{ending}", packed[: len(packed) // 2]))
    assert 0 < len(good) < 100_000
    assert len(faults) == 1
    assert faults[0][0] == len(good) + 1
    assert "broken or cut off" in faults[0][1]


def test_strict_refuses_the_first_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ok\n\xff\n")
    with pytest.raises(BadData, match=r"a:2: not UTF-8.*--strict"):
        list(lines(path, Faults(strict=True)))


def test_a_missing_file_is_an_error_not_a_fault(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="no file"):
        list(lines(tmp_path / "nowhere", Faults()))


def test_csv_rows_know_where_they_start(tmp_path: Path) -> None:
    text = 'a,b\n1,"two\nlines"\n3\n4,5\n6,"open'
    faults = Faults()
    rows = list(csv_rows(write(tmp_path / "a.csv", text.encode()), faults, ("a", "b")))
    assert [(row.line, row.fields["b"]) for row in rows] == [(2, "two\nlines"), (5, "5")]
    assert [(f.line, f.reason) for f in faults.first] == [
        (4, "1 fields where the header has 2"),
        (6, "a quotation mark is never closed"),
    ]


def test_csv_without_its_column_says_which_there_are(tmp_path: Path) -> None:
    faults = Faults()
    path = write(tmp_path / "a.csv", b"x,y\n1,2\n")
    assert not list(csv_rows(path, faults, ("a",), hint="it may be called x"))
    assert str(faults.first[0]) == f"{path}:1: no column 'a'; the columns are: x, y (it may be called x)"


def test_an_unclosed_quote_does_not_swallow_the_rest(tmp_path: Path) -> None:
    rows = "".join(f'{i},"{"text " * 20}"\n' for i in range(10_000))
    text = 'a,b\n1,"never closed\n' + rows.replace('"', "") + '7,"fine"\n'
    faults = Faults()
    found = list(csv_rows(write(tmp_path / "a.csv", text.encode()), faults, ("a", "b")))
    assert [fault.line for fault in faults.first] == [2]
    assert found[-1].fields == {"a": "7", "b": "fine"}
    assert len(found) == 10_001


def test_writing_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out.txt"
    with pytest.raises(RuntimeError), writing(target) as file:
        file.write("half")
        raise RuntimeError
    assert list(target.parent.iterdir()) == []
    with writing(target) as file:
        file.write("whole")
    assert target.read_text() == "whole"
    with pytest.raises(KeyboardInterrupt), writing(target) as file:
        file.write("half")
        raise KeyboardInterrupt
    assert target.read_text() == "whole"
    assert list(target.parent.iterdir()) == [target]


def test_writing_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with writing(tmp_path / "link.txt") as file:
        file.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with writing(tmp_path / "pipe") as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_writing_where_one_cannot_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(HeartfeltError, match="is a folder"), writing(tmp_path):
        pass
    (tmp_path / "file").write_text("x")
    with pytest.raises(HeartfeltError, match="Cannot write"), writing(tmp_path / "file" / "below"):
        pass


def test_a_full_disk_is_said_in_a_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full, a disk that is always full (Linux)")
    target = tmp_path / "out"
    with (
        pytest.raises(
            HeartfeltError, match=r"Could not write .*No space left on device; nothing was written"
        ),
        writing(target) as file,
    ):
        os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())  # the disk fills up while we write
        file.write("x" * 100_000)
    assert list(tmp_path.iterdir()) == []
