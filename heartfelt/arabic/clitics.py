"""Clitics with their marks: و+ ال+ كتاب +ات. What ends in + goes with the next, what begins with + with the last."""

import re
from collections.abc import Sequence
from typing import Protocol

from heartfelt.arabic.prepare import ARABIC, BEFORE_DIGITS, MASKS, join, tokens

# As Farasa and AraBERT have them.
PREFIXES = ("ال", "و", "ف", "ب", "ك", "ل", "س")
SUFFIXES = tuple("ه ها ك ي هما كما نا كم هم هن كن ا ان ين ون وا ات ت ن ة".split())

_SPLIT_MASK = re.compile(rf"\[ ?({'|'.join(mask[1:-1] for mask in MASKS)}) ?\]")
_BEFORE_DIGITS = re.compile("|".join(PREFIXES))
_PREFIX = re.compile(rf"({ARABIC.pattern})\+")
_SUFFIX = re.compile(rf"\+({ARABIC.pattern})")
CLITIC = re.compile(rf"(?<!\S)(?:{_PREFIX.pattern}|{_SUFFIX.pattern})(?!\S)")  # in a segmented text


class Segmenter(Protocol):
    """Says where a word's clitics are."""

    name: str

    def __call__(self, word: str) -> Sequence[str]:
        """An Arabic word → its parts with their marks: ("و+", "ال+", "كتاب", "+ات")."""


def segment(text: str, cut: Segmenter, alef: bool = False) -> str:
    """The prepared text with spaces between all tokens, and words cut into clitics."""
    found: list[str] = []
    for token in tokens(text, alef):
        if ARABIC.fullmatch(token):
            found += cut(token)
        elif ARABIC.fullmatch(token[:-1]):  # before a number: ل93, وال10
            found += [f"{part}+" for part in _BEFORE_DIGITS.findall(token.replace("لل", "لال"))]
        else:
            found.append(token)
    return " ".join(found)


def restore(text: str) -> str:
    """What was segmented, as people write it; the exact inverse of `segment`, and something readable for all else."""
    parts = _SPLIT_MASK.sub(r"[\1]", text).split()
    words: list[str] = []
    at = 0
    while at < len(parts):
        end = at + 1
        while end < len(parts) and (_PREFIX.fullmatch(parts[end - 1]) or _SUFFIX.fullmatch(parts[end])):
            end += 1
        run = parts[at:end]
        if run[-1][0].isdecimal() and BEFORE_DIGITS.fullmatch(head := whole(run[:-1])):  # ل+ 93
            words += [f"{head}+", run[-1]]
        else:
            words.append(whole(run))
        at = end
    return join(words)


def whole(parts: Sequence[str]) -> str:
    """The word that parts make: ل and ال are written لل, and before another ل one of three goes."""
    if len(parts) == 1 and not (_PREFIX.fullmatch(parts[0]) or _SUFFIX.fullmatch(parts[0])):
        return parts[0]
    bare = [part.removesuffix("+") if _PREFIX.fullmatch(part) else part.removeprefix("+") for part in parts]
    word = ""
    for i, part in enumerate(bare):
        after_lam = i > 0 and parts[i - 1] == "ل+"
        if after_lam and parts[i] == "ال+":
            following = bare[i + 1] if i + 1 < len(bare) else ""
            part = "" if following.startswith("ل") else "ل"
        elif after_lam and part == "الله":
            part = "له"
        word += part
    return word


def marked(word: str, cut: Sequence[str]) -> tuple[str, ...]:
    """A word's parts, as a segmenter names them, with their marks; the word itself where they do not make it again."""
    parts = [part for part in cut if part]
    first = 0
    while first < len(parts) - 1 and parts[first] in PREFIXES:
        first += 1
    last = len(parts)
    while last > first and parts[last - 1] in SUFFIXES:
        last -= 1
    if last == first and first == 0:  # a suffix alone is a word
        last = 1
    stem = "".join(parts[first:last])
    found = [f"{part}+" for part in parts[:first]]
    found += [stem] if stem else []
    found += [f"+{part}" for part in parts[last:]]
    return tuple(found) if found and whole(found) == word else (word,)


def clitic_marks() -> tuple[str, ...]:
    """Every mark that `segment` may put in, for tokenizers that would take them apart."""
    return (*(f"{prefix}+" for prefix in PREFIXES), *(f"+{suffix}" for suffix in SUFFIXES), *MASKS)
