"""Results to commit: recipe and results of finished runs, a small JSON each, without paths of the machine."""

import dataclasses
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.files import writing
from heartfelt.recipe import Recipe
from heartfelt.training.run import Run, portable

Kept = dict[str, Any]
MEASURED = "measured.json"  # of a run: head → metric → figure, of what was scored after its training


def keep(folders: Sequence[Path], to: Path) -> list[Path]:
    """Write a JSON for each run, or for each folder of seeds (`seed-*`): all of them, or none."""
    kept: dict[Path, Kept] = {}
    for folder in folders:
        path = to / f"{Run(folder).name}.json"
        if path in kept:
            raise InvalidValue(
                f"two of the runs are called {path.stem}; keep them in different folders (--to)"
            )
        kept[path] = summary(folder)
        _refuse_another(path, kept[path])
    for path, value in kept.items():
        with writing(path) as file:
            file.write(_on_few_lines(value) + "\n")
    return list(kept)


def summary(folder: Path) -> Kept:
    """Recipe and results of a finished run; of a folder of seeds, with mean and standard deviation over them."""
    if (folder / "recipe.yaml").is_file():
        run = Run(folder)
        return {"recipe": _values(run.recipe), "results": portable(_finished(run))}
    runs = [Run(path.parent) for path in folder.glob("seed-*/recipe.yaml")]
    if not runs:
        raise MissingData(
            f"{folder} is neither a run folder nor a folder of seeds (seed-*): heartfelt runs list"
        )
    runs.sort(key=lambda run: run.recipe.training.seed)
    first, results = runs[0], [_finished(run) for run in runs]
    for run, found in zip(runs, results, strict=True):
        if _without_seed(run.recipe) != _without_seed(first.recipe):
            raise BadData(f"{run.folder} and {first.folder} differ in more than the seed")
        if found["data"] != results[0]["data"]:
            raise BadData(f"{run.folder} and {first.folder} were trained or scored on different data")
    merged = {
        **{name: value for name, value in results[0].items() if name != "best_step"},
        "scores": over_seeds([found["scores"] for found in results]),
        "minutes": round(statistics.mean(found["minutes"] for found in results), 2),
        "recipe": [found["recipe"] for found in results],
    }
    recipe = _values(first.recipe)
    del recipe["training"]["seed"]
    seeds = [run.recipe.training.seed for run in runs]
    return {"recipe": recipe, "seeds": seeds, "results": portable(merged)}


def over_seeds(every: Sequence[Mapping[str, Any]]) -> Kept:
    """split → head → metric → mean, standard deviation (of a sample), and the values in the order of the seeds."""
    found: Kept = {}
    for split, heads in every[0].items():
        for head, metrics in heads.items():
            place = found.setdefault(split, {}).setdefault(head, {})
            for name in metrics:
                given = [scores[split][head].get(name) for scores in every]
                if name == "items":
                    place[name] = given[0]
                elif all(given):
                    values = [value[0] for value in given]
                    spread = statistics.stdev(values) if len(values) > 1 else None
                    place[name] = {
                        "mean": round(statistics.mean(values), 5),
                        "sd": None if spread is None else round(spread, 5),
                        "values": values,
                    }
    return found


def _values(recipe: Recipe) -> Kept:
    values: Kept = msgspec.to_builtins(portable(recipe))
    for younger in ("start", "prepend"):  # than the results that were kept first
        if not values[younger]:
            del values[younger]
    if values["teacher"] and not values["teacher"]["heads"]:
        del values["teacher"]["heads"]
    return values


def _without_seed(recipe: Recipe) -> Recipe:
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, seed=0))


def _finished(run: Run) -> Kept:
    """What it scored when it was trained, and since."""
    results = run.results
    if results is None:
        raise InvalidValue(f"{run.folder} is not finished: heartfelt train RECIPE --to {run.folder}")
    path = run.folder / MEASURED
    if not path.is_file():
        return results
    try:
        measured = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise BadData(f"{path} is not JSON: {problem}") from None
    scores = results["scores"]
    return {**results, "scores": {**scores, "test": {**scores.get("test", {}), **measured}}}


def _refuse_another(path: Path, new: Kept) -> None:
    """A file of the same recipe is written anew; another one is not overwritten."""
    if not path.exists():
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))["recipe"]
    except (ValueError, KeyError, TypeError):
        raise BadData(f"{path} is there and holds no results; name another folder (--to)") from None
    if before != json.loads(json.dumps(new["recipe"])):
        raise InvalidValue(f"{path} holds results of another recipe; name another folder (--to)")


_NUMBERS = re.compile(r"\[\s+((?:-?[\d.e+-]+|null)(?:,\s+(?:-?[\d.e+-]+|null))*)\s+\]")


def _on_few_lines(value: Kept) -> str:
    """JSON with a line a field, where a list of numbers is one line too: a change of a score is a line of a diff."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: f"[{', '.join(found[1].replace(',', ' ').split())}]", text)
