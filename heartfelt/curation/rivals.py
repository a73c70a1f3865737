"""Several subtitles of one film: which belong together, and which of them to take, with the reason.

OpenSubtitles' paths name the film. For other files its lines do: two subtitles of one film share many of them, word for
word, which titles in file names do not tell (remakes, releases, misspellings).
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from heartfelt.curation.subtitle import Subtitle
from heartfelt.text import normalized

SKETCH = 64  # smallest hashes of a file's lines
SAME_FILM = 0.15  # share of lines in common from which two files are of one film; other films share under .02
ALONE = "the only one"
_LONG = 5  # words of a line that is hardly in two films
_WHOLE = 0.85  # of the lines of the fullest rival: less is a part of the film


class Quality(msgspec.Struct, frozen=True):
    """What a subtitle is worth, in numbers."""

    lines: int
    blocks: int
    ended: float  # share of lines that end in . ! ? … as sentences do
    timed: float  # share of blocks whose times are sound
    shouted: float  # share of lines in capitals alone
    dashed: float  # share of lines after a dialogue dash or a name: who speaks is known there
    mended: float  # misread letters and double encodings a line
    unknown: float  # share of words that OpenSubtitles' own speller did not know; 0 where not told
    span: float  # seconds from first line to last


class Rival(msgspec.Struct, frozen=True):
    """A readable file, for the choice."""

    name: str
    film: str  # where the path says it
    quality: Quality
    sketch: tuple[int, ...]


class Choice(msgspec.Struct, frozen=True):
    name: str
    film: str
    taken: bool
    reason: str


def quality(subtitle: Subtitle) -> Quality:
    lines = subtitle.lines
    count = len(lines)
    times = [time for line in lines for time in (line.start, line.end) if time is not None]
    ended = sum(line.text.rstrip("\"'”’ ").endswith((".", "!", "?", "…")) for line in lines)
    starts = {line.first for line in lines}
    timed = {line.first for line in lines if line.start is not None}
    mended = subtitle.removed.get("misread letters", 0) + subtitle.removed.get("encoded twice", 0)
    unknown, tokens = (_number(subtitle.meta.get(key)) for key in ("unknown_words", "tokens"))
    return Quality(
        lines=count,
        blocks=subtitle.blocks,
        ended=round(ended / count, 4),
        timed=round(len(timed) / max(1, len(starts)), 4),
        shouted=round(sum(line.text.isupper() and len(line.text) > 3 for line in lines) / count, 4),
        dashed=round(sum(line.dash or bool(line.name) for line in lines) / count, 4),
        mended=round(mended / count, 4),
        unknown=round(unknown / tokens, 4) if tokens else 0.0,
        span=round(max(times) - min(times), 1) if times else 0.0,
    )


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0


def sketch(subtitle: Subtitle) -> tuple[int, ...]:
    """The smallest hashes of its longer lines; what two files share of them tells what they share of their lines."""
    keys = {normalized(line.text) for line in subtitle.lines}
    hashes = {
        int.from_bytes(hashlib.blake2b(key.encode(), digest_size=6).digest(), "big")
        for key in keys
        if key.count(" ") >= _LONG - 1
    }
    return tuple(sorted(hashes)[:SKETCH])


def alike(one: Sequence[int], other: Sequence[int]) -> float:
    """The estimated share of lines that two files have in common (Broder's bottom-k sketch)."""
    smallest = sorted({*one, *other})[:SKETCH]
    return len(set(one) & set(other) & set(smallest)) / max(1, len(smallest))


def films(rivals: Sequence[Rival]) -> dict[str, list[Rival]]:
    """Film → its subtitles. Files whose path does not name the film are brought together by their lines."""
    found: dict[str, list[Rival]] = defaultdict(list)
    unnamed = [rival for rival in rivals if not rival.film]
    for rival in rivals:
        if rival.film:
            found[rival.film].append(rival)
    leader = list(range(len(unnamed)))

    def lead(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    holders: dict[int, list[int]] = defaultdict(list)
    for i, rival in enumerate(unnamed):
        shared = Counter(j for number in rival.sketch for j in holders[number])
        for j in sorted(shared):
            if shared[j] > 2 and alike(rival.sketch, unnamed[j].sketch) >= SAME_FILM:
                one, other = sorted((lead(i), lead(j)))
                leader[other] = one
        for number in rival.sketch:
            holders[number].append(i)
    for i, rival in enumerate(unnamed):
        found[unnamed[lead(i)].name].append(rival)
    return dict(found)


# What is weighed, in words for the reason, with its weight: a point is a tenth of a film's lines.
_COUNTS: tuple[tuple[str, Callable[[Quality], float]], ...] = (
    ("fewer misread letters", lambda q: -4.0 * min(q.mended, 0.5)),
    ("sentences that end", lambda q: 2.0 * q.ended),
    ("sound times", lambda q: 2.0 * q.timed),
    ("less in capitals alone", lambda q: -2.0 * q.shouted),
    ("dashes that say who speaks", lambda q: 1.0 * min(q.dashed, 0.3)),
    ("fewer unknown words", lambda q: -20.0 * min(q.unknown, 0.1)),
)


def choose(rivals: Iterable[Rival]) -> list[Choice]:
    """For every film one subtitle is taken: whole before part, then the soundest; the reason names what decided."""
    choices = []
    for film, group in sorted(films(sorted(rivals, key=lambda rival: rival.name)).items()):
        if len(group) == 1:
            choices.append(Choice(group[0].name, film, True, ALONE))
            continue
        fullest = max(rival.quality.lines for rival in group)
        whole = [rival for rival in group if rival.quality.lines >= _WHOLE * fullest]
        ranked = sorted(whole, key=lambda rival: (-_score(rival.quality), -rival.quality.lines, rival.name))
        best = ranked[0]
        others = [rival for rival in group if rival is not best]
        choices.append(Choice(best.name, film, True, _why(best, ranked[1:], len(others))))
        for rival in others:
            part = rival.quality.lines < _WHOLE * fullest
            reason = (
                f"a part: {rival.quality.lines:,} lines where a rival has {fullest:,}" if part
                else f"{best.name} is sounder: {_advantage(best.quality, rival.quality)}"
            )  # fmt: skip
            choices.append(Choice(rival.name, film, False, reason))
    return choices


def _score(quality: Quality) -> float:
    return round(sum(count(quality) for _, count in _COUNTS), 6)


def _advantage(best: Quality, other: Quality) -> str:
    gains = {what: count(best) - count(other) for what, count in _COUNTS}
    what = max(gains, key=lambda key: gains[key])
    return what if gains[what] > 0 else "equal in all counts, more lines or first by name"


def _why(best: Rival, ranked: Sequence[Rival], others: int) -> str:
    if not ranked:
        return f"the only whole one of {others + 1}"
    return f"the soundest of {others + 1}: {_advantage(best.quality, ranked[0].quality)}"
