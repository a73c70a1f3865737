"""OpenSubtitles 2018 as OPUS gives it: XML, sentences in <s>, words in <w> or raw text, times between."""

import re
from typing import Any
from xml.parsers import expat

from heartfelt.curation import scrub
from heartfelt.curation.srt import LARGEST, cut
from heartfelt.curation.subtitle import Line, Seen, Subtitle, Unreadable
from heartfelt.text import detokenized

_TIME = re.compile(r"(\d{1,3}):(\d{1,2}):(\d{1,2})(?:[,.](\d{1,3}))?")
_ID = re.compile(r"T(\d{1,6})([SE])")
_KEPT = (
    "year",
    "genre",
    "original",
    "country",
    "unknown_words",
    "tokens",
    "confidence",
    "language",
    "duration",
)


def read(content: bytes) -> Subtitle:
    """A file of OpenSubtitles, tokenised (<w>) or raw. Raises Unreadable where it is broken or no subtitle."""
    if len(content) > 4 * LARGEST:  # a tag a word
        raise Unreadable(f"{len(content) >> 20} MiB: too large for a subtitle")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except (
        expat.ExpatError,
        ValueError,
        LookupError,
    ) as problem:  # LookupError: an encoding that nobody knows
        raise Unreadable(f"not XML, or cut off: {problem}") from None
    if not reader.sentences:
        raise Unreadable("XML without a sentence (<s>)")
    if not reader.lines:
        raise Unreadable(f"{reader.sentences} sentences, and nothing is said in any of them")
    return Subtitle(tuple(reader.lines), reader.block, "utf-8", dict(reader.seen), reader.meta)


def _refuse(*_: Any) -> None:
    raise ValueError("it declares entities, which no subtitle needs")


class _Reader:
    """What the parser tells, made into lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.seen = Seen()
        self.meta: dict[str, Any] = {}
        self.block = 0
        self.sentences = 0
        self._inside = self._raw = False
        self._words: list[str] = []
        self._text: list[str] = []
        self._start: float | None = None
        self._end: float | None = None
        self._first = 0
        self._open = False  # between a block's start and its end

    def start(self, tag: str, fields: dict[str, str]) -> None:
        if tag == "s":
            self.sentences += 1
            self._inside, self._raw = True, True
            self._words, self._text = [], []
            self._start = self._end = None
            self._first = self.block if self._open else 0
        elif tag == "time" and self._inside:
            self._time(fields)
        elif tag == "w":
            self._raw = False
            self._text = []
        elif tag in _KEPT:
            self._text = []

    def _time(self, fields: dict[str, str]) -> None:
        number, found = _ID.fullmatch(fields.get("id", "")), _TIME.match(fields.get("value", ""))
        if number is None:
            return
        self.block = max(self.block, int(number[1]))
        self._open = number[2] == "S"
        seconds = None
        if found:
            h, m, s, ms = found.groups()
            seconds = round(3600 * int(h) + 60 * int(m) + int(s) + float(f"0.{ms or 0}"), 3)
        if number[2] == "S":
            if not self._first:
                self._first, self._start = int(number[1]), seconds
            self._end = None  # the text goes on after an earlier block's end
        else:
            self._end = seconds

    def text(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:
        if tag == "w":
            self._words.append("".join(self._text))
            self._text = []
        elif tag == "s" and self._inside:
            self._inside = False
            text = "".join(self._text) if self._raw else detokenized(" ".join(self._words))
            self._add(" ".join(text.split()))
        elif tag in _KEPT and not self._inside:
            value = "".join(self._text).strip()
            if value and tag not in self.meta:
                self.meta[tag] = value[:80]

    def _add(self, text: str) -> None:
        text, italic = scrub.block(text, self.seen)
        if not text:
            return
        first = self._first or self.block
        parts = cut(text)
        for i, part in enumerate(parts):
            rest, dash, name = scrub.opening(part, self.seen)
            if not any(char.isalnum() for char in rest):
                continue
            start = self._start if i == 0 else None
            end = self._end if i == len(parts) - 1 else None
            if start is not None and end is not None and end < start:
                start = end = None
            self.lines.append(Line(rest, start, end, first, max(first, self.block), dash, name, italic))
