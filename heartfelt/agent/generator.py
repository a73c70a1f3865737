"""What the agent asks of whatever writes replies: llama.cpp, a run folder, a server. And what fits into its window."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import msgspec

from heartfelt.dialogue import Candidate, Dialogue, Turn, Value
from heartfelt.errors import HeartfeltError, InvalidValue


class Decoding(Value, frozen=True):
    """How tokens are chosen."""

    temperature: float = 0.6  # 0: always the likeliest; at .8 our small model loses the thread more often
    top_k: int = 40
    top_p: float = 0.9
    repeat_penalty: float = 1.1
    max_tokens: int = 60
    min_tokens: int = 0
    beams: int = 1  # replies that are followed at once; more than one take temperature 0
    groups: int = 1  # of beams, which shun each other's words (diverse beam search)
    diversity: float = 0.5  # how much
    no_repeat: int = 0  # so many words in a row are never said twice in a reply; 0: they may be
    seed: int | None = None  # the same seed, the same replies

    def __post_init__(self) -> None:
        if self.beams < 1 or self.groups < 1 or self.beams % self.groups:
            raise InvalidValue(f"{self.beams} beams cannot be parted into {self.groups} groups")
        if self.beams > 1 and self.temperature:
            raise InvalidValue("beams follow the likeliest words: they take temperature 0")
        if not 0 <= self.min_tokens <= self.max_tokens or self.no_repeat < 0:
            raise InvalidValue(
                "a reply has at least min_tokens, at most max_tokens; no_repeat is not below 0"
            )


SAMPLING = frozenset({"temperature", "top_k", "top_p", "repeat_penalty", "max_tokens", "seed"})


def refuse_what_it_cannot(name: str, can: frozenset[str], decoding: Decoding) -> None:
    """A way of choosing tokens that a generator does not have is said, not passed over."""
    usual = Decoding(temperature=decoding.temperature)
    asked = [
        field
        for field in Decoding.__struct_fields__
        if field not in can and getattr(decoding, field) != getattr(usual, field)
    ]
    if asked:
        raise InvalidValue(
            f"{name} cannot decode with {', '.join(asked)}; it can with {', '.join(sorted(can))}"
        )


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


class NotWanted(HeartfeltError):
    """Nobody waits for this reply any more: whoever asked has gone, or it took too long."""


_STILL_WANTED: ContextVar[Callable[[], bool]] = ContextVar("still_wanted", default=lambda: True)


@contextmanager
def while_wanted(still_wanted: Callable[[], bool]) -> Iterator[None]:
    """In here, a generator that looks (`wanted`) stops writing when nobody waits for what it writes."""
    token = _STILL_WANTED.set(still_wanted)
    try:
        yield
    finally:
        _STILL_WANTED.reset(token)


def wanted() -> Callable[[], None]:
    """What a generator calls between tokens; it raises NotWanted where it may stop. Any thread may call it."""
    still_wanted = _STILL_WANTED.get()

    def check() -> None:
        if not still_wanted():
            raise NotWanted("Nobody waits for this reply any more")

    return check


def shortened(dialogue: Dialogue, size: int, around: int = 0) -> Dialogue:
    """The last turns of a dialogue that have at most so many bytes together; of a last turn that is longer, its end.

    Bytes, because no tokenizer of ours makes more tokens than there are bytes. around: what each turn takes besides.
    """
    kept: list[Turn] = []
    left = size
    for turn in reversed(dialogue.turns):
        needed = len(turn.text.encode()) + around
        if needed > left:
            break
        kept.append(turn)
        left -= needed
    if not kept:
        last = dialogue.turns[-1]
        end = last.text.encode()[-size:].decode(errors="ignore")
        kept = [msgspec.structs.replace(last, text=end.strip() or "…")]
    return msgspec.structs.replace(dialogue, turns=tuple(reversed(kept)))
