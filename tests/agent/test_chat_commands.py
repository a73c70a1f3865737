"""The commands `chat` and `reply`, whole: a process, a terminal or a pipe, a server that writes the replies."""

import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from heartfelt.agent.chat import load_talk

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
SAD, PLAIN = "i am so sad . my dog died", "what did you say ?"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = [message["content"] for message in request["messages"]]
        text = f"reply {len(said)} to {said[-1]}"
        body = json.dumps({"choices": [{"message": {"content": text}}]})
        if request.get("stream"):
            body = "".join(f"data: {json.dumps({'choices': [{'delta': {'content': c}}]})}\n\n" for c in text)
            body += "data: [DONE]\n\n"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_address[1]}/v1#model"
    made.shutdown()
    made.server_close()


@pytest.fixture
def options(server: str, tiny_encoder: Path) -> list[str]:
    return ["--backend", server, "--encoder", str(tiny_encoder), "--locale", "GB", "--candidates", "1"]


def run(
    *arguments: str, stdin: str | bytes = "", home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run(
        [sys.executable, "-m", "heartfelt", *arguments], input=data, capture_output=True, timeout=120,
        env=os.environ | ({"XDG_STATE_HOME": str(home)} if home else {}),
    )  # fmt: skip
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_one_reply(options: list[str]) -> None:
    assert run("reply", SAD, *options).stdout == f"reply 2 to {SAD}\n"
    assert run("reply", "-", *options, stdin=SAD).stdout == f"reply 2 to {SAD}\n"
    found = json.loads(run("reply", SAD, "--json", "--intent", "questioning", *options).stdout)
    assert found["plan"] == {"questioning": 1.0}
    assert found["model"] == "model"
    assert max(found["emotion"], key=found["emotion"].get) == "sad"


def test_what_is_wrong_is_one_line(options: list[str]) -> None:
    for arguments, said in (
        (("reply", " "), "nothing to answer"),
        (("reply", SAD, "--intent", "asking"), "no plan 'asking'"),
        (("chat", "--resume"), "no talk"),
    ):
        done = run(*arguments, *options, home=Path("/nonexistent"))
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    typo = run("reply", SAD, *options[2:], "--backend", "localhost:9/v1#x")
    assert typo.returncode == 2
    assert "begins with http://" in typo.stderr
    gone = run("reply", SAD, *options[2:], "--backend", "http://127.0.0.1:9/v1#x")
    assert gone.returncode == 2
    assert "cannot be reached" in gone.stderr


def test_a_pipe_is_answered_line_by_line(options: list[str], tmp_path: Path) -> None:
    talk = f"{SAD}\n\n{PLAIN}\n/why\nI want to kill myself\n".encode() + b"\xff\xfe\n"
    done = run("chat", *options, stdin=talk, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"reply 2 to {SAD}\nreply 4 to {PLAIN}\n")
    assert "heard  sad" in done.stdout  # of /why
    assert "\nplan " in done.stdout
    assert "116 123" in done.stdout
    assert not list(tmp_path.iterdir())  # a pipe is not kept
    odd = run("chat", *options, stdin="/shrug I am sad\n//why\n", home=tmp_path)
    assert odd.stdout == "reply 2 to /shrug I am sad\nreply 4 to /why\n"
    assert "The guard is off" in run("chat", *options, "--no-guard", stdin=SAD).stderr


def test_a_talk_in_a_terminal(options: list[str], tmp_path: Path) -> None:
    talk = Terminal(["chat", *options], tmp_path)
    talk.until("you ›")
    talk.type(SAD)
    assert f"reply 2 to {SAD}" in talk.until("you ›")
    talk.type("/why")
    assert "█" in talk.until("you ›")
    talk.type("/intent question")
    assert "Did you mean 'questioning'" in talk.until("you ›")
    talk.type("/intent questioning")
    talk.until("you ›")
    talk.type(PLAIN)
    assert "reply 4" in talk.until("you ›")
    talk.type("/undo")
    assert "taken back" in talk.until("you ›")
    talk.type(f"/save {tmp_path}/talk.jsonl")
    talk.until("you ›")
    talk.type("/nothing")
    assert "no command '/nothing'" in talk.until("you ›")
    talk.type("/help")
    assert "/emotion" in talk.until("you ›")
    talk.type("/quit")
    assert talk.end() == 0
    assert [turn.text for turn in load_talk(tmp_path / "talk.jsonl").turns] == [SAD, f"reply 2 to {SAD}"]
    again = Terminal(["chat", "--resume", *options], tmp_path)
    again.until(f"heartfelt › reply 2 to {SAD}")  # what was said is shown
    again.until("you ›")
    again.type(PLAIN)
    assert "reply 4" in again.until("you ›")
    again.send(b"\x04")
    assert again.end() == 0


class Terminal:
    """A command in a pseudo-terminal."""

    def __init__(self, arguments: list[str], home: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._shown = b""  # a character may come in two halves
        self._process = subprocess.Popen(
            [sys.executable, "-m", "heartfelt", *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
            env=os.environ | {"XDG_STATE_HOME": str(home), "COLUMNS": "200", "TERM": "xterm"},
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def until(self, mark: str) -> str:
        """What is shown up to and with the mark; the rest is kept for the next time."""
        deadline = time.monotonic() + 60
        while mark.encode() not in self._shown:
            assert time.monotonic() < deadline, self._shown.decode(errors="replace")
            if select.select([self._ours], [], [], 1)[0]:
                self._shown += os.read(self._ours, 4096)
        before, _, self._shown = self._shown.partition(mark.encode())
        return before.decode(errors="replace") + mark

    def type(self, line: str) -> None:
        self.send(f"{line}\n".encode())
        self.until("\n")  # the terminal's own echo

    def send(self, data: bytes) -> None:
        os.write(self._ours, data)

    def end(self) -> int:
        code = self._process.wait(60)
        os.close(self._ours)
        return code
