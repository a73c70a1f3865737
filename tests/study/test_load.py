"""Many raters at once, on SQLite and on PostgreSQL, and a server that is killed while they answer.

The server is a process of its own. Raters do as the page does: what got no answer is sent again. Every other post is
sent twice.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from heartfelt.study.records import works
from heartfelt.study.store import Store, open_store
from tests.conftest import ROOT
from tests.postgres import Postgres, emptied, postgres  # noqa: F401
from tests.study.conftest import study_in

AREAS = ("good", "okay", "bad")


class Server:
    def __init__(self, file: Path, database: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "heartfelt",
            "study",
            "serve",
            str(file),
            "--database",
            database,
            "--port",
            str(self.port),
            "--key",
            "k",
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self._command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
        )
        ends = time.monotonic() + 90
        while True:
            try:
                if httpx.get(f"{self.url}/health", timeout=5, verify=False).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            assert self.process.poll() is None, "the server did not start"
            assert time.monotonic() < ends
            time.sleep(0.1)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


class Crowd:
    """Raters in threads, and what the server acknowledged to each."""

    def __init__(self, url: str, count: int) -> None:
        self.url, self.acknowledged, self.codes = url, {}, []  # type: ignore[var-annotated]
        self.problems: list[BaseException] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._guarded, args=(i,)) for i in range(count)]

    def run(self, meanwhile: Callable[[], None] = lambda: None, seconds: float = 120) -> None:
        began = time.monotonic()
        for thread in self._threads:
            thread.start()
        meanwhile()
        ends = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.1, ends - time.monotonic()))
            assert not thread.is_alive(), "a rater never came to an end"
        assert not self.problems, self.problems[0]
        print(
            f"{len(self._threads)} raters: {len(self.acknowledged)} answers in {time.monotonic() - began:.1f} s"
        )

    def _guarded(self, number: int) -> None:
        try:
            with httpx.Client(
                base_url=self.url, timeout=30, verify=False
            ) as client:  # no certificates to load, sixty times
                self._rate(client, number)
        except BaseException as problem:
            self.problems.append(problem)

    def _send(self, client: httpx.Client, path: str, body: Any, twice: bool = False) -> Any:
        for _ in range(200):
            try:
                said = client.post(path, json=body)
                if twice:
                    said = client.post(path, json=body)
            except httpx.HTTPError:  # the server has gone: again, as the page does
                time.sleep(0.1)
                continue
            if said.status_code < 500:
                assert said.status_code == 200, said.text
                return said.json()
            time.sleep(0.1)
        raise AssertionError("no answer")

    def _rate(self, client: httpx.Client, number: int) -> None:
        token = self._send(client, "/join", {"worker": f"worker-{number}"})["token"]
        self._send(client, f"/r/{token}/consent", {})
        state = self._send(client, f"/r/{token}/begin", {})
        while state["stage"] == "rate":
            work = state["work"]
            for place, page in enumerate(state["pages"]):
                value = [AREAS[(number + place + i) % 3] for i in range(len(page["replies"]))]
                body = {"work": work, "place": place, "revision": 1, "value": value}
                self._send(client, f"/r/{token}/answer", body, twice=place % 2 == 0)
                with self._lock:
                    self.acknowledged[work, place] = value
            state = self._send(client, f"/r/{token}/finish", {"work": work})
            with self._lock:
                self.codes.append(state["codes"][-1])
            if state["more"]:
                state = self._send(client, f"/r/{token}/begin", {})


def study(folder: Path, raters: int) -> Path:
    study_in(folder, "sort", 8, f"access: crowd\nbatches: {{size: 2, raters: {raters}}}")
    return folder / "study.yaml"


def check(store: Store, crowd: Crowd, raters: int) -> None:
    """No answer lost, none double, every item exactly its quota, nobody twice on an item."""
    store.recall()
    found = works(store)
    assert all(work.finished is not None for work in found)
    assert Counter(work.batch for work in found) == dict.fromkeys(range(4), raters)
    stored = {
        (work.id, place): [answer.value["areas"][system] for system in answer.order]
        for work in found
        for place, answer in enumerate(work.answers)
    }
    assert stored == crowd.acknowledged
    by_item = Counter(answer.item.name for work in found for answer in work.answers)
    assert set(by_item.values()) == {raters}
    assert len(by_item) == 8
    pairs = Counter((work.rater, answer.item.name) for work in found for answer in work.answers)
    assert set(pairs.values()) == {1}
    assert sorted(work.code or "" for work in found) == sorted(crowd.codes)
    assert len(set(crowd.codes)) == 4 * raters
    store.close()


def test_twenty_raters_on_sqlite_and_a_server_that_is_killed(tmp_path: Path) -> None:
    file, database = study(tmp_path, 7), str(tmp_path / "study.db")
    server = Server(file, database)
    crowd = Crowd(server.url, 20)

    def killed() -> None:
        while len(crowd.acknowledged) < 20:
            time.sleep(0.01)
        server.kill()
        before = dict(crowd.acknowledged)
        store = open_store(_study(file), database)
        store.recall()
        kept = {(work.id, place) for work in works(store) for place, _ in enumerate(work.answers)}
        store.close()
        assert set(before) <= kept  # whatever was acknowledged when it died
        server.start()

    try:
        crowd.run(killed)
    finally:
        server.stop()
    check(open_store(_study(file), database), crowd, 7)


def test_sixty_raters_on_postgres(tmp_path: Path, postgres: Postgres) -> None:  # noqa: F811
    file, database = study(tmp_path, 15), emptied(postgres)
    server = Server(file, database)
    crowd = Crowd(server.url, 60)
    try:
        crowd.run()
    finally:
        server.stop()
    check(open_store(_study(file), database), crowd, 15)


def _study(file: Path) -> Any:
    from heartfelt.study.file import load

    return load(file)


@pytest.mark.parametrize("kind", ["sort", "collect"])
def test_the_tables_are_what_the_code_says(kind: str, tmp_path: Path, postgres: Postgres) -> None:  # noqa: F811
    """What the migrations make is what SQLAlchemy's tables name, on both databases."""
    from sqlalchemy import inspect

    from heartfelt.study.migrations import META
    from tests.study.conftest import store_in

    for url in (str(tmp_path / "x.db"), emptied(postgres)):
        store = store_in(tmp_path, study_in(tmp_path, kind), url)
        names = inspect(store.engine)
        for table in META.sorted_tables:
            assert {column["name"] for column in names.get_columns(table.name)} == set(table.c.keys()), (
                table.name
            )
        store.close()
