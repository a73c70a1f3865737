"""Fetch a corpus from its official source: resumed where it broke off, checked, unpacked, then put in place.

Everything happens in a `.part` folder beside the corpus's own, which appears when it is whole. Where it is there
already, whole files are put over the old ones, one by one; files of your own in it are left alone.
"""

import gzip
import shutil
import socket
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import heartfelt
from heartfelt.corpora.corpus import Corpus, Download
from heartfelt.errors import BadData, DownloadFailed, HeartfeltError
from heartfelt.files import sha256

_CHUNK = 1 << 16
_PATIENCE = 60.0  # seconds without a byte
_PAUSES = (1, 2, 4)  # seconds before each new try

Progress = Callable[[str, int, int | None], None]  # file name, bytes so far, bytes in all if known


def pull(corpus: Corpus, data: Path, progress: Progress = lambda name, done, total: None) -> list[str]:
    """Fetch a corpus into the data folder. Returns a line a file: its name and SHA-256."""
    if not corpus.downloads:
        raise DownloadFailed(
            f"{corpus.name} has no official download: put its files ({corpus.shows}) in {data / corpus.folder}; "
            "see heartfelt corpora list --long"
        )
    target = data / corpus.folder
    stage = target.parent / f".{target.name}.part"
    stage.mkdir(parents=True, exist_ok=True)
    try:
        return _pull(corpus, target, stage, progress)
    except DownloadFailed as problem:
        with suppress(OSError):
            stage.rmdir()  # if nothing has arrived
        raise DownloadFailed(
            f"{problem}. Without a network: fetch it elsewhere and put its files ({corpus.shows}) in {target}"
        ) from None


def _pull(corpus: Corpus, target: Path, stage: Path, progress: Progress) -> list[str]:
    said = []
    for download in corpus.downloads:
        name = download.name or PurePosixPath(unquote(urlsplit(download.url).path)).name
        file = fetch(download.url, stage / name, partial(progress, name))
        digest = sha256(file)
        if download.sha256 and digest != download.sha256:
            file.unlink()
            raise BadData(
                f"{name} from {download.url} has SHA-256 {digest}, not {download.sha256} as published; "
                "it was removed. Try again; if it happens twice, the source has changed"
            )
        said.append(f"{name}  sha256 {digest}" + ("" if download.sha256 else "  (none was published)"))
        _place(file, download, stage / "whole")
    if target.exists():
        _merge(stage / "whole", target)
    else:
        (stage / "whole").rename(target)
    shutil.rmtree(stage)
    return said


def fetch(url: str, path: Path, progress: Callable[[int, int | None], None]) -> Path:
    """Download a file, going on from what is there already; tries a few times before it gives up."""
    part = path.with_name(path.name + ".part")
    if path.exists():
        return path
    for pause in (*_PAUSES, None):
        before = part.stat().st_size if part.exists() else 0
        try:
            _fetch_on(url, part, progress)
            part.replace(path)
            return path
        except urllib.error.HTTPError as problem:
            problem.close()
            if problem.code < 500:
                raise DownloadFailed(
                    f"Could not fetch {url} (it answers {problem.code} {problem.reason})"
                ) from None
            reason = f"{problem.code} {problem.reason}"
        except (OSError, HTTPException) as problem:
            reason = _plainly(problem)
        have = part.stat().st_size if part.exists() else 0
        if pause is None:
            kept = f"; {have:,} bytes are kept, the same command goes on from there" if have else ""
            raise DownloadFailed(f"Could not fetch {url} ({reason}){kept}")
        if have == before:  # no headway: give the network a moment
            time.sleep(pause)
    raise AssertionError("not reached")


def _fetch_on(url: str, part: Path, progress: Callable[[int, int | None], None]) -> None:
    # Which version the bytes are of that we have: without it, two versions could be spliced into one file.
    version = part.with_name(part.name + ".version")
    have = part.stat().st_size if part.exists() and version.exists() else 0
    headers = {"User-Agent": f"heartfelt/{heartfelt.__version__}"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version.read_text()}
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=_PATIENCE)
    except urllib.error.HTTPError as problem:
        if problem.code == 416 and have:  # we asked for what comes after the end: begin anew
            problem.close()
            part.unlink()
            return _fetch_on(url, part, progress)
        raise
    with answer:
        if have and answer.status != 206:  # a server that cannot go on begins anew
            have = 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdecimal() else None
        if not have:
            version.unlink(missing_ok=True)
            if tag := answer.headers.get("ETag") or answer.headers.get("Last-Modified"):
                version.write_text(tag)
        with part.open("ab" if have else "wb") as file:
            while chunk := answer.read(_CHUNK):
                try:
                    file.write(chunk)
                    file.flush()
                except OSError as problem:
                    raise HeartfeltError(f"Could not write {part}: {problem.strerror}") from None
                have += len(chunk)
                progress(have, total)
    if total is not None and have < total:
        raise ConnectionError(f"the connection broke after {have:,} of {total:,} bytes")
    return None


def _plainly(problem: Exception) -> str:
    cause = getattr(problem, "reason", problem)
    if isinstance(cause, socket.gaierror):
        return "the host's name cannot be looked up; is there a network?"
    if isinstance(cause, TimeoutError):
        return f"no answer for {_PATIENCE:.0f} s"
    return str(cause) or type(cause).__name__


def _place(file: Path, download: Download, whole: Path) -> None:
    """Unpack an archive into the staged corpus, or copy the file there."""
    target = whole / download.unpack_to
    target.mkdir(parents=True, exist_ok=True)
    is_archive = file.name.endswith((".tar.gz", ".tgz", ".zip"))
    if not is_archive or not download.unpack_to:
        shutil.copy(file, target / file.name)
        return
    unpacked = file.with_name(file.name + ".unpacked")
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    try:
        _unpack(file, unpacked)
        for inner in sorted(unpacked.rglob("*.zip")):  # DailyDialog keeps a zip a split inside its zip
            _unpack(inner, inner.parent)
            inner.unlink()
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile) as problem:
        file.unlink()
        raise BadData(f"{file.name} cannot be unpacked ({problem}); it was removed, try again") from None
    source = unpacked / download.inside
    if not source.is_dir():
        raise BadData(f"{file.name} holds no folder '{download.inside}'; the source has changed")
    _merge(source, target)
    shutil.rmtree(unpacked)


def _unpack(file: Path, to: Path) -> None:
    if file.name.endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(to)  # zipfile itself keeps members inside the folder
    else:
        with tarfile.open(file) as archive:
            archive.extractall(to, filter="data")


def _merge(source: Path, target: Path) -> None:
    """Move everything in a folder into another, over what is there."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            goal = target / path.relative_to(source)
            goal.parent.mkdir(parents=True, exist_ok=True)
            path.replace(goal)
