"""A finished cross-encoder run puts a shortlist in order (torch)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue, MissingData, need
from heartfelt.models import RERANKERS, module_of
from heartfelt.recipe import fill
from heartfelt.recipe import load as load_recipe
from heartfelt.retrieval.embedder import BATCH, Vectors

Pairs = Sequence[tuple[Sequence[Turn], str]]  # contexts and replies


class CrossRun:
    def __init__(self, folder: Path) -> None:
        self._torch = need("torch", "train", "A run folder")
        transformers = need("transformers", "train", "A run folder")
        if not (folder / "model").is_dir() or not (folder / "recipe.yaml").is_file():
            raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
        recipe = load_recipe(folder / "recipe.yaml")
        if recipe.model not in RERANKERS:
            raise InvalidValue(
                f"{folder} ({recipe.model}) does not re-rank: take a run of {' or '.join(RERANKERS)}"
            )
        module = module_of(recipe.model)
        self.name = folder.name
        self._encode: Any = module.encode_pair
        self._settings: Any = fill(module.Settings, recipe.settings)[0]
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder / "model")
        self._model = module.load(folder / "model").eval()

    def __call__(self, pairs: Pairs, step: Callable[[str], None] = lambda _: None) -> Vectors:
        """(pairs,) how well each reply fits its context; only those of one context can be compared."""
        torch = self._torch
        ids = [self._encode(self._settings, self._tokenizer, turns, reply) for turns, reply in pairs]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        found = np.empty(len(ids), np.float32)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            longest = len(ids[chosen[0]])
            batch = torch.full((len(chosen), longest), int(self._tokenizer.pad_token_id or 0))
            for row, i in enumerate(chosen):
                batch[row, : len(ids[i])] = torch.tensor(ids[i])
            lengths = torch.tensor([[len(ids[i])] for i in chosen])
            with torch.no_grad():
                found[chosen] = self._model.scores(batch, (torch.arange(longest) < lengths).long()).numpy()
            step(f"{start + len(chosen):,} of {len(order):,}")
        return found
