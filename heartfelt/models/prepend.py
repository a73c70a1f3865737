"""Prepend-k (rashkin2019): a classifier's top labels, in words, for another model to read before a text."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from heartfelt.models import module_of
from heartfelt.recipe import load as load_recipe

Say = Callable[[Sequence[str]], list[str]]  # texts → what is put before each


def prepender(folder: Path, count: int) -> Say:
    """The likeliest labels by a finished run, the likeliest first: "sad lonely", "sci space"."""
    (labels,) = json.loads((folder / "labels.json").read_text(encoding="utf-8")).values()
    spoken = [" ".join(re.findall(r"\w+", label)) for label in labels]
    fitted = module_of(load_recipe(folder / "recipe.yaml").model).load(folder / "model")

    def say(texts: Sequence[str]) -> list[str]:
        if not texts:
            return []
        best = np.argsort(-np.asarray(fitted.logits(list(texts))), axis=-1, kind="stable")[:, :count]
        return [" ".join(spoken[place] for place in row) for row in best]

    return say
