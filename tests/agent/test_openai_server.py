"""Replies from a server: a small one of our own that misbehaves on request, and llama.cpp's real one."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any, ClassVar

import pytest

from heartfelt.agent.generator import Decoding, NotWanted, Wish, while_wanted
from heartfelt.agent.llama import LlamaCpp
from heartfelt.agent.openai_server import OpenAIServer, ServerDown, instruction
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import HeartfeltError
from heartfelt.labels import LABELS
from heartfelt.models.weights import weights_folder
from tests.conftest import skip

WEIGHTS = weights_folder() / "smollm2"  # before `untouched` hides the user's cache
TALK = Dialogue(
    "d", (Turn("speaker", "My dog died."), Turn("listener", "Oh no."), Turn("speaker", "I miss him."))
)


EMOJI = ("oh ", r"\ud83d", r"\ude00", "!", r"\ud83d")


class Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self._send({"data": [{"id": "big-model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(request)
        self.keys.append(self.headers["Authorization"])
        if request["model"] == "unknown":
            self._send({"error": {"message": "no such model"}}, 404)
        elif request["model"] == "odd":
            self._send({"choices": ["x", {"message": "x"}, {"message": {"content": None}}]})
        elif request["model"] == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "900")
            self.end_headers()
            self.wfile.write(b"{")
        elif request["model"] == "emoji":
            lines = [f'data: {{"choices":[{{"delta":{{"content":"{c}"}}}}]}}\n\n' for c in EMOJI]
            self._send("".join([*lines, "data: [DONE]\n\n"]))
        elif request["model"] == "breaks off":
            self._send('data: {"choices":[{"delta":{"content":"I am so"}}]}\n\n')
        elif request["model"] == "html":
            self._send("<html>", 200)
        elif request.get("stream"):
            parts = [{"choices": [{"delta": {"content": piece}}]} for piece in ("I am ", "so sorry.", None)]
            lines = [f"data: {json.dumps(part)}\n\n" for part in parts]
            self._send("".join([*lines, ": ping\n\n", "data: [DONE]\n\n"]))
        else:  # like some servers, one choice whatever n says
            text = f" reply {request.get('seed')} "
            self._send({"choices": [{"message": {"role": "assistant", "content": text}}]})

    def _send(self, what: Any, code: int = 200) -> None:
        body = (what if isinstance(what, str) else json.dumps(what)).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Handler.asked.clear()
    Handler.keys.clear()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


def test_as_many_replies_as_asked_though_the_server_gives_one(url: str) -> None:
    model = OpenAIServer(url, key="secret")
    found = model.say(TALK, Wish("sad", "consoling"), 3, Decoding(seed=7))
    assert [one.text for one in found] == ["reply 7", "reply 8", "reply 9"]
    assert model.name == "big-model"
    request = Handler.asked[0]
    assert [message["role"] for message in request["messages"]] == ["system", "user", "assistant", "user"]
    assert "feel sad" in request["messages"][0]["content"]
    assert "console them" in request["messages"][0]["content"]
    assert Handler.keys[0] == "Bearer secret"


def test_pieces_come_as_they_are_sent(url: str) -> None:
    pieces: list[str] = []
    assert OpenAIServer(f"{url}#some").stream(TALK, Wish(), pieces.append, Decoding()) == "I am so sorry."
    assert pieces == ["I am ", "so sorry."]
    assert Handler.asked[0]["model"] == "some"


def test_what_goes_wrong_is_said_in_a_line(url: str) -> None:
    for name, said in (("unknown", "says 404.*no such model"), ("html", "not answer in JSON")):
        with pytest.raises(HeartfeltError, match=said):
            OpenAIServer(f"{url}#{name}").say(TALK, Wish(), 1, Decoding())
    with pytest.raises(HeartfeltError, match="cannot be reached"):
        OpenAIServer("http://127.0.0.1:9/v1#x").say(TALK, Wish(), 1, Decoding())


def test_odd_answers_and_broken_ones_end_no_talk(url: str) -> None:
    assert OpenAIServer(f"{url}#odd").say(TALK, Wish(), 1, Decoding()) == []
    with pytest.raises(HeartfeltError, match="broke off"):
        OpenAIServer(f"{url}#cut").say(TALK, Wish(), 1, Decoding())
    for bad in ("http://local host/v1#x", "http://[/v1#x"):
        with pytest.raises(HeartfeltError, match=r"no sound address|cannot be reached"):
            OpenAIServer(bad).say(TALK, Wish(), 1, Decoding())
    secret = OpenAIServer(f"{url}#some", key="sk-se\ncret")
    with pytest.raises(HeartfeltError) as said:
        secret.say(TALK, Wish(), 1, Decoding())
    assert "cret" not in str(said.value)
    pieces: list[str] = []
    OpenAIServer(f"{url}#emoji").stream(TALK, Wish(), pieces.append, Decoding())
    assert pieces == ["oh ", "\U0001f600", "!"]


def test_every_plan_has_words() -> None:
    said = {instruction(Wish("proud", label)) for label in LABELS}
    assert len(said) == len(LABELS)
    assert all("feel proud" in text for text in said)


def test_llama_cpps_own_server_answers() -> None:
    if find_spec("xllamacpp") is None:
        skip("needs llama.cpp: pip install 'heartfelt[chat]'")
    if not WEIGHTS.is_dir():
        skip("needs the base weights: heartfelt models pull smollm2")
    engine = LlamaCpp(WEIGHTS, threads=1, slots=1, window=512)
    model = OpenAIServer(f"{engine.address}/v1")
    cold = Decoding(max_tokens=6, temperature=0)
    (said,) = model.say(TALK, Wish("sad", "consoling"), 1, cold)
    pieces: list[str] = []
    assert model.stream(TALK, Wish("sad", "consoling"), pieces.append, cold) == said.text
    assert len(pieces) > 1


def test_a_reply_that_breaks_off_is_no_reply(url: str) -> None:
    with pytest.raises(ServerDown, match="middle of a reply"):
        OpenAIServer(f"{url}#breaks off").stream(TALK, Wish(), lambda _: None, Decoding())
    with pytest.raises(ServerDown, match="cannot be reached"):
        OpenAIServer("http://127.0.0.1:9/v1#x").say(TALK, Wish(), 1, Decoding())
    with while_wanted(lambda: False), pytest.raises(NotWanted):
        OpenAIServer(f"{url}#some").stream(TALK, Wish(), lambda _: None, Decoding())
