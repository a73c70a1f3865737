"""Who cuts words: Farasa in Python or in Java, our own rules, or nobody. One word at a time, each once.

A word's parts depend on the word alone, so they are remembered; what does not make the word again is not cut.
"""

import importlib
import shutil
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from heartfelt.arabic.clitics import Segmenter, marked
from heartfelt.arabic.plain import Counts, split
from heartfelt.errors import MissingExtra, UnknownName, need

REMEMBERED = 1 << 18  # words a segmenter keeps: some 60 MB when full
LICENCE = (
    "Farasa (Qatar Computing Research Institute) is for research only; other uses need its authors' leave. "
    "The segmenter 'plain' is Heartfelt's own and has no such terms."
)


class Cached:
    """A segmenter over a function that cuts one word."""

    def __init__(self, name: str, cut: Callable[[str], Sequence[str]]) -> None:
        self.name = name
        self._cut = lru_cache(REMEMBERED)(lambda word: marked(word, cut(word)))

    def __call__(self, word: str) -> Sequence[str]:
        return self._cut(word)

    def forget(self) -> None:
        """For measuring: as if no word had been seen."""
        self._cut.cache_clear()


def _plain(counts: Counts | None) -> Segmenter:
    return Cached("plain", lambda word: split(word, counts))


def _farasa(_: Counts | None) -> Segmenter:
    """The port of PyPI's `Farasa`. farasapy, another package, has the same import name and another module in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a way to open files that Python gives up
        port = need("farasa.segmentation", "arabic", "The segmenter 'farasa'")
    _say_licence()

    def cut(word: str) -> Sequence[str]:
        found = port.segmentLine(word)
        return found[0].split("+") if len(found) == 1 else (word,)

    return Cached("farasa", cut)


def _farasapy(_: Counts | None) -> Segmenter:
    try:
        module = importlib.import_module("farasa.segmenter")
    except ImportError:
        raise MissingExtra(
            "The segmenter 'farasapy' needs 'farasapy', which is not installed: pip install farasapy "
            "(it wants Java, and fetches Farasa itself; 'farasa' needs neither)"
        ) from None
    if shutil.which("java") is None:
        raise MissingExtra(
            "The segmenter 'farasapy' needs Java, and there is no 'java' on the path; 'farasa' and 'plain' do without"
        )
    _say_licence()
    java: Any = module.FarasaSegmenter(interactive=True)

    def cut(word: str) -> Sequence[str]:
        found = str(java.segment(word)).split()
        return found[0].split("+") if len(found) == 1 else (word,)

    return Cached("farasapy", cut)


def _none(_: Counts | None) -> Segmenter:
    return Cached("none", lambda word: (word,))


SEGMENTERS: dict[str, Callable[[Counts | None], Segmenter]] = {
    "plain": _plain,  # our rules and word list
    "farasa": _farasa,  # extra [arabic]; research only
    "farasapy": _farasapy,  # the original, in Java; research only
    "none": _none,  # words stay whole; text is prepared all the same
}


def open_segmenter(name: str = "plain", counts: Counts | None = None) -> Segmenter:
    """counts: words of your own texts and how often they occur, which `plain` learns from (plain.count)."""
    if name not in SEGMENTERS:
        raise UnknownName("segmenter", name, SEGMENTERS)
    return SEGMENTERS[name](counts)


@lru_cache(1)
def _say_licence() -> None:
    print(LICENCE, file=sys.stderr)
