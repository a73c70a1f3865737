"""Reading files that may be broken, and writing files that never are.

Reading streams: a line at a time, plain or compressed, with its number. What cannot be read becomes a Fault
(file, line, reason) and is skipped; nothing here raises because of what a file contains.
Writing goes to a temporary name and is renamed when whole.
"""

import csv
import gzip
import hashlib
import io
import os
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from heartfelt.errors import BadData, HeartfeltError, MissingData, need

# The longest line that we take for text. Official ED test rows with their candidates reach 20 kB.
LINE_LIMIT = 1 << 20


class Fault(NamedTuple):
    path: Path
    line: int  # 1-based; a fault of a whole file stands at the line where reading stopped
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class Faults:
    """Collects what could not be read. Counts all, keeps the first ones, tells each as it comes.

    A fault that was told before is not told again: some corpora read one file for each of their splits.
    """

    KEPT = 100
    LONGEST = 300  # characters of a reason
    REMEMBERED = 100_000

    def __init__(
        self,
        strict: bool = False,
        tell: Callable[[Fault], None] | None = None,
        hint: str = " (refused because of --strict; without it the row is skipped)",
    ) -> None:
        self.strict = strict
        self.hint = hint  # what a refusal adds: whose wish it was
        self.tell = tell
        self.count = 0
        self.first: list[Fault] = []
        self._told: set[int] = set()

    def add(self, path: Path, line: int, reason: str) -> None:
        # A reason may quote the file: nothing of it may move the cursor or break the line.
        shown = "".join(char if char.isprintable() else " " for char in reason)
        fault = Fault(path, line, " ".join(shown.split())[: self.LONGEST])
        if self.strict:
            raise BadData(f"{fault}{self.hint}")
        if hash(fault) in self._told:
            return
        if len(self._told) < self.REMEMBERED:
            self._told.add(hash(fault))
        self.count += 1
        if len(self.first) < self.KEPT:
            self.first.append(fault)
        if self.tell:
            self.tell(fault)


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if its name ends in .gz or .zst."""
    try:
        if path.suffix == ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        if path.suffix == ".zst":
            return io.BufferedReader(_ZstdFile(path), 1 << 20)
        return path.open("rb", buffering=1 << 20)
    except FileNotFoundError:
        raise MissingData(f"There is no file {path}") from None
    except OSError as problem:
        raise MissingData(f"The file {path} cannot be opened: {problem.strerror}") from None


class _ZstdFile(io.RawIOBase):
    """A zstd file as it unpacks, over all of its frames. Unlike the library's reader, it tells a file that
    ends from one that was cut off."""

    def __init__(self, path: Path) -> None:
        zstandard = need("zstandard", "curate", f"Reading {path.name}")
        # Reddit's monthly dumps are packed with a 2 GiB window (zstd --long=31).
        self._frames = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        self._frame: Any = None
        self._packed = path.open("rb")
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacked:
            chunk = (self._frame.unused_data if self._frame else b"") or self._packed.read(1 << 17)
            if not chunk:
                if self._frame and not self._frame.eof:
                    raise EOFError("it ends inside a frame")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._frames.decompressobj()
            self._unpacked = memoryview(self._frame.decompress(chunk))
        size = min(len(buffer), len(self._unpacked))
        buffer[:size] = self._unpacked[:size]
        self._unpacked = self._unpacked[size:]
        return size

    def close(self) -> None:
        self._packed.close()
        super().close()


def unpack_errors() -> tuple[type[Exception], ...]:
    """What a broken or cut-off compressed file may raise while it is read."""
    errors: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error)
    try:
        import zstandard
    except ImportError:
        return errors
    return (*errors, zstandard.ZstdError)


def lines(path: Path, faults: Faults, fallback: str | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, without their ends. Unreadable ones become faults.

    fallback: the encoding of lines that are not UTF-8, for corpora that are known to be older than it.
    """
    if path.is_dir():
        faults.add(path, 1, "is a folder, not a file")
        return
    number = 0
    broken = unpack_errors()
    with open_binary(path) as file:
        try:
            while raw := file.readline(LINE_LIMIT):
                number += 1
                if number == 1:
                    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                        faults.add(path, 1, "is encoded as UTF-16; save it as UTF-8")
                        return
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if len(raw) >= LINE_LIMIT and not raw.endswith(b"\n"):
                    faults.add(path, number, f"line longer than {LINE_LIMIT >> 20} MiB")
                    while (raw := file.readline(LINE_LIMIT)) and not raw.endswith(b"\n"):
                        pass
                    continue
                try:
                    line = raw.decode("utf-8").rstrip("\r\n")
                except UnicodeDecodeError as problem:
                    if fallback is None:
                        byte = raw[problem.start]
                        faults.add(path, number, f"not UTF-8: byte {byte:#04x} at column {problem.start + 1}")
                        continue
                    line = raw.decode(fallback).rstrip("\r\n")
                if "\0" in line:
                    faults.add(path, number, "holds a NUL byte; is this a text file?")
                    continue
                yield number, line
        except broken as problem:
            faults.add(path, number + 1, f"the compressed file is broken or cut off here ({problem})")
            return
        except OSError as problem:
            faults.add(path, number + 1, f"cannot be read on from here ({problem.strerror or problem})")
            return
    if number == 0:
        faults.add(path, 1, "the file is empty")


class Row(NamedTuple):
    line: int  # where the row starts
    fields: dict[str, str]


def csv_rows(
    path: Path,
    faults: Faults,
    columns: Sequence[str],
    delimiter: str = ",",
    hint: str = "",
    unique: bool = False,
) -> Iterator[Row]:
    """The rows of a quoted CSV file as dicts with at least these columns. A quoted field may span lines.

    A row that cannot be read costs its first line only: reading goes on with the next line, so that a quote
    which is never closed does not swallow the rows after it.
    """
    header: list[str] | None = None
    waiting: deque[tuple[int, str]] = deque()  # lines that were read and given back
    source = lines(path, faults)
    while first := (waiting.popleft() if waiting else next(source, None)):
        record = [first]
        while _open(record) and len(record) < _RECORD_LIMIT:
            following = waiting.popleft() if waiting else next(source, None)
            if following is None:
                break
            record.append(following)
        values, reason = _fields("\n".join(line for _, line in record), delimiter)
        if not values and not reason:
            continue
        if not reason and header is not None and len(values) != len(header):
            reason = f"{len(values)} fields where the header has {len(header)}"
        if reason:
            faults.add(path, first[0], reason)
            waiting.extendleft(reversed(record[1:]))
        elif header is None:
            header = [name.strip() for name in values]
            if missing := [name for name in columns if name not in header]:
                faults.add(path, first[0], missing_columns(missing, header, hint))
                return
            if unique and (twice := sorted({name for name in header if header.count(name) > 1})):
                faults.add(path, first[0], f"two columns are called '{twice[0]}'")
                return
        else:
            yield Row(first[0], dict(zip(header, values, strict=True)))


_RECORD_LIMIT = 500  # lines that one row may span


def _open(record: list[tuple[int, str]]) -> bool:
    """Is a quotation still open at the end of these lines? Quotes inside one are doubled, so parity tells."""
    return sum(line.count('"') for _, line in record) % 2 == 1


def _fields(text: str, delimiter: str) -> tuple[list[str], str]:
    """The fields of one CSV record, or what is wrong with it."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter, strict=True))
    except csv.Error as problem:
        ends = "unexpected end" in str(problem)
        return [], "a quotation mark is never closed" if ends else f"not CSV: {problem}"
    return (rows[0] if rows else []), ""


def missing_columns(missing: Sequence[str], header: Sequence[str], hint: str = "") -> str:
    names = ", ".join(f"'{name}'" for name in missing)
    return f"no column {names}; the columns are: {', '.join(header)[:200]}" + (f" ({hint})" if hint else "")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """Where what can be fetched or made again is kept for this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "heartfelt"


@contextmanager
def writing(path: Path, mode: str = "w", private: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that appears under its name only when it is whole; a private one is its owner's alone.

    A link is followed. A pipe or device (/dev/stdout) is written to as it is.
    """
    try:
        path = Path(path).resolve()
        folder, special = path.is_dir(), path.exists() and not path.is_file()
    except OSError as problem:  # a name too long, a folder that one may not look into
        raise HeartfeltError(f"Cannot write {path}: {problem.strerror}") from None
    if folder:
        raise HeartfeltError(f"{path} is a folder; name a file to write")
    if special:
        with path.open(mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as problem:
        raise HeartfeltError(f"Cannot write {path}: {problem.strerror}") from None
    temporary = Path(name)
    try:
        encoding = None if "b" in mode else "utf-8"
        with os.fdopen(handle, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        temporary.replace(path)
    except BaseException as problem:
        temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise HeartfeltError(f"Could not write {path}: {problem.strerror}; nothing was written") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
