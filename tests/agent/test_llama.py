"""The real engine with the real base weights, where they have been pulled."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from heartfelt.agent.llama import Decoding, LlamaCpp
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import HeartfeltError, MissingData
from heartfelt.models.prompt import prompt
from heartfelt.models.weights import weights_folder
from tests.conftest import skip

WEIGHTS = weights_folder() / "smollm2"  # before `untouched` hides the user's cache
HELLO = prompt(Dialogue("d", (Turn("speaker", "My dog died last night."),)), None, None)


@pytest.fixture(scope="module")
def llama() -> LlamaCpp:
    if find_spec("xllamacpp") is None:
        skip("needs llama.cpp: pip install 'heartfelt[chat]'")
    if not WEIGHTS.is_dir():
        skip("needs the base weights: heartfelt models pull smollm2")
    return LlamaCpp(WEIGHTS, threads=1, slots=2, window=256)


def test_a_seed_gives_the_same_replies_and_several_differ(llama: LlamaCpp) -> None:
    warm = Decoding(max_tokens=8, seed=1, temperature=1.2)
    replies = llama.say(HELLO, 2, warm)
    assert len(set(replies)) == 2
    assert replies == llama.say(HELLO, 2, warm)


def test_what_is_streamed_is_what_is_said(llama: LlamaCpp) -> None:
    pieces: list[str] = []
    cold = Decoding(max_tokens=8, temperature=0)
    streamed = llama.stream(HELLO, pieces.append, cold)
    assert len(pieces) > 2
    assert "".join(pieces).strip() == streamed == llama.say(HELLO, 1, cold)[0]


def test_what_is_too_long_is_said_in_one_line(llama: LlamaCpp) -> None:
    with pytest.raises(HeartfeltError, match=r"llama\.cpp: .*context"):
        llama.say("so " * 2_000)


def test_what_is_missing_or_broken_is_said(tmp_path: Path, llama: LlamaCpp) -> None:
    with pytest.raises(MissingData, match="heartfelt models pull smollm2"):
        LlamaCpp(tmp_path)
    with pytest.raises(MissingData, match="no adapter"):
        LlamaCpp(WEIGHTS, tmp_path / "none.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"GGUFnot")
    with pytest.raises(HeartfeltError, match="cannot load"):
        LlamaCpp(tmp_path)
