"""`heartfelt serve` as a process: where it listens, how it goes, and what a backend that dies does to it."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.serving.backend import WORDS
from tests.serving.conftest import eventually

ROOT = Path(__file__).parent.parent.parent
ASKED = {"messages": [{"role": "user", "content": "My dog died last night."}]}


@contextmanager
def backend(pause: float, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "tests.serving.backend", str(pause), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        try:
            yield process, f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


@contextmanager
def served(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "heartfelt", "serve", "--port", "0", *options]
    environment = os.environ | {"LANG": "en_GB.UTF-8", "OPENAI_API_KEY": ""}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stderr
        try:
            said = process.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield process, found[0]
        finally:
            process.kill()


def ask(address: str, **others: object) -> httpx.Response:
    return httpx.post(f"{address}/v1/chat/completions", json=ASKED | others, timeout=60)


def test_told_to_go_it_answers_those_who_are_in_and_lets_nobody_new_in() -> None:
    with backend(0.4) as (_, url), served("--backend", url, "--slots", "4") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        with ThreadPoolExecutor(6) as pool:
            futures = [pool.submit(ask, address, stream=stream) for stream in (True, False) * 3]
            inside = re.compile(r"^heartfelt_(?:running|waiting) ([0-9.]+)$", re.M)
            metrics = f"{address}/metrics"
            eventually(lambda: sum(map(float, inside.findall(httpx.get(metrics).text))) == 6, 30)
            process.send_signal(signal.SIGTERM)
            said = [future.result() for future in futures]
        assert all(one.status_code == 200 for one in said)
        assert all(one.text.endswith("data: [DONE]\n\n") for one in said[::2])
        assert process.wait(20) == 0
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{address}/health")


def test_a_backend_that_is_killed_in_the_middle_of_a_reply() -> None:
    with served_over_two() as (address, first, second):
        with httpx.stream(
            "POST", f"{address}/v1/chat/completions", json=ASKED | {"stream": True}, timeout=30
        ) as said:
            lines = said.iter_lines()
            assert "sorry" in next(lines)
            first.kill()
            second.kill()
            rest = "\n".join(lines)
        assert "broke off" in rest or "cannot be reached" in rest
        assert "[DONE]" not in rest
        assert ask(address).status_code == 503
        assert httpx.get(f"{address}/health").status_code == 200
        eventually(
            lambda: ask(address).status_code == 503 and httpx.get(f"{address}/ready").status_code == 503
        )


@contextmanager
def served_over_two() -> Iterator[tuple[str, subprocess.Popen[str], subprocess.Popen[str]]]:
    with (
        backend(0.1) as (first, one),
        backend(0.1) as (second, two),
        served("--backend", one, "--another-backend", two) as (_, address),
    ):
        yield address, first, second


def test_with_one_of_two_backends_dead_all_are_answered_and_a_dead_one_comes_back() -> None:
    with served_over_two() as (address, first, _):
        first.kill()
        first.wait(10)
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda stream: ask(address, stream=stream), [True, False] * 4))
        assert all(one.status_code == 200 and "good dog" in one.text for one in said)
    with backend(0) as (process, url), served("--backend", url) as (_, address):
        assert " ".join(WORDS) in ask(address).text
        process.kill()
        process.wait(10)
        assert ask(address).status_code == 503
        with backend(0, int(url.split(":")[2].split("/")[0])):
            eventually(lambda: ask(address).status_code == 200, 30)


def test_what_cannot_be_served_is_said_in_a_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options, said in (
            (["--backend", "http://127.0.0.1:9/v1#x", "--port", port], "name another --port"),
            (["--backend", "http://127.0.0.1:9/v1#x", "--sessions", "nosql://x"], "sqlite:///FILE"),
            (
                ["--backend", "nowhere", "--another-backend", "http://127.0.0.1:9/v1"],
                "There is nothing at nowhere|joins a backend",
            ),
        ):
            command = [sys.executable, "-m", "heartfelt", "serve", *options]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
            assert done.returncode == 2
            assert re.search(said, done.stderr), done.stderr
            assert done.stderr.count("\n") == 1
