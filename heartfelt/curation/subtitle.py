"""A subtitle as curation sees it: lines (sentences) with times, whichever format they came in."""

from collections import Counter
from typing import Any

import msgspec

from heartfelt.errors import BadData


class Unreadable(BadData):
    """A file that is no subtitle, or a broken one; the message is the reason that quarantine keeps."""


class Line(msgspec.Struct, frozen=True):
    """A sentence. Times are missing where a sentence begins or ends inside a block, as in OpenSubtitles' XML."""

    text: str
    start: float | None = None  # seconds
    end: float | None = None
    first: int = 0  # the block on screen in which it begins
    last: int = 0  # and the one in which it ends
    dash: bool = False  # a dialogue dash stood before it: somebody else speaks
    name: str = ""  # who speaks, where the subtitle says so for those who cannot hear
    italic: bool = False  # off screen, a voice on the phone, thoughts


class Subtitle(msgspec.Struct, frozen=True):
    """The sentences of one file, and what was seen on the way."""

    lines: tuple[Line, ...]
    blocks: int  # texts on screen
    encoding: str = "utf-8"
    removed: dict[str, int] = {}  # what was taken out of the text → how often
    meta: dict[str, Any] = {}  # what the file says of itself (OpenSubtitles: year, genre, unknown words …)


class Seen(Counter[str]):
    """What was taken out, by reason: music, sounds, speaker names, advertisements, tags, mended letters."""
