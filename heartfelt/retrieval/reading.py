"""What retrieval takes from a finished run: its model, tokenizer and settings; and texts read in batches (torch)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData, need
from heartfelt.models import module_of
from heartfelt.models.precision import computing
from heartfelt.recipe import Recipe, fill
from heartfelt.recipe import load as load_recipe

BATCH = 32  # texts at once: of more, what is computed does not stay in the cache


class Reader(NamedTuple):
    recipe: Recipe
    settings: Any  # the model's own
    tokenizer: Any
    model: Any


def open_reader(folder: Path, kinds: Sequence[str], purpose: str) -> Reader:
    """A finished run of one of these models."""
    need("torch", "train", "A run folder")
    need("transformers", "train", "A run folder")
    from heartfelt.models.two_tokenizers import open_tokenizer

    if not (folder / "model").is_dir() or not (folder / "recipe.yaml").is_file():
        raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
    recipe = load_recipe(folder / "recipe.yaml")
    if recipe.model not in kinds:
        raise InvalidValue(
            f"{folder} ({recipe.model}) does not {purpose}: take a run of {' or '.join(kinds)}"
        )
    module = module_of(recipe.model)
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if problems:
        raise BadData(f"{folder / 'recipe.yaml'}: {'; '.join(problems)}")
    try:
        tokenizer = open_tokenizer(folder / "model")
        model = module.load(folder / "model").eval()
    except HeartfeltError:
        raise
    except Exception as problem:  # transformers, safetensors and tokenizers each have errors of their own
        first = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise BadData(f"{folder / 'model'} cannot be loaded: {first}") from None
    return Reader(recipe, settings, tokenizer, model)


def in_batches(
    reader: Reader,
    ids: Sequence[list[int]],
    encode: Callable[[Any, Any], Any],
    step: Callable[[str], None] = lambda _: None,
) -> NDArray[np.float32]:
    """What `encode` (ids, mask) says of each text, in their order; like lengths together, the longest first."""
    torch = need("torch", "train", "A run folder")
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    found: list[Any] = [None] * len(ids)
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        longest = len(ids[chosen[0]])
        batch = torch.full((len(chosen), longest), int(reader.tokenizer.pad_token_id or 0))
        for row, i in enumerate(chosen):
            batch[row, : len(ids[i])] = torch.tensor(ids[i])
        lengths = torch.tensor([[len(ids[i])] for i in chosen])
        with torch.no_grad(), computing():
            rows = encode(batch, (torch.arange(longest) < lengths).long()).float().numpy()
        for i, row in zip(chosen, rows, strict=True):
            found[i] = row
        step(f"{start + len(chosen):,} of {len(order):,}")
    return np.array(found, np.float32)
