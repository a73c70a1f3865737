"""A tokenizer for Arabic that a model reads in clitics: texts are cut before it, and what it decodes is whole again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from heartfelt.arabic import open_segmenter, restore, segment
from heartfelt.arabic.plain import count
from heartfelt.dialogue import Turn
from heartfelt.files import writing

FILE = "segment.json"  # beside the tokenizer's own files


class Segmenting:
    """Any tokenizer (or two, see two_tokenizers), with a segmenter in front.

    What it is called with is cut already: encode_pair does that, turn by turn, so that what stands between turns is
    not taken for text.
    """

    def __init__(self, tokenizer: Any, name: str, counts: dict[str, int] | None = None) -> None:
        """counts: the words that `plain` knows stems from; they are kept with the tokenizer."""
        self.inner, self.name, self.counts = tokenizer, name, counts or {}
        self._cut = open_segmenter(name, self.counts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def __len__(self) -> int:
        return len(self.inner)

    def cut(self, text: str) -> str:
        return segment(text, self._cut)

    def cut_turns(self, turns: Sequence[Turn]) -> list[Turn]:
        """A turn of which nothing is left (only signs that go) stays as it was."""
        return [Turn(turn.speaker, self.cut(turn.text) or turn.text, turn.label) for turn in turns]

    def decode(self, *what: Any, **how: Any) -> str:
        return restore(self.inner.decode(*what, **how))

    def save_pretrained(self, folder: Path) -> None:
        self.inner.save_pretrained(folder)
        with writing(Path(folder) / FILE, "wb") as file:
            file.write(msgspec.json.encode({"segmenter": self.name, "counts": self.counts}))


class _Saved(msgspec.Struct):
    segmenter: str
    counts: dict[str, int]


def segmenting(name: str, texts: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """Texts to learn words from, cut; and the words that `plain` counted in them, which are to be kept."""
    counts = dict(count(texts)) if name == "plain" else {}
    cut = open_segmenter(name, counts)
    return [segment(text, cut) for text in texts], counts


def reopened(tokenizer: Any, folder: Path) -> Any:
    """The tokenizer of a folder, with its segmenter where it was saved with one."""
    path = folder / FILE
    if not path.is_file():
        return tokenizer
    saved = msgspec.json.decode(path.read_bytes(), type=_Saved)
    return Segmenting(tokenizer, saved.segmenter, saved.counts)
