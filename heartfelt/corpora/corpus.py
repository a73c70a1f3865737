"""What a corpus is: a name, a folder, its splits, and a function that reads one split as Dialogues."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.files import Faults, lines

Reader = Callable[[Path, str, Faults], Iterator[Dialogue]]


@dataclass(frozen=True)
class Download:
    """One file of a corpus's official source."""

    url: str
    sha256: str | None = None  # None where no checksum has been published: we then print what we got
    unpack_to: str = "."  # folder inside the corpus's folder; "" keeps the file as it is
    inside: str = ""  # take only what lies in this folder of the archive
    name: str = ""  # of the file, where the address does not end in it


@dataclass(frozen=True)
class Corpus:
    """A source of dialogues. `about` is the docstring of its reader: source, licence, fields, known faults."""

    name: str
    about: str
    read: Reader
    folder: str  # below the data folder
    shows: str  # a pattern of files in the folder that are there when the corpus is
    splits: tuple[str, ...]  # as published; a corpus without splits has the one, "all"
    labels: tuple[str, ...] = ()  # the label set of its turns, where it has one
    language: str = "en"
    downloads: tuple[Download, ...] = ()
    shipped: Path | None = None  # where it lies in the package, if it comes with it

    def is_in(self, data: Path) -> bool:
        return any(self.place(data).glob(self.shows))

    def place(self, data: Path) -> Path:
        """Its folder below the data folder; or, of one that comes with Heartfelt, in the package."""
        own = data / self.folder
        return self.shipped if self.shipped and not own.exists() else own

    @property
    def title(self) -> str:
        return self.about.strip().split("\n", 1)[0].rstrip(".")

    def section(self, name: str) -> str:
        """A paragraph of `about` that begins with `name:`, e.g. "Licence"."""
        found = re.search(rf"^{name}: (.+?)(?:\n\s*\n|\n[A-Z][a-z ]+: |\Z)", self.about, re.M | re.S)
        return " ".join(found[1].split()) if found else ""


class SeenIds:
    """Which ids have come by. Keeps 64-bit hashes, so a million ids take some 100 MB, whatever their length."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def again(self, id_: str) -> bool:
        """Has this id come by before?"""
        known = len(self._hashes)
        self._hashes.add(hash(id_))
        return len(self._hashes) == known


def alternating(
    texts: list[str], labels: Sequence[str | None] | None = None, listener_opens: bool = False
) -> tuple[Turn, ...]:
    """Turns of two people who take turns: whoever opens is the speaker, the other one listens."""
    roles = (LISTENER, SPEAKER) if listener_opens else (SPEAKER, LISTENER)
    pairs = zip(texts, labels or [None] * len(texts), strict=True)
    return tuple(Turn(roles[i % 2], text, label) for i, (text, label) in enumerate(pairs))


def blocks(path: Path, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Lines between empty ones, with the number of the first."""
    block: list[str] = []
    first = 1
    for number, line in lines(path, faults):
        if line.strip():
            first = first if block else number
            block.append(line.strip())
        elif block:
            yield first, block
            block = []
    if block:
        yield first, block
