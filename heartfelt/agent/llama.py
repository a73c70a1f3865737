"""llama.cpp in this process: base weights, our adapter over them, several candidates in one batch. No torch, no server.

>>> model = LlamaCpp(weights_folder() / "smollm2")                                     # doctest: +SKIP
>>> model.say(prompt(dialogue, emotion="sad", plan="questioning"), count=4)            # doctest: +SKIP
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from heartfelt.dialogue import Value
from heartfelt.errors import HeartfeltError, MissingData, need
from heartfelt.models.prompt import END


class Decoding(Value, frozen=True):
    """How tokens are chosen."""

    temperature: float = 0.8  # 0: always the likeliest
    top_k: int = 40
    top_p: float = 0.9
    repeat_penalty: float = 1.1
    max_tokens: int = 60
    seed: int | None = None  # the same seed, the same replies


class LlamaCpp:
    """A GGUF model, loaded once. Requests that come together are answered together, `slots` at a time."""

    def __init__(
        self,
        weights: Path,
        adapter: Path | None = None,
        threads: int | None = None,
        slots: int = 4,
        window: int = 1024,  # tokens of context and reply, each slot
    ) -> None:
        self._weights, self._window = _gguf_in(weights), window
        if adapter and not adapter.is_file():
            raise MissingData(f"There is no adapter {adapter}")
        library = need("xllamacpp", "chat", "The llama.cpp backend")
        settings = library.CommonParams()
        settings.model.path = str(self._weights)
        settings.n_ctx, settings.n_parallel = window * slots, slots
        settings.verbosity = 0
        settings.warmup = False
        if threads:
            settings.cpuparams.n_threads = threads
        if adapter:
            settings.lora_adapters = [library.CommonAdapterLoraInfo(path=str(adapter), scale=1.0)]
        try:
            self._server = library.Server(settings)
        except (RuntimeError, ValueError) as problem:
            raise HeartfeltError(f"llama.cpp cannot load {self._weights}: {problem}") from None

    def say(self, prompt: str, count: int = 1, decoding: Decoding | None = None) -> list[str]:
        """So many continuations of a prompt, in one batch."""
        request = self._request(prompt, decoding or Decoding()) | {"n": count}
        answer = _checked(self._server.handle_completions(request))
        return [choice["text"].strip() for choice in answer["choices"]]

    def stream(self, prompt: str, heard: Callable[[str], None], decoding: Decoding | None = None) -> str:
        """One continuation, handed over piece by piece as it grows."""
        pieces: list[str] = []

        def take(chunk: Any) -> None:
            for part in chunk if isinstance(chunk, list) else [chunk]:
                piece = _checked(part)["choices"][0]["text"]
                if piece:
                    pieces.append(piece)
                    heard(piece)

        self._server.handle_completions(
            self._request(prompt, decoding or Decoding()) | {"stream": True}, take
        )
        return "".join(pieces).strip()

    def _request(self, prompt: str, decoding: Decoding) -> dict[str, Any]:
        chosen = {
            "prompt": prompt, "n_predict": decoding.max_tokens, "temperature": decoding.temperature,
            "top_k": decoding.top_k, "top_p": decoding.top_p, "repeat_penalty": decoding.repeat_penalty,
            "stop": [END], "cache_prompt": True,
        }  # fmt: skip
        return chosen if decoding.seed is None else chosen | {"seed": decoding.seed}


def _gguf_in(weights: Path) -> Path:
    """A .gguf file, or the one in a folder."""
    found = [weights] if weights.is_file() else sorted(weights.glob("*.gguf"))
    if not found:
        raise MissingData(f"There is no .gguf file at {weights}: heartfelt models pull smollm2")
    return found[0]


def _checked(answer: Any) -> Any:
    if isinstance(answer, dict) and (problem := answer.get("error")):
        raise HeartfeltError(
            f"llama.cpp: {problem.get('message', problem) if isinstance(problem, dict) else problem}"
        )
    return answer
