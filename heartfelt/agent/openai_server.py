"""A big model behind an OpenAI-compatible server (vLLM, Ollama, llama.cpp's own): our recogniser and planner in front.

>>> model = OpenAIServer("http://localhost:11434/v1#llama3.2")     # doctest: +SKIP
"""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any

from heartfelt.agent.generator import Decoding, Wish, refuse_what_it_cannot, shortened, wanted
from heartfelt.dialogue import Candidate, Dialogue
from heartfelt.errors import HeartfeltError
from heartfelt.labels import INTENTS
from heartfelt.text import readable

_HISTORY = 16_000  # bytes of a talk that are sent
_CAN = frozenset({"temperature", "top_p", "max_tokens", "seed"})  # what every such server understands
_SECONDS = 120

# What each intent asks of a reply, in words that any model knows.
ASKS: dict[str, str] = {
    "agreeing": "agree with them",
    "acknowledging": "acknowledge what they said",
    "encouraging": "encourage them",
    "consoling": "console them",
    "sympathizing": "show sympathy",
    "suggesting": "make one gentle suggestion",
    "questioning": "ask one caring question about it",
    "wishing": "wish them well",
}
assert set(ASKS) == set(INTENTS)


class ServerDown(HeartfeltError):
    """The server is not there, is overloaded, or broke off: another one, or this one later, may do."""


class OpenAIServer:
    languages = ("en", "ar")

    def __init__(self, url: str, key: str | None = None) -> None:
        """url: of the API, with "/v1"; a model's name may follow after "#". key: or $OPENAI_API_KEY."""
        address, _, self._model = url.partition("#")
        self._url = address.rstrip("/")
        self._key = (key or os.environ.get("OPENAI_API_KEY", "")).strip()

    @property
    def name(self) -> str:
        if not self._model:
            found = self._ask("/models")
            listed = found.get("data")
            names = (
                [str(one.get("id")) for one in listed if isinstance(one, dict)]
                if isinstance(listed, list)
                else []
            )
            if not names:
                raise HeartfeltError(f"The server {self._url} names no models: append one, {self._url}#NAME")
            self._model = names[0]
        return self._model

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        answer = self._ask("/chat/completions", self._request(dialogue, wish, decoding) | {"n": count})
        found = _choices(answer, "message")
        check = wanted()
        while len(found) < count:  # some servers give one whatever n says
            check()
            again = self._request(dialogue, wish, decoding)
            if decoding.seed is not None:
                again["seed"] = decoding.seed + len(found)
            more = _choices(self._ask("/chat/completions", again), "message")
            if not more:
                break
            found += more
        return [Candidate(readable(text).strip()) for text in found[:count] if text.strip()]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        pieces, half = [], ""
        check = wanted()
        for event in self._events(self._request(dialogue, wish, decoding) | {"stream": True}):
            check()
            for grown in _choices(event, "delta"):
                piece = half + grown
                # The first half of a character outside the basic plane waits for the second.
                half = piece[-1] if piece and "\ud800" <= piece[-1] <= "\udbff" else ""
                if piece := readable(piece.removesuffix(half) if half else piece):
                    pieces.append(piece)
                    heard(piece)
        return "".join(pieces).strip()

    def _request(self, dialogue: Dialogue, wish: Wish, decoding: Decoding) -> dict[str, Any]:
        refuse_what_it_cannot(self.name, _CAN, decoding)
        talk = [
            {"role": "user" if turn.speaker == dialogue.speaker else "assistant", "content": turn.text}
            for turn in shortened(dialogue, _HISTORY).turns
        ]
        chosen = {
            "model": self.name, "messages": [{"role": "system", "content": instruction(wish)}, *talk],
            "temperature": decoding.temperature, "top_p": decoding.top_p, "max_tokens": decoding.max_tokens,
        }  # fmt: skip
        return chosen if decoding.seed is None else chosen | {"seed": decoding.seed}

    def _ask(self, path: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._told(), self._open(path, request) as answer:
            text = answer.read()
        return self._read(text)

    def _events(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._told(), self._open("/chat/completions", request) as answer:
            ended = False
            for line in answer:
                data = line.decode(errors="replace").strip().removeprefix("data:").strip()
                if data.startswith("{"):
                    event = self._read(data)
                    ended = ended or _finished(event)
                    yield event
                ended = ended or data == "[DONE]"
            if not ended:  # a connection that closes early looks like one that is done
                raise ServerDown(f"The server {self._url} broke off in the middle of a reply")

    def _read(self, text: str | bytes) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise HeartfeltError(f"The server {self._url} does not answer in JSON; is it OpenAI-compatible?")
        if problem := found.get("error"):
            said = problem.get("message", problem) if isinstance(problem, dict) else problem
            raise HeartfeltError(f"The server {self._url}: {said}")
        return found

    def _open(self, path: str, request: dict[str, Any] | None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if request is None else json.dumps(request).encode()
        asked = urllib.request.Request(self._url + path, data, headers)
        return urllib.request.urlopen(asked, timeout=_SECONDS)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever goes wrong on the way, in a line; the key is in none of them."""
        try:
            yield
        except urllib.error.HTTPError as problem:
            said = problem.read(2_000).decode(errors="replace")
            kind = ServerDown if problem.code >= 500 or problem.code == 429 else HeartfeltError
            raise kind(f"The server {self._url} says {problem.code}: {said or problem.reason}") from None
        except urllib.error.URLError as problem:
            raise ServerDown(f"The server {self._url} cannot be reached: {problem.reason}") from None
        except (HTTPException, OSError, ValueError) as problem:
            if isinstance(problem, HeartfeltError):
                raise
            raise ServerDown(
                f"The server {self._url} broke off or has no sound address ({type(problem).__name__})"
            ) from None


def instruction(wish: Wish) -> str:
    """What a general model is told: to listen, what was heard, and what to do."""
    said = [
        "You are Heartfelt, a piece of software that listens. Answer as a kind friend would: one or two short, plain "
        "sentences, about what they said, no lists, no diagnosis. Never claim to be human."
    ]
    if wish.emotion:
        said.append(f"They seem to feel {wish.emotion}.")
    if wish.plan in ASKS:
        said.append(f"In your answer, {ASKS[wish.plan]}.")
    elif wish.plan == "neutral":
        said.append("This is small talk: answer plainly, without sympathy.")
    elif wish.plan:
        said.append(f"Let your answer sound {wish.plan}.")
    return " ".join(said)


def _finished(event: dict[str, Any]) -> bool:
    choices = event.get("choices")
    return isinstance(choices, list) and any(
        isinstance(one, dict) and one.get("finish_reason") for one in choices
    )


def _choices(found: dict[str, Any], part: str) -> list[str]:
    """The text of each choice that an answer holds, whatever else it may hold."""
    choices = found.get("choices")
    parts = [one.get(part) for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    return [str(one.get("content") or "") for one in parts if isinstance(one, dict)]
