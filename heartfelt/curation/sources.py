"""Where subtitle files lie: folders, single files, OPUS's zip, tar archives. Streamed: nothing is unpacked to disk."""

import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from heartfelt.curation import opensubtitles, srt
from heartfelt.curation.subtitle import Subtitle, Unreadable
from heartfelt.errors import MissingData

ENDINGS = (".srt", ".xml", ".srt.gz", ".xml.gz")
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_LARGEST = 64 << 20  # bytes after unpacking; a bomb is cut off here
# …/en/2001/209475/109371.xml.gz: year, film's number at IMDb, subtitle's number
_OPUS = re.compile(r"(?:^|/)(\d{1,4})/(\d{1,9})/(\d+)\.xml(?:\.gz)?$")


class Source(msgspec.Struct, frozen=True):
    """One subtitle file: in a folder, or inside an archive."""

    container: str  # the file itself, or the archive
    member: str  # its name in the archive; empty for a plain file
    name: str  # what it is called in the corpus: no machine path
    size: int

    @property
    def film(self) -> str:
        """IMDb's number of the film where the path says it, as OpenSubtitles' do; else empty."""
        found = _OPUS.search(self.name)
        return f"tt{int(found[2]):07d}" if found else ""

    @property
    def year(self) -> str:
        found = _OPUS.search(self.name)
        return found[1] if found and len(found[1]) == 4 else ""


def find(paths: Iterable[Path]) -> list[Source]:
    """Every subtitle file below these folders, files and archives.

    Plain files and zip in the order of their names; a tar archive in its own, in which it can be read in one go.
    """
    found: list[Source] = []
    for path in paths:
        if not path.exists():
            raise MissingData(f"There is no file or folder {path}")
        before = len(found)
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                name = f"{path.name}/{file.relative_to(path).as_posix()}"
                if file.name.endswith(ENDINGS) and file.is_file():
                    found.append(Source(str(file), "", name, file.stat().st_size))
                elif file.name.endswith(_ARCHIVES) and file.is_file():
                    found += _members(file, name)
        elif path.name.endswith(_ARCHIVES):
            found += _members(path, path.name)
        elif path.name.endswith(ENDINGS):
            found.append(Source(str(path), "", path.name, path.stat().st_size))
        if len(found) == before:
            raise MissingData(
                f"There is no subtitle in {path}: files should end in {', '.join(ENDINGS)}, "
                f"archives in {', '.join(_ARCHIVES)}"
            )
    return found


def _members(path: Path, name: str) -> Iterator[Source]:
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                entries = sorted(
                    (entry.filename, entry.file_size) for entry in archive.infolist() if not entry.is_dir()
                )
        else:
            with tarfile.open(path, "r|*") as archive:
                entries = [(entry.name, entry.size) for entry in archive if entry.isfile()]
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, OSError) as problem:
        raise MissingData(f"{path} cannot be read as an archive: {problem}") from None
    for member, size in entries:
        if member.endswith(ENDINGS):
            yield Source(str(path), member, f"{name}/{member}", size)


def read(source: Source) -> Subtitle:
    """A subtitle, whatever it lies in. Raises Unreadable with the reason where it cannot be read."""
    content = _unpacked(source)
    inner = source.name.removesuffix(".gz")
    if not content.strip():
        raise Unreadable("the file is empty")
    return opensubtitles.read(content) if inner.endswith(".xml") else srt.read(content)


def _unpacked(source: Source) -> bytes:
    try:
        if not source.member:
            with Path(source.container).open("rb") as plain:
                content = _limited(plain)
        elif source.container.endswith(".zip"):
            with _zip(source.container).open(source.member) as packed:
                content = _limited(packed)
        else:
            content = _from_tar(source)
        if source.name.endswith(".gz"):
            unpacker = zlib.decompressobj(wbits=31)
            content = unpacker.decompress(content, _LARGEST)
            if not unpacker.eof:
                raise Unreadable("the compressed file is cut off, or far too large")
    except (
        OSError,
        EOFError,
        zlib.error,
        gzip.BadGzipFile,
        zipfile.BadZipFile,
        tarfile.TarError,
        RuntimeError,
    ) as problem:
        raise Unreadable(f"cannot be unpacked: {getattr(problem, 'strerror', None) or problem}") from None
    return content


def _limited(file: IO[bytes]) -> bytes:
    content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise Unreadable(f"more than {_LARGEST >> 20} MiB: too large for a subtitle")
    return content


# One open archive of each kind a process: shards come in the archive's order, so each is read once from end to end.
_zips: dict[str, zipfile.ZipFile] = {}
_tars: dict[str, "_Tar"] = {}


def _zip(path: str) -> zipfile.ZipFile:
    if path not in _zips:
        for archive in _zips.values():
            archive.close()
        _zips.clear()
        _zips[path] = zipfile.ZipFile(path)
    return _zips[path]


class _Tar:
    """A tar archive as it streams by; `seek` goes on to a member, and starts again only for one that has passed."""

    def __init__(self, path: str) -> None:
        self.archive = tarfile.open(path, "r|*")  # noqa: SIM115 - closed by the next one
        self.passed: set[str] = set()

    def seek(self, member: str) -> bytes | None:
        for entry in self.archive:
            self.passed.add(entry.name)
            self.archive.members = []  # type: ignore[attr-defined]  # or it remembers them all
            if entry.name == member:
                file = self.archive.extractfile(entry)
                return _limited(file) if file else b""
        return None


def _from_tar(source: Source) -> bytes:
    tar = _tars.get(source.container)
    if tar is None or source.member in tar.passed:
        for old in _tars.values():
            old.archive.close()
        _tars.clear()
        tar = _tars[source.container] = _Tar(source.container)
    content = tar.seek(source.member)
    if content is None:
        _tars.clear()
        raise Unreadable("it is no longer in the archive")
    return content
