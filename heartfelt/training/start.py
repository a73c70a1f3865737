"""A training that starts from another one's weights: pre-train, then fine-tune; or learn on from a shipped stage."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.models import module_of
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.run import Run

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers import PreTrainedTokenizerBase as Tokenizer


def wrong_with_start(recipe: Recipe) -> list[str]:
    """What can be known before training."""
    if hasattr(module_of(recipe.model), "fit"):
        return [f"start: {recipe.model} is counted in one go, it cannot start from another run"]
    run = Run(Path(recipe.start))
    if not (run.folder / "recipe.yaml").is_file():
        return [f"start: {recipe.start} is not a run folder"]
    if run.results is None:
        return [f"start: {recipe.start} is not finished"]
    module = module_of(recipe.model)
    if run.recipe.model not in (recipe.model, *getattr(module, "STARTS_FROM", ())):
        return [f"start: {recipe.start} is a {run.recipe.model}, not a {recipe.model}"]
    here = fill(module.Settings, recipe.settings)[0]
    there = fill(module_of(run.recipe.model).Settings, run.recipe.settings)[0]
    return [
        f"start: {recipe.start} has settings.{name} {getattr(there, name)}, and this recipe {getattr(here, name)}"
        for name in getattr(module, "FIXED", ())
        if hasattr(here, name) and hasattr(there, name) and getattr(here, name) != getattr(there, name)
    ]


def started_from(recipe: Recipe) -> dict[str, Any]:
    """For results.json: which training it was, without where it lies."""
    if not recipe.start:
        return {}
    run = Run(Path(recipe.start))
    results = run.results or {}
    return {"start": {"run": run.name, "recipe": results.get("recipe"), "data": results.get("data")}}


def start_from(
    run: Run, model: "PreTrainedModel", tokenizer: "Tokenizer", heads: Mapping[str, Sequence[str]]
) -> None:
    """Give a new model a finished run's weights. Heads that the run lacks, or has for other labels, stay as drawn."""
    from heartfelt.models.backbone import saved_tokenizer

    labels = run.labels if heads and (run.folder / "labels.json").is_file() else {}
    if saved_tokenizer(run.folder / "model").get_vocab() != tokenizer.get_vocab():
        raise BadRecipe(f"start: {run.folder} has another vocabulary than this recipe's checkpoint")
    foreign = tuple(
        f"heads.layers.{head}."
        for head, wanted in heads.items()
        if tuple(labels.get(head, ())) != tuple(wanted)
    )
    given = {
        name: weights
        for name, weights in module_of(run.recipe.model).load(run.folder / "model").state_dict().items()
        if not name.startswith(foreign)
    }
    own = model.state_dict()
    known = {name: weights for name, weights in given.items() if name in own}
    if shaped := [name for name, weights in known.items() if weights.shape != own[name].shape]:
        raise BadRecipe(f"start: {run.folder} has another size at {shaped[0]}")
    drawn = ("heads.", *getattr(model, "drawn", ()))  # what may stay as it was drawn
    missing = [name for name in own if name not in known and not name.startswith(drawn)]
    if missing:
        raise BadRecipe(f"start: {run.folder} is another model, it has no {missing[0]}")
    model.load_state_dict(known, strict=False)
