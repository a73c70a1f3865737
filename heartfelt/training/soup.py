"""Several finished runs as one model: the mean of their weights (Wortsman et al. 2022). Nothing is trained.

Unlike an ensemble it is no larger than one of them, so it can be shipped. It holds for runs that started alike (one
`start`, other seeds), and for a run and the one that it started from: their weights lie close together, and the mean of
distant ones would know nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heartfelt.errors import InvalidValue
from heartfelt.models import MODELS, module_of
from heartfelt.training import predictions
from heartfelt.training.engine import data_hash, finish
from heartfelt.training.ensemble import named, refuse_too_few
from heartfelt.training.pairs import PAIRS
from heartfelt.training.predict import logits_of
from heartfelt.training.run import Run, environment, open_run
from heartfelt.training.scores import scores
from heartfelt.training.talks import TALKS
from heartfelt.training.tasks import SPLITS, find


def soup(
    runs: Sequence[Run], to: Path, data: Path | None = None, step: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Average the weights of runs into a run folder; returns its results."""
    refuse_too_few(runs)
    first, *others = runs
    _refuse_different(first, others)
    names = ", ".join(run.name for run in runs)
    recipe = replace(first.recipe, note=f"The mean of the weights of {names}. {first.recipe.note}".strip())
    run = open_run(to, recipe)
    if run.results is not None:
        if run.results["averaged"] != [named(each) for each in runs]:
            raise InvalidValue(
                f"{to} holds the mean of other runs of these names; choose another folder (--to)"
            )
        return run.results
    model, tokenizer = _mean_model(runs)
    model.save_pretrained(to / "model")
    tokenizer.save_pretrained(to / "model")
    task = find(recipe.task)
    splits = {split: list(task.read(split, data)) for split in SPLITS}
    measured = {}
    for split in SPLITS[1:]:
        if items := splits[split]:
            found = logits_of(run, items, step)
            measured[split] = scores(task, items, found)
            predictions.save(run, split, task, items, found)
    results = {
        "task": task.name,
        "model": recipe.model,
        "scores": measured,
        "averaged": [named(each) for each in runs],
        "parameters": sum(p.numel() for p in model.parameters()),
        "minutes": round(sum((each.results or {})["minutes"] for each in runs), 1),
        "items": {split: len(items) for split, items in splits.items()},
        "recipe": recipe.hash(),
        "data": data_hash(splits),
        "environment": environment(),
    }
    finish(run, recipe, task, results)
    return results


def _refuse_different(first: Run, others: Sequence[Run]) -> None:
    recipe = first.recipe
    if recipe.model not in MODELS or hasattr(module_of(recipe.model), "fit"):
        raise InvalidValue(f"{first.folder} ({recipe.model}) has no weights that can be averaged")
    if recipe.task in PAIRS or recipe.task in TALKS:
        raise InvalidValue(f"{first.folder} ({recipe.task}) is no classifier: only those are averaged so far")
    for run in (first, *others):
        if run.results is None:
            raise InvalidValue(
                f"{run.folder} is not finished: heartfelt train RECIPE --to {run.folder} goes on with it"
            )
        if (run.recipe.model, run.recipe.settings) != (recipe.model, recipe.settings) or (
            run.labels != first.labels
        ):
            raise InvalidValue(f"{run.folder} is another model, or for other labels, than {first.folder}")
        began = {Path(one.recipe.start).name for one in (run, first)}
        if len(began) > 1 and not began & {run.name, first.name}:
            raise InvalidValue(
                f"{run.folder} and {first.folder} did not start from the same run, nor one from the other"
            )


def _mean_model(runs: Sequence[Run]) -> tuple[Any, Any]:
    from heartfelt.models.backbone import saved_tokenizer

    first, *others = runs
    tokenizer = saved_tokenizer(first.folder / "model")
    load = module_of(first.recipe.model).load
    model = load(first.folder / "model")
    weights = model.state_dict()
    for run in others:
        if saved_tokenizer(run.folder / "model").get_vocab() != tokenizer.get_vocab():
            raise InvalidValue(f"{run.folder} has another vocabulary than {first.folder}")
        for name, tensor in load(run.folder / "model").state_dict().items():
            weights[name] = weights[name] + tensor
    mean = {
        name: tensor / len(runs) if tensor.is_floating_point() else tensor // len(runs)
        for name, tensor in weights.items()
    }
    model.load_state_dict(mean)
    return model.eval(), tokenizer
