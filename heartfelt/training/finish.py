"""The end of a training by gradient, the same for language models, retrieval models and re-rankers."""

from collections.abc import Mapping, Sequence
from typing import Any

from heartfelt.training.gradient import Learner
from heartfelt.training.run import Run, environment, write_card
from heartfelt.training.start import started_from


def results_of(
    learner: Learner, scores: Mapping[str, Any], splits: Mapping[str, Sequence[Any]], data: str, **others: Any
) -> dict[str, Any]:
    """What results.json says. data: the hash of what was learned from and scored on."""
    recipe = learner.recipe
    return {
        "task": recipe.task,
        "model": recipe.model,
        "scores": scores,
        "best_step": learner.keeper.best_step,
        "parameters": sum(p.numel() for p in learner.model.parameters()),
        **others,
        "minutes": round(learner.minutes.spent(), 1),
        "items": {split: len(items) for split, items in splits.items()},
        **started_from(recipe),
        "recipe": recipe.hash(),
        "data": data,
        "environment": environment(),
    }


def save_model(learner: Learner) -> None:
    if learner.first_process:
        learner.model.save_pretrained(learner.folder / "model")
        learner.tokenizer.save_pretrained(learner.folder / "model")


def finish(learner: Learner, what: str, results: dict[str, Any]) -> dict[str, Any]:
    """The card, and the results last: a run that has them is finished. The model is saved by then."""
    if learner.first_process:
        run = Run(learner.folder)
        write_card(run, learner.recipe, what, results)
        run.write("results.json", results)
        learner.finish()
    return results
