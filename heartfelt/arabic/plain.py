"""Our own segmenter: all ways to cut a word, and the likeliest by what affixes are common and which stems are known.

A stem is known from a list that we wrote (heartfelt/assets/arabic/stems.txt) or from words counted in texts of yours:
if النوافذ and نافذة occur there, نوافذ and نافذ can be stems. No licence but Heartfelt's, no data of others.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from heartfelt.arabic.prepare import ARABIC, tokens

Counts = Mapping[str, int]

_STEMS = Path(__file__).parent.parent / "assets" / "arabic" / "stems.txt"

# How many words in a thousand carry them, as we estimate; what is not here does not occur.
_BEFORE = {
    "": 640, "ال": 190, "و": 55, "ب": 16, "ل": 16, "ف": 6, "ك": 2, "س": 5, "و ال": 12, "ب ال": 12, "ل ال": 12,
    "ف ال": 0.6, "ك ال": 0.6, "و ب": 1, "و ل": 1, "و س": 1, "ف س": 0.4, "ف ب": 0.1, "ف ل": 0.3, "و ب ال": 0.6,
    "و ل ال": 0.6, "ف ب ال": 0.1, "ف ل ال": 0.1, "و ك": 0.2, "و ك ال": 0.05,
}  # fmt: skip
_PRONOUNS = "ه ها ك ي هما كما نا كم هم هن كن".split()
_BEHIND = {
    "": 640, "ة": 110, "ات": 22, "ين": 12, "ون": 9, "ان": 2, "ت": 35, "وا": 8, "ا": 22, "ن": 0.2, "ن ي": 8,
    **dict(zip(_PRONOUNS, (24, 18, 16, 28, 0.3, 0.3, 14, 4, 8, 0.3, 0.2), strict=True)),
    **{f"ت {pronoun}": 2.5 for pronoun in _PRONOUNS},
    **{f"ات {pronoun}": 0.7 for pronoun in _PRONOUNS},
    **{f"{plural} {pronoun}": 0.1 for plural in ("ون", "ين", "وا", "نا") for pronoun in ("ه", "ها", "ك", "هم")},
    "ون ن ي": 0.2, "ت ن ي": 0.7, "ي ن": 0.05, "ت ين": 0.4, "ت ان": 0.2,
}  # fmt: skip
_NOMINAL = frozenset({"ة", "ات", "ت ين", "ت ان"})  # only of nouns: no future before them
_LISTED, _COUNTED = 20.0, 5.0  # sightings: what our list is worth, and at most those in texts
_KNOWN, _UNKNOWN = -10.0, -14.0  # log chance of a stem seen once, and of one never seen, at its best length
# What a stem that nobody has seen hardly begins or ends with: then these were clitics.
_LOOKS_CUT = (
    (re.compile("ة$"), -6.0), (re.compile("^[وفبك]?ال..."), -4.0), (re.compile("^[وف]?لل.."), -4.0),
    (re.compile("...ات$"), -3.0), (re.compile("...(?:ها|هم|نا|ني|وا|كم)$"), -2.0), (re.compile("...(?:ين|ون)$"), -1.5),
    (re.compile("^[وف]?س[يأنت]..."), -1.0),
)  # fmt: skip
_LENGTHS = {1: -6.0, 2: -3.0, 3: -0.4, 4: 0.0, 5: -0.2, 6: -1.0, 7: -2.0}  # of unknown stems


def count(texts: Iterable[str]) -> Counter[str]:
    """The Arabic words of texts, as they are prepared, and how often each occurs."""
    return Counter(token for text in texts for token in tokens(text) if ARABIC.fullmatch(token))


def split(word: str, counts: Counts | None = None) -> Sequence[str]:
    """The parts of a word, without marks. Equal scores go to fewer parts."""
    if word in _list("whole") or (len(word) < 3 and word not in _list("short")):
        return (word,)
    best, chosen = -math.inf, [word]
    for before, prefixes in _ENDS[0]:
        rest = _without_prefix(word, prefixes)
        if rest is None:
            continue
        for behind, suffixes in _ENDS[1]:
            ending = "".join(suffixes)
            if not rest.endswith(ending):
                continue
            stem = rest[: len(rest) - len(ending)]
            score = _score(stem, prefixes, behind, suffixes, counts if stem != word else None)
            score += math.log(_BEFORE[before]) + math.log(_BEHIND[behind])
            parts = [*prefixes, *([stem] if stem else []), *suffixes]
            if score > best + 1e-9 or (abs(score - best) <= 1e-9 and len(parts) < len(chosen)):
                best, chosen = score, parts
    return chosen


_ENDS = (
    [(name, name.split()) for name in _BEFORE],
    [(name, name.split()) for name in _BEHIND],
)


def _without_prefix(word: str, prefixes: list[str]) -> str | None:
    if prefixes[-2:] == ["ل", "ال"]:  # written لل; الليل after ل has lost one
        start = "".join(prefixes[:-2]) + "لل"
        if not word.startswith(start):
            return None
        rest = word[len(start) :]
        return "ل" + rest if "ل" + rest in _stems() else rest
    start = "".join(prefixes)
    if not word.startswith(start):
        return None
    rest = word[len(start) :]
    return None if prefixes[-1:] == ["ل"] and rest.startswith("ل") else rest  # nearly always the article


def _score(stem: str, prefixes: list[str], behind: str, suffixes: list[str], counts: Counts | None) -> float:
    """The log chance of a stem between these affixes; impossible together: never."""
    if not stem:  # له, بها: a preposition and a pronoun
        return (
            -5.5 if prefixes[-1:] in (["ل"], ["ب"]) and suffixes and suffixes[0] in _PRONOUNS else -math.inf
        )
    if prefixes[-1:] == ["س"] and (stem[0] not in "أينت" or behind in _NOMINAL):
        return -math.inf
    if "ال" in prefixes and suffixes and suffixes[-1] in (*_PRONOUNS, "وا", "ت"):
        return -math.inf  # what has the article has no owner, and is no verb
    if suffixes and stem in _list("bare"):
        return -math.inf
    known = _seen(stem, suffixes, counts)
    if known:
        return math.log(known) + _KNOWN
    looks = sum(cost for pattern, cost in _LOOKS_CUT if pattern.search(stem))
    return _UNKNOWN + _LENGTHS.get(len(stem), -3.0) + looks


def _seen(stem: str, suffixes: list[str], counts: Counts | None) -> float:
    """How much speaks for a stem; its form with ة counts where ة has become ت. What was counted is worth less than our
    list, however often it occurs, and a word that is cut itself is no stem."""
    forms = [stem, f"{stem}ة"] if suffixes and suffixes[0] in ("ت", "ات", "ة") else [stem]
    if any(form in _stems() for form in forms):
        return _LISTED
    if not counts:
        return 0.0
    found = sum(counts.get(form, 0) + counts.get(f"ال{form}", 0) for form in forms)
    return min(found, _COUNTED) if found and _is_whole(stem) else 0.0


@lru_cache(1 << 16)
def _is_whole(word: str) -> bool:
    return len(split(word)) == 1


@cache
def _list(name: str) -> frozenset[str]:
    """A part of our list, by its heading."""
    found: list[str] = []
    heading = ""
    for line in _STEMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line[1:-1]
        elif heading == name and not line.startswith("#"):
            found += line.split()
    return frozenset(found)


@cache
def _stems() -> frozenset[str]:
    """With present-tense verbs in all their persons, and words that are whole when they stand alone."""
    verbs = {person + verb for verb in _list("present") for person in "يتأن"}
    return _list("stems") | _list("bare") | (_list("whole") - frozenset(_BEHIND)) | verbs
