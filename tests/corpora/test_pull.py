"""Fetching from a real HTTP server that breaks the connection half-way, lies, and goes away."""

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from heartfelt import corpora
from heartfelt.corpora import pull as pulling
from heartfelt.corpora.corpus import Corpus, Download
from heartfelt.errors import BadData, DownloadFailed

Asked = list[str | None]


@dataclass
class Site:
    files: dict[str, bytes]
    break_after: int | None = None  # cut the connection after this many bytes, on each answer
    ranges: bool = True  # answer to Range, as most servers do
    failures: int = 0  # answer 503 so many times first
    version: str | None = "v1"  # the ETag
    asked: Asked = field(default_factory=list)  # the Range header of every request
    url: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.headers.get("Range"))
            body = site.files.get(self.path.removeprefix("/"))
            if site.failures:
                site.failures -= 1
                self.send_error(503)
                return
            if body is None:
                self.send_error(404)
                return
            start = 0
            wanted = self.headers.get("Range")
            if wanted and site.ranges and self.headers.get("If-Range") == site.version:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206)
            else:
                self.send_response(200)
            rest = body[start:]
            self.send_header("Content-Length", str(len(rest)))
            if site.version:
                self.send_header("ETag", site.version)
            self.end_headers()
            self.wfile.write(rest[: site.break_after])
            if site.break_after is not None and site.break_after < len(rest):
                self.close_connection = True
                self.connection.close()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "_PAUSES", (0, 0, 0))


def tarball(fixtures: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(fixtures / "empathetic_dialogues", "empatheticdialogues")
    return buffer.getvalue()


def corpus_from(site: Site, name: str, body: bytes, **changes: object) -> Corpus:
    download = replace(
        Download(f"{site.url}/{name}", sha256=hashlib.sha256(body).hexdigest(), inside="empatheticdialogues"),
        **changes,  # type: ignore[arg-type]
    )
    return replace(corpora.CORPORA["empathetic_dialogues"], downloads=(download,))


def test_a_connection_that_breaks_half_way_is_taken_up_again(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    with serving(Site({"ed.tar.gz": body}, break_after=len(body) // 3)) as site:
        seen: list[tuple[int, int | None]] = []
        said = pulling.pull(
            corpus_from(site, "ed.tar.gz", body),
            tmp_path,
            lambda name, done, total: seen.append((done, total)),
        )
    assert len(list(corpora.load("empathetic_dialogues", data=tmp_path))) == 4
    assert site.asked[0] is None
    assert site.asked[1] == f"bytes={len(body) // 3}-"
    assert seen[-1] == (len(body), len(body))
    assert hashlib.sha256(body).hexdigest() in said[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empathetic_dialogues"]


def test_what_arrived_is_kept_for_the_next_time(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    with serving(Site({"ed.tar.gz": body}, break_after=10)) as site:
        corpus = corpus_from(site, "ed.tar.gz", body)
        with pytest.raises(DownloadFailed, match="40 bytes are kept, the same command goes on"):
            pulling.pull(corpus, tmp_path)
        assert not (tmp_path / "empathetic_dialogues").exists()
        site.break_after = None
        pulling.pull(corpus, tmp_path)
    assert site.asked[-1] == "bytes=40-"
    assert len(list(corpora.load("empathetic_dialogues", data=tmp_path))) == 4


def test_a_server_without_ranges_begins_anew(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    with serving(Site({"ed.tar.gz": body}, break_after=10, ranges=False)) as site:
        corpus = corpus_from(site, "ed.tar.gz", body)
        with pytest.raises(DownloadFailed):
            pulling.pull(corpus, tmp_path)
        site.break_after = None
        pulling.pull(corpus, tmp_path)
    assert len(list(corpora.load("empathetic_dialogues", data=tmp_path))) == 4


@pytest.mark.parametrize("version", ["v2", None])
def test_two_versions_are_not_spliced(fixtures: Path, tmp_path: Path, version: str | None) -> None:
    old, new = b"old " * 1000, tarball(fixtures)
    with serving(Site({"ed.tar.gz": old}, break_after=100, version=version and "v1")) as site:
        corpus = corpus_from(site, "ed.tar.gz", b"", sha256=None)
        with pytest.raises(DownloadFailed):
            pulling.pull(corpus, tmp_path)
        site.files, site.break_after, site.version = {"ed.tar.gz": new}, None, version
        pulling.pull(corpus, tmp_path)
    assert len(list(corpora.load("empathetic_dialogues", data=tmp_path))) == 4


def test_a_second_pull_leaves_other_files_alone(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    with serving(Site({"ed.tar.gz": body})) as site:
        pulling.pull(corpus_from(site, "ed.tar.gz", body), tmp_path)
        (tmp_path / "empathetic_dialogues/notes.txt").write_text("mine")
        (tmp_path / "empathetic_dialogues/train.csv").write_text("damaged")
        pulling.pull(corpus_from(site, "ed.tar.gz", body), tmp_path)
    assert len(list(corpora.load("empathetic_dialogues", data=tmp_path))) == 4
    assert (tmp_path / "empathetic_dialogues/notes.txt").read_text() == "mine"


def test_a_server_that_fails_for_a_while(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    with serving(Site({"ed.tar.gz": body}, failures=2)) as site:
        pulling.pull(corpus_from(site, "ed.tar.gz", body), tmp_path)
    assert (tmp_path / "empathetic_dialogues/train.csv").exists()


def test_a_wrong_checksum_is_refused_and_nothing_is_put_in_place(fixtures: Path, tmp_path: Path) -> None:
    body = tarball(fixtures)
    refused = pytest.raises(BadData, match=r"has SHA-256 .* not 0000 as published; it was removed")
    with serving(Site({"ed.tar.gz": body})) as site, refused:
        pulling.pull(corpus_from(site, "ed.tar.gz", body, sha256="0000"), tmp_path)
    assert not (tmp_path / "empathetic_dialogues").exists()


def test_what_is_not_there_or_not_an_archive(tmp_path: Path) -> None:
    with serving(Site({"ed.tar.gz": b"not an archive"})) as site:
        with pytest.raises(DownloadFailed, match="404"):
            pulling.pull(corpus_from(site, "other.tar.gz", b""), tmp_path)
        with pytest.raises(BadData, match="cannot be unpacked"):
            pulling.pull(corpus_from(site, "ed.tar.gz", b"", sha256=None), tmp_path)
    assert not (tmp_path / "empathetic_dialogues").exists()


def test_without_a_network_it_says_what_to_do(tmp_path: Path) -> None:
    corpus = replace(
        corpora.CORPORA["empathetic_dialogues"], downloads=(Download("http://nowhere.invalid/ed.tar.gz"),)
    )
    with pytest.raises(
        DownloadFailed, match=r"Could not fetch .* Without a network: .* put its files \(train.csv\)"
    ):
        pulling.pull(corpus, tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DownloadFailed, match="has no official download"):
        pulling.pull(corpora.CORPORA["reddit"], tmp_path)


def test_zip_in_zip_as_dailydialog_comes(fixtures: Path, tmp_path: Path) -> None:
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        for split in ("train", "validation", "test"):
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w") as part:
                for path in (fixtures / "dailydialog" / split).iterdir():
                    part.write(path, f"{split}/{path.name}")
            archive.writestr(f"ijcnlp_dailydialog/{split}.zip", inner.getvalue())
    with serving(Site({"dd.zip": outer.getvalue()})) as site:
        download = Download(f"{site.url}/dd.zip", inside="ijcnlp_dailydialog")
        said = pulling.pull(replace(corpora.CORPORA["dailydialog"], downloads=(download,)), tmp_path)
    assert said[0].endswith("(none was published)")
    assert len(list(corpora.load("dailydialog", data=tmp_path))) == 3


def test_an_archive_cannot_write_outside_its_folder(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("empatheticdialogues/../../../evil.txt")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"evil"))
    body = buffer.getvalue()
    with serving(Site({"ed.tar.gz": body})) as site, pytest.raises(BadData, match="cannot be unpacked"):
        pulling.pull(corpus_from(site, "ed.tar.gz", body), tmp_path / "data")
    assert not list(tmp_path.rglob("evil.txt"))
