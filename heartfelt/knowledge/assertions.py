"""ConceptNet's edges as they are published: one line in, one edge out.

official    conceptnet-assertions-5.x.csv.gz: URI, relation, start, end and JSON with the weight, between tabs; all
            languages, 34 million lines. https://github.com/commonsense/conceptnet5/wiki/Downloads, CC BY-SA 4.0
api         edges of the web API as a table with the header head, relation, tail, weight …
cn100k      the cut of Li et al. 2016: relation, head, tail, weight. In its valid and test files the last column is no
            weight but whether the edge is true
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import msgspec

from heartfelt.errors import BadData
from heartfelt.files import LINE_LIMIT, open_binary, unpack_errors

_LOOKED_AT = 1000  # lines in which the form of a file is sought
_LONGEST = 200  # bytes of a term


class Edge(NamedTuple):
    start: str  # as people write it: lower case, spaces
    relation: str  # ConceptNet's name: IsA, CausesDesire, dbpedia/genre
    end: str
    weight: float


class Broken(ValueError):
    """A line that is no edge."""


class _Facts(msgspec.Struct):
    weight: float


_facts = msgspec.json.Decoder(_Facts)


def official(line: bytes) -> Edge | None:
    """An English edge; None for other languages, and for what leads out of ConceptNet."""
    fields = line.split(b"\t")
    if len(fields) != 5 or not fields[0].startswith(b"/a/") or not fields[1].startswith(b"/r/"):
        raise Broken("not five columns that begin with /a/ and /r/")
    if not fields[2].startswith(b"/c/en/") or not fields[3].startswith(b"/c/en/"):
        return None
    try:
        weight = _facts.decode(fields[4]).weight
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Broken("no weight in the last column") from None
    start, end = (_term(field.removeprefix(b"/c/en/")) for field in fields[2:4])
    return Edge(start, _text(fields[1].removeprefix(b"/r/")), end, _weight(weight))


def api(line: bytes) -> Edge | None:
    fields = line.rstrip(b"\r\n").split(b"\t")
    if len(fields) < 4:
        raise Broken("fewer than four columns")
    if fields[3] == b"weight":  # the header
        return None
    return Edge(_term(fields[0]), _text(fields[1]), _term(fields[2]), _number(fields[3]))


def cn100k(line: bytes) -> Edge | None:
    fields = line.rstrip(b"\r\n").split(b"\t")
    if len(fields) != 4:
        raise Broken("not four columns")
    if fields[3] == b"0":  # said to be false
        return None
    return Edge(_term(fields[1]), _text(fields[0]), _term(fields[2]), _number(fields[3]))


Reader = Callable[[bytes], Edge | None]


def reader_of(path: Path) -> Reader:
    """Which of the forms a file has, by its first line that has one."""
    for _, line in islice(raw_lines(path), _LOOKED_AT):
        fields = line.rstrip(b"\r\n").split(b"\t")
        if line.startswith(b"/a/") and len(fields) == 5:
            return official
        if fields[:4] == [b"head", b"relation", b"tail", b"weight"]:
            return api
        if len(fields) == 4 and fields[0].isalpha() and fields[0][:1].isupper():
            return cn100k
    raise BadData(
        f"{path} is not of ConceptNet: no line begins with /a/[, no header says head, relation, tail, weight, and no "
        "line is relation, head, tail, weight between tabs"
    )


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, plain or packed, as bytes with their numbers. A file that is cut off is refused."""
    number = 0
    with open_binary(path) as file:
        try:
            for number, line in enumerate(iter(partial(file.readline, LINE_LIMIT), b""), 1):
                yield number, line
        except unpack_errors() as problem:
            raise BadData(
                f"{path} is broken or cut off after line {number:,} ({problem}): fetch it again"
            ) from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Broken("not UTF-8") from None


def _term(raw: bytes) -> str:
    """A term as people write it. What follows it (fear/n/wn/feeling) tells senses apart, which a keyword does not."""
    term = " ".join(_text(raw.partition(b"/")[0]).replace("_", " ").lower().split())
    if not term or len(raw) > _LONGEST:
        raise Broken("a term is empty or too long")
    return term


def _number(raw: bytes) -> float:
    try:
        return _weight(float(raw))
    except ValueError:
        raise Broken("the weight is no number") from None


def _weight(weight: float) -> float:
    if not isfinite(weight) or weight < 0:
        raise Broken("the weight is not a number from 0 on")
    return weight
