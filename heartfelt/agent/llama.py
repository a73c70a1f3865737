"""llama.cpp in this process: base weights, our adapter over them, several candidates in one batch. No torch, no server.

>>> model = LlamaCpp(weights_folder() / "smollm2")                                     # doctest: +SKIP
>>> model.say(dialogue, Wish("sad", "questioning"), 4, Decoding())                     # doctest: +SKIP
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import msgspec

from heartfelt.agent.generator import SAMPLING, Decoding, Wish, refuse_what_it_cannot, shortened, wanted
from heartfelt.dialogue import Candidate, Dialogue
from heartfelt.errors import HeartfeltError, MissingData, need
from heartfelt.models.prompt import END, prompt
from heartfelt.text import whole_sentences

_BYTES_A_TOKEN = 3  # of English at the least; what turns out to be more is halved until it fits
MARKS = 14 * _BYTES_A_TOKEN  # what stands around each turn, in bytes: who speaks, a prefix, an end


Answer = TypeVar("Answer")


class TooLong(HeartfeltError):
    """A prompt that does not fit into the window."""


class LlamaCpp:
    """A GGUF model, loaded once, when it is first needed or told to prepare. Requests that come together are answered
    together, `slots` at a time."""

    languages = ("en",)

    def __init__(
        self,
        weights: Path,
        adapter: Path | None = None,
        threads: int | None = None,
        slots: int = 4,
        window: int = 1024,  # tokens of context and reply, each slot
    ) -> None:
        self._weights, self._window, self._slots = gguf_in(weights), window, slots
        self.name = f"{self._weights.stem}+{adapter.stem}" if adapter else self._weights.stem
        if adapter and not adapter.is_file():
            raise MissingData(f"There is no adapter {adapter}")
        library = need("xllamacpp", "chat", "The llama.cpp backend")
        settings = library.CommonParams()
        settings.model.path = str(self._weights)
        settings.n_ctx, settings.n_parallel = window * slots, slots
        settings.verbosity = 0
        settings.warmup = False
        settings.cache_ram_mib = 0  # else it keeps every prompt that it ever read, up to 8 GiB of them
        if threads:
            settings.cpuparams.n_threads = threads
        if adapter:
            settings.lora_adapters = [library.CommonAdapterLoraInfo(path=str(adapter), scale=1.0)]
        self._library, self._settings = library, settings
        self._loaded: Any = None
        self._loading = Lock()

    def prepare(self) -> None:
        """Load the weights now, not when somebody waits for a reply."""
        self._server  # noqa: B018

    @property
    def _server(self) -> Any:
        with self._loading:
            if self._loaded is None:
                try:
                    server = self._library.Server(self._settings)
                except (RuntimeError, ValueError) as problem:
                    raise HeartfeltError(f"llama.cpp cannot load {self._weights}: {problem}") from None
                # A server taken down before it has begun to work waits for ever (6 of 12 times): let it begin.
                server.handle_completions({"prompt": "Hello", "n_predict": 1})
                self._loaded = server
            return self._loaded

    @property
    def address(self) -> str:
        """Where this process also answers by HTTP, OpenAI-compatible, to programs on this machine."""
        return str(self._server.listening_address)

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        def ask(prompt: str) -> list[Candidate]:
            found: list[Candidate] = []
            while len(found) < count:  # as many at once as there are slots
                again = decoding if decoding.seed is None else _seeded(decoding, decoding.seed + len(found))
                request = self._request(prompt, again) | {
                    "n": min(count - len(found), self._slots),
                    "logprobs": 1,
                }
                found += _candidates(self._pieces(request), decoding.max_tokens)
            return found

        return self._fitting(dialogue, wish, decoding, ask)

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        def ask(prompt: str) -> str:
            def hand_on(choice: dict[str, Any]) -> None:
                if choice["text"]:
                    heard(choice["text"])

            choices = self._pieces(self._request(prompt, decoding), hand_on)
            return "".join(choice["text"] for choice in choices).strip()

        return self._fitting(dialogue, wish, decoding, ask)

    def _pieces(
        self, request: dict[str, Any], each: Callable[[dict[str, Any]], None] = lambda _: None
    ) -> list[dict[str, Any]]:
        """All that llama.cpp says to a request, a token a time. It stops where `each` raises, or nobody waits."""
        pieces: list[dict[str, Any]] = []
        wrong: list[BaseException] = []  # what is raised inside a callback is lost
        check = wanted()

        def take(chunk: Any) -> bool:
            try:
                check()
                for part in chunk if isinstance(chunk, list) else [chunk]:
                    pieces.extend(_checked(part)["choices"])
                    each(pieces[-1])
            except Exception as problem:
                wrong.append(problem)
            return bool(wrong)  # True: write no more

        # In a thread of its own, so that Ctrl-C reaches the main thread, which looks up now and then, and never
        # llama.cpp's callback, which would lose it.
        with ThreadPoolExecutor(1) as writer:
            writing = writer.submit(self._server.handle_completions, request | {"stream": True}, take)
            try:
                while not wait([writing], timeout=0.1).done:
                    pass
                writing.result()
            except BaseException as stop:
                wrong.append(stop)
                raise
        if wrong:
            raise wrong[0]
        return pieces

    def _fitting(
        self, dialogue: Dialogue, wish: Wish, decoding: Decoding, ask: Callable[[str], Answer]
    ) -> Answer:
        """Ask with as much of the dialogue as the window holds."""
        refuse_what_it_cannot("llama.cpp", SAMPLING, decoding)
        size = _BYTES_A_TOKEN * max(self._window - decoding.max_tokens, 1)
        while True:
            try:
                return ask(prompt(shortened(dialogue, size, MARKS), wish.emotion, wish.plan))
            except TooLong:
                if size < 16:
                    raise
                size //= 2

    def _request(self, prompt: str, decoding: Decoding) -> dict[str, Any]:
        chosen = {
            "prompt": prompt, "n_predict": decoding.max_tokens, "temperature": decoding.temperature,
            "top_k": decoding.top_k, "top_p": decoding.top_p, "repeat_penalty": decoding.repeat_penalty,
            "stop": [END], "cache_prompt": True,
        }  # fmt: skip
        return chosen if decoding.seed is None else chosen | {"seed": decoding.seed}


def _seeded(decoding: Decoding, seed: int) -> Decoding:
    return msgspec.structs.replace(decoding, seed=seed)


def gguf_in(weights: Path) -> Path:
    """A .gguf file, or the one in a folder."""
    found = [weights] if weights.is_file() else sorted(weights.glob("*.gguf"))
    if not found:
        raise MissingData(f"There is no .gguf file at {weights}: heartfelt models pull smollm2")
    return found[0]


def _candidates(pieces: Sequence[dict[str, Any]], longest: int) -> list[Candidate]:
    """The replies that grew side by side, each with the mean log-probability of its tokens.

    One that reached the longest length ends with its last whole sentence. One that stopped short of it, because the
    window was full, is none: TooLong.
    """
    found = []
    for index in sorted({piece["index"] for piece in pieces}):
        own = [piece for piece in pieces if piece["index"] == index]
        cut = own[-1].get("finish_reason") == "length"
        tokens = [token for piece in own for token in (piece.get("logprobs") or {}).get("content") or ()]
        likelihood = sum(token["logprob"] for token in tokens) / len(tokens) if tokens else 0.0
        text = " ".join(
            "".join(piece["text"] for piece in own).split()
        )  # people typed two spaces now and then
        if cut and tokens and len(tokens) < longest:
            raise TooLong("The window is full before the reply is whole")
        if cut:
            text = whole_sentences(text)
        found.append(Candidate(text, {"likelihood": likelihood} if tokens else {}))
    return found


def _checked(answer: Any) -> Any:
    if isinstance(answer, dict) and (problem := answer.get("error")):
        said = problem if isinstance(problem, dict) else {"message": problem}
        kind = TooLong if said.get("type") == "exceed_context_size_error" else HeartfeltError
        raise kind(f"llama.cpp: {said.get('message', said)}")
    return answer
