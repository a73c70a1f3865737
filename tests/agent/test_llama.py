"""The real engine with the real base weights, where they have been pulled."""

import _thread
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heartfelt.agent import load
from heartfelt.agent.generator import Decoding, NotWanted, Wish, shortened, while_wanted
from heartfelt.agent.llama import MARKS, LlamaCpp, TooLong, _candidates, gguf_in
from heartfelt.agent.load import ADAPTER
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import HeartfeltError, MissingData

HELLO = Dialogue("d", (Turn("speaker", "My dog died last night."),))
OPEN = Wish()


@pytest.fixture(scope="module")
def llama(base_weights: Path) -> LlamaCpp:
    return LlamaCpp(base_weights, threads=1, slots=2, window=256)


def test_a_seed_gives_the_same_replies_and_several_differ(llama: LlamaCpp) -> None:
    warm = Decoding(max_tokens=8, seed=1, temperature=1.2)
    replies = llama.say(HELLO, OPEN, 2, warm)
    assert len({reply.text for reply in replies}) == 2
    assert replies == llama.say(HELLO, OPEN, 2, warm)
    assert all(reply.scores["likelihood"] < 0 for reply in replies)
    assert len(llama.say(HELLO, OPEN, 5, warm)) == 5  # more than it has slots


def test_what_is_streamed_is_what_is_said(llama: LlamaCpp) -> None:
    pieces: list[str] = []
    cold = Decoding(max_tokens=8, temperature=0)
    streamed = llama.stream(HELLO, OPEN, pieces.append, cold)
    assert len(pieces) > 2
    assert "".join(pieces).strip() == streamed == llama.say(HELLO, OPEN, 1, cold)[0].text


@pytest.mark.parametrize("text", ["so " * 2_000, "\u0643" * 3_000])  # the second: a token a byte
def test_of_what_is_too_long_the_end_is_answered(llama: LlamaCpp, text: str) -> None:
    cold = Decoding(max_tokens=4, temperature=0)
    long = Dialogue("d", (Turn("speaker", text), Turn("listener", "Oh."), Turn("speaker", text)))
    pieces: list[str] = []
    assert len(llama.say(long, OPEN, 1, cold)) == 1
    llama.stream(long, OPEN, pieces.append, cold)
    assert pieces


def test_many_talks_do_not_fill_memory(llama: LlamaCpp) -> None:
    def resident() -> float:  # MB
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    if not Path("/proc/self/statm").exists():
        pytest.skip("reads memory as Linux tells it")
    cold = Decoding(max_tokens=1, temperature=0)
    sizes = []
    for i in range(36):
        text = " ".join(f"number {i * 100 + j}" for j in range(25))
        llama.say(Dialogue("d", (Turn("speaker", text),)), OPEN, 1, cold)
        sizes.append(resident())
    # llama.cpp would keep 24 prompts of some 130 tokens, 23 kB a token: more than 60 MB.
    assert sizes[-1] - sizes[11] < 20


def test_a_history_is_shortened_by_whole_turns() -> None:
    turns = tuple(Turn("speaker" if i % 2 == 0 else "listener", str(i) * 10) for i in range(5))
    talk = Dialogue("d", turns, emotion="sad")
    assert shortened(talk, 50) == talk
    assert shortened(talk, 29).turns == turns[3:]
    assert shortened(talk, 29).emotion == "sad"
    assert [turn.text for turn in shortened(talk, 3).turns] == ["444"]
    assert shortened(Dialogue("d", (Turn("speaker", "\u0643" * 9),)), 3).turns[0].text == "\u0643"


def test_what_is_missing_or_broken_is_said(tmp_path: Path, base_weights: Path) -> None:
    with pytest.raises(MissingData, match="heartfelt models pull smollm2"):
        LlamaCpp(tmp_path)
    with pytest.raises(MissingData, match="no adapter"):
        LlamaCpp(base_weights, tmp_path / "none.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"GGUFnot")
    with pytest.raises(HeartfeltError, match="cannot load"):
        LlamaCpp(tmp_path).prepare()


def test_a_process_that_only_loads_it_ends(base_weights: Path) -> None:
    load = f"LlamaCpp(Path({str(base_weights)!r}), slots=1).prepare()"
    code = f"from pathlib import Path; from heartfelt.agent.llama import LlamaCpp; {load}"
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True)  # or it hangs
        assert done.returncode == 0


def test_the_engine_says_the_same_with_one_file_as_with_two(
    base_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Few tokens: further on, two words that are about as likely may change places.
    wish, cold = Wish("sad", "sympathizing"), Decoding(max_tokens=3, temperature=0)
    monkeypatch.setenv("HEARTFELT_WEIGHTS", str(tmp_path))
    (tmp_path / "smollm2").symlink_to(base_weights)
    one = load.generator(None)
    assert "Putting heartfelt-en into the weights" in capsys.readouterr().err
    two = LlamaCpp(base_weights, ADAPTER, threads=1)
    assert one.name == two.name == f"{gguf_in(base_weights).stem}+heartfelt-en"
    (said,), (also,) = one.say(HELLO, wish, 1, cold), two.say(HELLO, wish, 1, cold)
    assert said.text == also.text
    assert said.scores["likelihood"] == pytest.approx(also.scores["likelihood"], abs=0.05)

    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("heartfelt.models.merge.merged", full)
    assert load.generator(None).say(HELLO, wish, 1, cold)[0].text == also.text
    assert "cannot be kept (No space left on device): answers come slower" in capsys.readouterr().err


def test_it_stops_when_nobody_waits_or_the_hearer_has_had_enough(llama: LlamaCpp) -> None:
    long = Decoding(max_tokens=100, temperature=1.0, seed=3)
    pieces: list[str] = []

    def enough(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        llama.stream(HELLO, OPEN, enough, long)
    assert len(pieces) == 3
    asked: list[int] = []

    def still_wanted() -> bool:
        asked.append(1)
        return len(asked) < 5

    with while_wanted(still_wanted), pytest.raises(NotWanted):
        llama.say(HELLO, OPEN, 2, long)
    assert len(asked) == 5


def test_ctrl_c_stops_it(llama: LlamaCpp) -> None:
    """As Ctrl-C does: the main thread is interrupted while llama.cpp writes."""
    pieces: list[str] = []

    def interrupt(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 2:
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        llama.stream(HELLO, OPEN, interrupt, Decoding(max_tokens=200, temperature=1.0, seed=3))
    assert len(pieces) < 100
    assert llama.say(HELLO, OPEN, 1, Decoding(max_tokens=4, temperature=0))  # and it answers again


def piece(text: str, end: str | None = None, index: int = 0) -> dict[str, Any]:
    said = {"content": [{"logprob": -1.0}]} if text else None
    return {"index": index, "text": text, "logprobs": said, "finish_reason": end}


def test_a_reply_that_is_cut_off_ends_with_a_sentence_or_is_none() -> None:
    words = [piece(word) for word in ("Oh", " no", ".", " How", " old")]
    assert _candidates([*words, piece("", "stop")], 60)[0].text == "Oh no. How old"
    assert _candidates([*words, piece("", "length")], 5)[0].text == "Oh no."
    assert _candidates([*words[3:], piece("", "length")], 2)[0].text == "How old"
    with pytest.raises(TooLong):  # the window was full before five tokens were written
        _candidates([*words[:3], piece("", "length")], 5)


def test_a_history_that_fills_the_window_leaves_room_for_the_reply(llama: LlamaCpp) -> None:
    turns = [Turn(("speaker", "listener")[i % 2], f"so it goes, number {i}.") for i in range(31)]
    whole = llama.say(Dialogue("d", tuple(turns)), OPEN, 1, Decoding(max_tokens=60, temperature=0))
    assert whole[0].text.endswith((".", "!", "?"))
    kept = shortened(Dialogue("d", tuple(turns)), 3 * (256 - 60), MARKS)
    assert 3 < len(kept.turns) < 12
