"""Who speaks when: a linear SVM says of every two lines that follow each other whether one person says both.

The features are Lison & Meena's (2016): times, dashes, punctuation, casing, lexical overlap, pronouns, first and last
words, lengths, and the lines around. All of them hold or do not, so a score is a sum of weights that one can read
(heartfelt/assets/turns/weights.json), and needs no library.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec

from heartfelt.agent.listen import SHIPPED
from heartfelt.curation.subtitle import Line
from heartfelt.errors import BadData, MissingData
from heartfelt.text import STOP_WORDS

FOLDER = SHIPPED / "turns"
_STOP = STOP_WORDS["en"]
_I = frozenset("i i'm i'll i've i'd me my mine myself".split())
_YOU = frozenset("you you're you'll you've you'd your yours yourself".split())
_WE = frozenset("we we're we'll we've we'd us our ours".split())
_THEY = frozenset("he she it they him her them his their he's she's it's they're".split())
_PEOPLE = {"i": _I, "you": _YOU, "we": _WE, "they": _THEY}
_ANSWERS = frozenset(
    "yes no yeah nope yep okay ok sure right fine well oh uh um what why really thanks nothing".split()
)
_AUXILIARY = frozenset("is are was were do does did can could will would should have has had am".split())
_ASKS = frozenset("who what where when why how which whose".split())
_GAPS = (0.0, 0.05, 0.15, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 20)
_MARK = str.maketrans("’‘“”–—", "''\"\"--")


class Shape(msgspec.Struct, frozen=True):
    """What a line looks like: what is worked out once, and asked for on both of its sides."""

    words: tuple[str, ...]
    content: frozenset[str]
    people: frozenset[str]
    end: str  # the mark at its end
    size: str


def shape(line: Line) -> Shape:
    text = line.text.translate(_MARK)
    words = tuple(token.strip('.,!?;:"-…()') for token in text.lower().split())
    words = tuple(word for word in words if word)
    content = frozenset(word for word in words if word not in _STOP and len(word) > 2)
    people = frozenset(name for name, forms in _PEOPLE.items() if not forms.isdisjoint(words))
    return Shape(words, content, people, _ending(text), _bin(len(words), _LENGTHS))


def _ending(text: str) -> str:
    text = text.rstrip("\"' ")
    if text.endswith(("...", "…")):
        return "..."
    if text.endswith("--"):
        return "--"
    return text[-1:] if text[-1:] in ".!?,:;-" else "none"


def _bin(value: float, bounds: Sequence[float]) -> str:
    for bound in bounds:
        if value <= bound:
            return f"≤{bound:g}"
    return f">{bounds[-1]:g}"


class Film(msgspec.Struct, frozen=True):
    """What the whole subtitle tells: whether dashes and names are used at all, and how fast people speak."""

    dashes: str
    names: str
    italics: str
    pause: float  # the middle one of the gaps between blocks

    @staticmethod
    def of(lines: Sequence[Line]) -> "Film":
        count = max(1, len(lines))
        gaps = sorted(gap for a, b in pairwise(lines) if (gap := gap_between(a, b)) is not None)
        return Film(
            dashes=_share(sum(line.dash for line in lines) / count),
            names=_share(sum(bool(line.name) for line in lines) / count),
            italics=_share(sum(line.italic for line in lines) / count),
            pause=gaps[len(gaps) // 2] if gaps else 0.5,
        )


def _share(value: float) -> str:
    return "none" if value < 0.01 else "few" if value < 0.08 else "many"


def gap_between(before: Line, after: Line) -> float | None:
    """Seconds from the end of a line to the start of the next; None where one of them is not known."""
    if before.end is None or after.start is None:
        return None
    return round(after.start - before.end, 3)


def features(lines: Sequence[Line], shapes: Sequence[Shape], film: Film, i: int) -> Iterator[str]:
    """What holds of the boundary between line i and the next one."""
    yield from layout(lines, shapes, film, i)
    yield from lexical(lines, shapes, i)


def layout(lines: Sequence[Line], shapes: Sequence[Shape], film: Film, i: int) -> Iterator[str]:
    """What only a subtitle has: times, blocks, dashes, names, italics."""
    a, b = lines[i], lines[i + 1]
    x, y = shapes[i], shapes[i + 1]
    same = a.last == b.first
    gap = gap_between(a, b)
    pause = "same block" if same else "unknown" if gap is None else _bin(gap, _GAPS)
    yield f"pause {pause}"
    if gap is not None and not same:
        yield f"pause against the film's {_bin(gap - film.pause, (-1, -0.3, -0.05, 0.05, 0.3, 1, 2))}"
    if a.first != a.last:
        yield "a goes over blocks"
    if b.first != b.last:
        yield "b goes over blocks"
    where = "same block" if same else "next block"
    dash = f"{'dash' if a.dash else 'no dash'}, {'dash' if b.dash else 'no dash'}"
    yield f"{where}: {dash}; film has {film.dashes}"
    if b.name or a.name:
        yield f"name {'again' if a.name == b.name else 'before b' if b.name else 'before a'}; film has {film.names}"
    elif film.names != "none":
        yield f"no names; film has {film.names}, {where}"
    if a.italic or b.italic:
        yield f"italics {a.italic:d}{b.italic:d}; film has {film.italics}"
    if i and lines[i - 1].last == a.first:
        yield f"a shares its block with the line before, {'dash' if a.dash else 'no dash'}, {where}"
    if i + 2 < len(lines) and lines[i + 2].first == b.last:
        yield f"b shares its block with the next line, {'dash' if lines[i + 2].dash else 'no dash'}, {where}"
        after = gap_between(b, lines[i + 2])
        yield f"pause after b {'unknown' if after is None else _bin(after, (0.05, 0.3, 1, 2, 5))}, before {pause}"
    yield f"a ends {x.end}, pause {pause}"
    yield f"{where}, a {x.size}, b {y.size}"


def lexical(lines: Sequence[Line], shapes: Sequence[Shape], i: int) -> Iterator[str]:
    """What any script has: words, punctuation, casing, pronouns, and the lines around."""
    a, b = lines[i], lines[i + 1]
    x, y = shapes[i], shapes[i + 1]
    yield f"a ends {x.end}"
    yield f"b ends {y.end}"
    yield f"ends {x.end} {y.end}"
    first = b.text.lstrip("\"'“‘")[:1]
    if first.islower():
        yield f"b starts small after {x.end}"
    if b.text.startswith(("...", "…")):
        yield f"b starts ... after {x.end}"
    if a.text.isupper() != b.text.isupper():
        yield "capitals change"
    if (a.text.count('"') + a.text.count("“") + a.text.count("”")) % 2:
        yield "a leaves a quotation open"
    yield f"a long {x.size}"
    yield f"b long {y.size}"
    yield f"long {x.size} {y.size}"
    if x.words and y.words:
        yield f"a first {x.words[0]}"
        yield f"a last {x.words[-1]}"
        yield f"b first {y.words[0]}"
        yield f"b first {y.words[0]} after {x.end}"
        yield f"b last {y.words[-1]}"
        yield f"first {x.words[0]} {y.words[0]}"
        if len(x.words) > 1:
            yield f"a first two {x.words[0]} {x.words[1]}"
        if len(y.words) > 1:
            yield f"b first two {y.words[0]} {y.words[1]}"
        if len(y.words) <= 3:
            yield f"b is {' '.join(y.words)}"
            yield f"b is short after {x.end}"
        if len(x.words) <= 3:
            yield f"a is {' '.join(x.words)}{x.end}"
        if y.words[0] in _ANSWERS:
            yield f"b answers after {x.end}"
        if x.words[0] in _ASKS:
            yield f"a asks {x.end}, b starts {y.words[0] if y.words[0] in _ANSWERS else y.end}"
        if x.words[0] in _AUXILIARY and x.end == "?":
            yield f"a wants yes or no, b {'does' if y.words[0] in _ANSWERS else 'does not'}"
        if x.words[0] == y.words[0]:
            yield "same first word"
        if x.words == y.words:
            yield "same words"
        if len(y.words) <= 2 and y.content and y.content <= x.content:
            yield f"b repeats a part of a, ends {y.end}"
    if overlap := len(x.content & y.content):
        yield f"overlap {min(overlap, 3)}, b ends {y.end}"
        yield f"overlap share {_bin(overlap / len(x.content | y.content), (0.1, 0.25, 0.5, 0.99))}"
    for one in sorted(x.people) or ("nobody",):
        for other in sorted(y.people) or ("nobody",):
            yield f"people {one} {other}"
            yield f"people {one} {other} after {x.end} {y.end}"
    if i:
        yield f"before a: ends {shapes[i - 1].end}, then {x.end}"
        if shapes[i - 1].content & y.content:
            yield "b takes up the line before a"
    if i + 2 < len(lines):
        yield f"after b: {shapes[i + 2].end}, b {y.end}"


class Segmenter:
    """The trained weights over lines: `changes` says where somebody else begins to speak."""

    def __init__(self, weights: dict[str, float], bias: float) -> None:
        self._weights = weights
        self._bias = bias

    @classmethod
    def load(cls, folder: Path) -> "Segmenter":
        path = folder / "weights.json"
        try:
            stored = msgspec.json.decode(path.read_bytes(), type=dict[str, float])
        except FileNotFoundError:
            raise MissingData(f"There is no turn segmenter in {folder}: weights.json is missing") from None
        except msgspec.MsgspecError as problem:
            raise BadData(f"{path} is not a turn segmenter: {problem}") from None
        return cls(stored, stored.pop("", 0.0))

    def scores(self, lines: Sequence[Line]) -> list[float]:
        """One for each two lines that follow each other; above zero somebody else speaks."""
        shapes = [shape(line) for line in lines]
        film = Film.of(lines)
        get = self._weights.get
        return [
            self._bias + sum(get(name, 0.0) for name in features(lines, shapes, film, i))
            for i in range(len(lines) - 1)
        ]

    def changes(self, lines: Sequence[Line]) -> list[bool]:
        return [score > 0 for score in self.scores(lines)]


@cache
def shipped() -> Segmenter:
    return Segmenter.load(FOLDER)
