"""What turns contexts and replies into vectors: a protocol, and a finished retrieval run that fills it (torch)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue, MissingData, need
from heartfelt.files import sha256
from heartfelt.models import MATCHERS, module_of
from heartfelt.recipe import fill
from heartfelt.recipe import load as load_recipe

Vectors = NDArray[np.float32]
BATCH = 64


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
        self._torch = need("torch", "train", "A run folder")
        transformers = need("transformers", "train", "A run folder")
        if not (folder / "model").is_dir() or not (folder / "recipe.yaml").is_file():
            raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
        recipe = load_recipe(folder / "recipe.yaml")
        if not matches(folder):
            raise InvalidValue(
                f"{folder} ({recipe.model}) does not match replies: take a run of {' or '.join(MATCHERS)}"
            )
        from heartfelt.models.prepend import prepender

        module = module_of(recipe.model)
        self.name = folder.name
        self._settings: Any = fill(module.Settings, recipe.settings)[0]
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder / "model")
        self._model = module.load(folder / "model").eval()
        self._label = prepender(folder / "prepend", recipe.prepend.labels) if recipe.prepend else None
        self._weights = sorted((folder / "model").glob("*.safetensors"))

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(repr(self._settings).encode())
        for path in self._weights:
            digest.update(sha256(path).encode())
        return digest.hexdigest()

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> Vectors:
        from heartfelt.models.matcher import encode_context

        window = self._settings.window
        labels = self._labels([" ".join(turn.text for turn in talk[-window:]) for talk in talks])
        ids = [
            encode_context(self._settings, self._tokenizer, talk, label)
            for talk, label in zip(talks, labels, strict=True)
        ]
        return self._vectors(self._model.contexts, ids)

    def replies(self, texts: Sequence[str]) -> Vectors:
        from heartfelt.models.matcher import encode_reply

        ids = [
            encode_reply(self._settings, self._tokenizer, text, label)
            for text, label in zip(texts, self._labels(texts), strict=True)
        ]
        return self._vectors(self._model.replies, ids)

    def _labels(self, texts: Sequence[str]) -> list[str]:
        return self._label(texts) if self._label else [""] * len(texts)

    def _vectors(self, encode: Any, ids: Sequence[list[int]]) -> Vectors:
        """Like lengths together, the longest first; in the order of what was asked."""
        torch = self._torch
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        found: list[Any] = [None] * len(ids)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            longest = len(ids[chosen[0]])
            batch = torch.full((len(chosen), longest), int(self._tokenizer.pad_token_id or 0))
            for row, i in enumerate(chosen):
                batch[row, : len(ids[i])] = torch.tensor(ids[i])
            lengths = torch.tensor([[len(ids[i])] for i in chosen])
            mask = (torch.arange(longest) < lengths).long()
            with torch.no_grad():
                rows = encode(batch, mask).numpy()
            for i, row in zip(chosen, rows, strict=True):
                found[i] = row
        return np.array(found, np.float32)


def matches(folder: Path) -> bool:
    """Is this a run of a model that tells which reply fits?"""
    if not (folder / "recipe.yaml").is_file():
        return False
    return load_recipe(folder / "recipe.yaml").model in MATCHERS
