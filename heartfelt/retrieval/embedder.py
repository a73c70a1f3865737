"""What turns contexts and replies into vectors: a protocol, and a finished retrieval run that fills it (torch)."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heartfelt.dialogue import Turn
from heartfelt.files import sha256
from heartfelt.models import MATCHERS
from heartfelt.models.prepend import prepender
from heartfelt.recipe import load as load_recipe
from heartfelt.retrieval.reading import in_batches, open_reader

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """The product of a context's vector and a reply's says how well they match."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def fingerprint(self) -> str:
        """Another one, another encoder: vectors of the two must not be mixed."""

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> Vectors:
        """(talks, size)"""

    def replies(self, texts: Sequence[str]) -> Vectors:
        """(texts, size)"""


class MatcherRun:
    """A finished run of a retrieval model."""

    def __init__(self, folder: Path) -> None:
        self.reader = open_reader(folder, MATCHERS, "match replies")
        from heartfelt.models.backbone import merge_adapters

        merge_adapters(self.reader.model)
        self._folder, self.name = folder, folder.resolve().name
        prepend = self.reader.recipe.prepend
        self._label = prepender(folder / "prepend", prepend.labels) if prepend else None

    @cached_property
    def fingerprint(self) -> str:
        """Of the weights, and of what texts are cut to."""
        settings = self.reader.settings
        digest = hashlib.sha256(
            repr((settings.window, settings.max_tokens, settings.max_reply_tokens)).encode()
        )
        for path in sorted((self._folder / "model").glob("*.safetensors")):
            digest.update(sha256(path).encode())
        return digest.hexdigest()

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> Vectors:
        return in_batches(self.reader, self.context_ids(talks), self.reader.model.contexts)

    def replies(self, texts: Sequence[str]) -> Vectors:
        return in_batches(self.reader, self.reply_ids(texts), self.reader.model.replies)

    def context_ids(self, talks: Sequence[Sequence[Turn]]) -> list[list[int]]:
        """What the model reads of each."""
        from heartfelt.models.matcher import encode_context

        _, settings, tokenizer, _ = self.reader
        labels = self._labels([" ".join(turn.text for turn in talk[-settings.window :]) for talk in talks])
        return [
            encode_context(settings, tokenizer, talk, label)
            for talk, label in zip(talks, labels, strict=True)
        ]

    def reply_ids(self, texts: Sequence[str]) -> list[list[int]]:
        from heartfelt.models.matcher import encode_reply

        _, settings, tokenizer, _ = self.reader
        return [
            encode_reply(settings, tokenizer, text, label)
            for text, label in zip(texts, self._labels(texts), strict=True)
        ]

    def _labels(self, texts: Sequence[str]) -> list[str]:
        return self._label(texts) if self._label else [""] * len(texts)


def matches(folder: Path) -> bool:
    """Is this a run of a model that tells which reply fits?"""
    path = folder / "recipe.yaml"
    return path.is_file() and load_recipe(path).model in MATCHERS
