"""Lines → turns → dialogues, as meed2 makes them, and its cleaning; every step counts what it removed and why.

A dialogue ends where more than five seconds pass between two turns; where a time is missing, turns join. meed2's
Appendix A, which lists its cleaning, is not in our copy of the paper: steps and limits here follow what we remember of
its authors' description of the same corpus (EDOS; Welivita, Xie & Pu 2021), and are settings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from heartfelt.curation.language import language
from heartfelt.curation.subtitle import Line
from heartfelt.curation.turns import Segmenter
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.text import same_key

SPEAKERS = ("A", "B")  # who follow each other: subtitles do not say who it is
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_RECAP = re.compile(
    r"^\W*(?:previously|last (?:week|time|season)|earlier|coming up|next time|next week) on\b", re.I
)


class Cleaning(msgspec.Struct, frozen=True):
    """The limits of meed2's cleaning."""

    gap: float = 5.0  # seconds of silence that end a dialogue (section 3.1)
    min_chars: int = 2
    max_tokens: int = 100  # what meed2's models read at the most (Appendix B)
    min_letters: float = 0.6  # share of letters among what is not white space
    max_repeats: float = 0.5  # share that one token may have in a turn of eight or more
    min_turns: int = 2
    max_turns: int = 0  # 0: no limit
    toxic: bool = False  # drop dialogues that the guard calls toxic
    private: bool = False  # mask e-mails, numbers, addresses, told names


class Spoken(msgspec.Struct, frozen=True):
    """A turn with its times."""

    text: str
    start: float | None
    end: float | None
    lines: int


def spoken(lines: Sequence[Line], segmenter: Segmenter) -> list[Spoken]:
    """The turns of a film: lines joined until somebody else speaks. A pause that ends dialogues also ends a turn."""
    if not lines:
        return []
    turns: list[Spoken] = []
    held: list[Line] = [lines[0]]
    for line, change in zip(lines[1:], segmenter.changes(lines), strict=True):
        if change:
            turns.append(_joined(held))
            held = []
        held.append(line)
    turns.append(_joined(held))
    return turns


def _joined(lines: Sequence[Line]) -> Spoken:
    return Spoken(" ".join(line.text for line in lines), lines[0].start, lines[-1].end, len(lines))


def cut(turns: Sequence[Spoken], gap: float = 5.0) -> Iterator[list[Spoken]]:
    """Dialogues: a new one begins where more than `gap` seconds pass before a turn; a missing time joins."""
    held: list[Spoken] = []
    for turn in turns:
        if held:
            before = held[-1].end
            if before is not None and turn.start is not None and turn.start - before > gap:
                yield held
                held = []
        held.append(turn)
    if held:
        yield held


def tokens(text: str) -> list[str]:
    """Words and marks, for limits and for the counts of the card."""
    return _TOKEN.findall(text)


def unfit(text: str, before: str | None, limits: Cleaning) -> str:
    """Why a turn must go; empty where it may stay. before: the turn that it follows."""
    bare = "".join(text.split())
    if len(bare) < limits.min_chars:
        return "too short"
    said = tokens(text)
    if len(said) > limits.max_tokens:
        return "too long"
    if _RECAP.match(text):
        return "a recap of an earlier episode"
    if sum(map(str.isalpha, bare)) < limits.min_letters * len(bare):
        return "hardly any letters"
    if len(said) >= 8 and max(Counter(word.lower() for word in said).values()) > limits.max_repeats * len(
        said
    ):
        return "one word over and over"
    if before is not None and same_key(text) == same_key(before):
        return "repeats the turn before"
    return ""


def cleaned(turns: Sequence[Spoken], limits: Cleaning, counts: Counter[str]) -> list[Spoken]:
    """The turns up to the first one that must go: what follows it has lost its context."""
    kept: list[Spoken] = []
    for i, turn in enumerate(turns):
        reason = unfit(turn.text, kept[-1].text if kept else None, limits)
        if reason:
            counts[f"turns: {reason}"] += 1
            counts["turns: after one that was removed"] += len(turns) - i - 1
            break
        if limits.max_turns and len(kept) == limits.max_turns:
            counts["turns: beyond the longest dialogue"] += len(turns) - i
            break
        kept.append(turn)
    return kept


def of_film(
    name: str, film: str, lines: Sequence[Line], segmenter: Segmenter, limits: Cleaning, counts: Counter[str]
) -> Iterator[Dialogue]:
    """The clean dialogues of one subtitle. Their ids are the file's name and their place in it."""
    turns = spoken(lines, segmenter)
    counts["lines"] += len(lines)
    counts["turns"] += len(turns)
    for number, uncut in enumerate(cut(turns, limits.gap)):
        counts["dialogues"] += 1
        kept = cleaned(uncut, limits, counts)
        if len(kept) < limits.min_turns:
            counts["dialogues: fewer than two turns"] += 1
            counts["turns: of dialogues with fewer than two"] += len(kept)
            continue
        texts = [turn.text for turn in kept]
        if reason := _refused(texts, limits):
            counts[f"dialogues: {reason}"] += 1
            counts["turns: of refused dialogues"] += len(kept)
            continue
        if limits.private:
            texts = [_masked(text, counts) for text in texts]
        counts["clean dialogues"] += 1
        counts["clean turns"] += len(kept)
        yield Dialogue(
            f"{name}:{number}",
            tuple(Turn(SPEAKERS[i % 2], text) for i, text in enumerate(texts)),
            source="subtitles",
            meta={"film": film, "start": kept[0].start, "end": kept[-1].end},
        )


def _refused(texts: Sequence[str], limits: Cleaning) -> str:
    spoken_in = language(texts)
    if spoken_in not in ("en", ""):
        return "not English"
    if limits.toxic:
        from heartfelt.agent.guard import sheet  # here: its patterns take a moment to load

        if any(sheet("toxicity").find(text) for text in texts):
            return "toxic"
    return ""


def _masked(text: str, counts: Counter[str]) -> str:
    from heartfelt.agent.private import mask

    hidden = mask(text)
    counts["turns masked"] += hidden != text
    return hidden
