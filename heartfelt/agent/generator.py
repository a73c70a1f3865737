"""What the agent asks of whatever writes replies: llama.cpp, a run folder, a server. And what fits into its window."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from heartfelt.dialogue import Candidate, Dialogue, Turn, Value


class Decoding(Value, frozen=True):
    """How tokens are chosen."""

    temperature: float = 0.8  # 0: always the likeliest
    top_k: int = 40
    top_p: float = 0.9
    repeat_penalty: float = 1.1
    max_tokens: int = 60
    seed: int | None = None  # the same seed, the same replies


class Wish(Value, frozen=True):
    """What a reply should answer to, and do. None leaves it open."""

    emotion: str | None = None  # how the speaker feels
    plan: str | None = None  # one of the 41 labels


class Generator(Protocol):
    @property
    def name(self) -> str:
        """What a Reply names as its model."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that it answers in."""

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        """So many replies to a dialogue's last turn; each with its "likelihood" where that is known."""

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        """One reply, handed over piece by piece as it grows."""


def shortened(dialogue: Dialogue, size: int) -> Dialogue:
    """The last turns of a dialogue that have at most so many bytes together; of a last turn that is longer, its end.

    Bytes, because no tokenizer of ours makes more tokens than there are bytes.
    """
    kept: list[Turn] = []
    left = size
    for turn in reversed(dialogue.turns):
        needed = len(turn.text.encode())
        if needed > left:
            break
        kept.append(turn)
        left -= needed
    if not kept:
        last = dialogue.turns[-1]
        end = last.text.encode()[-size:].decode(errors="ignore")
        kept = [msgspec.structs.replace(last, text=end.strip() or "…")]
    return msgspec.structs.replace(dialogue, turns=tuple(reversed(kept)))
