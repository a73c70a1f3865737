"""Studies for tests: small ones of our own, served on loopback in a thread of this process, and a browser."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from heartfelt.study import file
from heartfelt.study.app import make_study_app
from heartfelt.study.file import Study
from heartfelt.study.store import Store, begin
from tests.conftest import skip

KEY = "the-lead's-key"
SYSTEMS = ("zebra-net", "quokka-lm", "ibex-bert")  # names that no other text contains
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"


def write_items(folder: Path, count: int, systems: tuple[str, ...] = SYSTEMS) -> None:
    rows = [
        {
            "name": f"secret-item-{i}", "context": [f"Story {i}.", "Go on?", f"It went badly, number {i}."],
            "replies": {s: f"Reply {j} to {i} {HOSTILE if i == 0 else ''}".strip() for j, s in enumerate(systems)},
            "labels": {name: ("questioning", "consoling")[j % 2] for j, name in enumerate(systems)},
            "emotion": ("sad", "proud")[i % 2], "group": ("os", "ed")[i % 2],
            "reference": f"What the person said to {i}.",
        }
        for i in range(count)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


LIKERT = """
questions:
  - {name: empathy, ask: "Did it show understanding?", low: 1, high: 5, labels: [not at all, very much]}
  - {name: fluency, ask: "Could you understand it?", low: 1, high: 5}
"""
SURVEY = """
survey:
  - {name: clear, ask: "Was it clear?", options: ["yes", "no"], required: true}
  - {name: remarks, ask: "Anything else?"}
"""


def study_in(
    folder: Path, kind: str, items: int = 4, more: str = "", systems: tuple[str, ...] = SYSTEMS
) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    head = f"name: test-{kind}\nkind: {kind}\n"
    if kind != "collect":
        write_items(folder, items, systems)
        head += "items: items.jsonl\n" + (LIKERT if kind == "likert" else "")
    (folder / "study.yaml").write_text(head + more)
    return file.load(folder / "study.yaml")


def store_in(
    folder: Path, study: Study, url: str | None = None, clock: Callable[[], float] = time.time
) -> Store:
    return begin(study, folder, url or str(folder / "study.db"), clock)


@contextmanager
def serving(store: Store, agent: Any = None) -> Iterator[str]:
    import uvicorn

    app = make_study_app(store, KEY, agent)
    server = uvicorn.Server(
        uvicorn.Config(app, "127.0.0.1", 0, log_level="error", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install 'heartfelt[dev]'")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        skip("needs Chromium: apt-get install chromium")
    sync_api.expect.set_options(timeout=20_000)
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


VALUES: dict[str, Any] = {
    "likert": lambda page: [{"empathy": 4, "fluency": 5} for _ in page["replies"]],
    "sort": lambda page: ["good", "okay", "bad", "good"][: len(page["replies"])],
    "choose": lambda page: 0,
}


class Rater:
    """A person made of HTTP requests."""

    def __init__(self, client: httpx.Client, token: str | None = None) -> None:
        self.client = client
        self.token = token or self.client.post("/join", json={}).json()["token"]

    def get(self, name: str) -> Any:
        return self._checked(self.client.get(f"/r/{self.token}/{name}"))

    def post(self, name: str, body: Any = None) -> Any:
        return self._checked(self.client.post(f"/r/{self.token}/{name}", json=body or {}))

    def _checked(self, said: httpx.Response) -> Any:
        assert said.status_code == 200, said.text
        return said.json()

    def start(self) -> Any:
        self.post("consent")
        return self.post("begin")

    def answer(self, state: Any, place: int, value: Any, revision: int = 1) -> Any:
        body = {"work": state["work"], "place": place, "revision": revision, "value": value, "seconds": 3.5}
        return self.post("answer", body)

    def do(self, kind: str, state: Any) -> Any:
        """A whole batch."""
        for place, page in enumerate(state["pages"]):
            if state["answers"][place] is None:
                self.answer(state, place, VALUES[kind](page))
        return self.post("finish", {"work": state["work"]})
