"""Under load and under faults: the right status, nothing that goes on for nobody, and the server lives."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from heartfelt.agent.generator import NotWanted
from heartfelt.serving.problems import Refused
from heartfelt.serving.queue import Line
from tests.serving.conftest import TEXT, Speaks, eventually, serving

ASKED = {
    "messages": [{"role": "user", "content": "My dog died last night."}],
    "heartfelt": {"intent": "agreeing"},
}
PATH = "/v1/chat/completions"


def ask(address: str, **others: object) -> httpx.Response:
    return httpx.post(f"{address}{PATH}", json=ASKED | others, timeout=30)


def counted(address: str, name: str) -> float:
    lines = httpx.get(f"{address}/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


def test_past_the_line_there_is_a_friendly_no(warm: None) -> None:
    speaks = Speaks(pause=0.2)
    with serving(speaks, candidates=1, at_once=2, waiting=2) as address, ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda stream: ask(address, stream=stream), [False, True] * 4))
        codes = sorted(one.status_code for one in said)
        assert codes == [200] * 4 + [429] * 4
        for one in said:
            if one.status_code == 429:
                assert int(one.headers["Retry-After"]) >= 1
                assert one.json()["error"]["code"] == "queue_full"
        assert ask(address).status_code == 200  # and there is room again


def test_those_below_the_limit_are_all_answered(warm: None) -> None:
    with serving(Speaks(pause=0.01), at_once=4, waiting=12) as address, ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda _: ask(address, stream=True), range(16)))
    assert all(one.status_code == 200 and one.text.endswith("data: [DONE]\n\n") for one in said)


@pytest.mark.parametrize("stream", [False, True])
def test_when_the_client_goes_the_writing_stops(warm: None, stream: bool) -> None:
    speaks = Speaks("so " * 400, pause=0.02)
    with serving(speaks, candidates=1, at_once=1) as address:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}{PATH}", json=ASKED | {"stream": stream}, timeout=0.7)
        eventually(lambda: counted(address, "heartfelt_running") == 0, 4)
        assert 0 < speaks.words < 300
        assert counted(address, "heartfelt_clients_gone_total") == 1


def test_what_takes_too_long_is_ended(warm: None) -> None:
    speaks = Speaks("so " * 400, pause=0.02)
    with serving(speaks, candidates=1, seconds=0.5) as address:
        said = ask(address)
        assert said.status_code == 504
        assert "took too long" in said.json()["error"]["message"]
        streamed = ask(address, stream=True)
        assert "took too long" in streamed.text
        assert "[DONE]" not in streamed.text
    assert speaks.words < 400


def test_ten_megabytes_are_refused_and_others_go_on(url: str) -> None:
    big = json.dumps(ASKED | {"user": "x" * 10_000_000}).encode()

    def in_pieces() -> object:
        for start in range(0, len(big), 65_536):
            yield big[start : start + 65_536]

    for content in (big, in_pieces()):  # with a length, and without
        try:
            said = httpx.post(f"{url}{PATH}", content=content, headers={"Content-Type": "application/json"})  # type: ignore[arg-type]
            assert said.status_code == 413
        except (httpx.WriteError, httpx.ReadError):  # the server has hung up on whoever goes on sending
            pass
    with socket.create_connection(
        ("127.0.0.1", httpx.URL(url).port)
    ) as raw:  # whoever only announces it hears why
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n")
        assert b"413" in raw.recv(200)
    assert ask(url).status_code == 200


@pytest.mark.parametrize(
    "body", [b"\xff\xfe{", b'{"messages": "\xc3\x28"}', b"{", b"[]", b"null", b"", b'{"messages": 1e999}']
)
def test_bodies_that_are_no_request(url: str, body: bytes) -> None:
    said = httpx.post(f"{url}{PATH}", content=body, headers={"Content-Type": "application/json"})
    assert said.status_code == 400
    assert said.json()["error"]["type"] == "invalid_request_error"


def test_lone_surrogates_and_nul_are_text(url: str) -> None:
    for content in (r"my dog \ud83d died", r"my dog \u0000 died"):
        body = json.dumps(ASKED).replace("My dog", content)
        said = httpx.post(f"{url}{PATH}", content=body, headers={"Content-Type": "application/json"})
        assert said.status_code == 200


def test_a_slow_client_holds_nobody_up(warm: None) -> None:
    """Somebody who asks for a stream and does not read it; and somebody who sends half a request, and waits."""
    speaks = Speaks("so " * 500)
    with serving(speaks, candidates=1, at_once=1, waiting=1) as address:
        port = httpx.URL(address).port
        body = json.dumps(ASKED | {"stream": True}).encode()
        kind = "Content-Type: application/json"
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        lazy = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        lazy[0].sendall(head.encode() + body)
        lazy[1].sendall(head.encode() + body[:20])
        lazy[2].sendall(head.encode()[:20])
        eventually(lambda: speaks.words >= 500)
        eventually(lambda: counted(address, "heartfelt_running") == 0)
        assert ask(address).status_code == 200
        for one in lazy:
            one.close()


def test_a_line_counts_right_whatever_happens() -> None:
    line = Line(at_once=1, waiting=1, seconds=5)
    go, began = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        go.wait(5)
        return "done"

    first = line.enter(work)
    began.wait(5)
    second = line.enter(lambda: "never")
    assert (line.running, line.waiting) == (1, 1)
    with pytest.raises(Refused, match="try again in 2 s") as full:  # 2 s each, two inside, half of that
        line.enter(work)
    assert full.value.status == 429
    second.leave()  # it has not begun, and never will
    assert second.future.cancelled()
    third = line.enter(lambda: "third")  # its place is free again
    go.set()
    assert (first.future.result(5), third.future.result(5)) == ("done", "third")
    failing = line.enter(lambda: 1 / 0)
    assert isinstance(failing.future.exception(5), ZeroDivisionError)
    eventually(lambda: (line.running, line.waiting) == (0, 0))
    line.close()
    with pytest.raises(Refused, match="going down"):
        line.enter(work)
    assert (line.running, line.waiting) == (0, 0)


def test_who_waits_too_long_is_not_begun() -> None:
    line = Line(at_once=1, waiting=1, seconds=0.05)
    slow = line.enter(lambda: time.sleep(0.2))
    late = line.enter(lambda: "never")
    assert slow.future.exception(5) is None
    assert isinstance(late.future.exception(5), NotWanted)
    line.close()


def test_the_text_is_whole(url: str) -> None:
    assert (
        ask(url, heartfelt={"intent": "agreeing", "candidates": 1}).json()["choices"][0]["message"]["content"]
        == TEXT
    )
