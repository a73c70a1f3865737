"""A run folder: everything that a training was and gave. It can be moved, and loads with no other argument.

recipe.yaml      the whole recipe, defaults included
labels.json      head → labels, in the order of the model's outputs
model/           weights and tokenizer, the best state on the valid split
metrics.jsonl    a line a step: loss, learning rate; a line an evaluation
results.json     scores on test (and valid, of labels), minutes, hashes of recipe and data, environment
predictions/     what the model said of every item of a split: ids, labels, logits
README.md        the model card
checkpoints/     where an unfinished training goes on from
"""

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import metadata
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar, cast

from heartfelt.errors import BadData, HeartfeltError, MissingData
from heartfelt.files import writing
from heartfelt.models.precision import precision
from heartfelt.recipe import Recipe, dump, parse

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    folder: Path

    @property
    def name(self) -> str:
        """nb for runs/nb, nb-seed-1 for runs/nb/seed-1."""
        whole = self.folder.resolve()
        return f"{whole.parent.name}-{whole.name}" if whole.name.startswith("seed-") else whole.name

    @property
    def recipe(self) -> Recipe:
        path = self.folder / "recipe.yaml"
        if not path.is_file():
            raise MissingData(
                f"{self.folder} is not a run folder: it has no recipe.yaml (heartfelt runs list)"
            )
        return parse(path.read_text(encoding="utf-8"), where=str(path))

    @property
    def results(self) -> dict[str, Any] | None:
        """What it scored, or None while it is not finished."""
        path = self.folder / "results.json"
        return self._json(path) if path.is_file() else None

    @property
    def labels(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self._json(self.folder / "labels.json")
        return found

    def _json(self, path: Path) -> Any:
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise MissingData(f"There is no {path}") from None
        except ValueError as problem:
            raise BadData(f"{path} is not JSON: {problem}") from None

    def write(self, name: str, value: Any) -> None:
        with writing(self.folder / name) as file:
            json.dump(value, file, indent=2, ensure_ascii=False)
            file.write("\n")


def open_run(folder: Path, recipe: Recipe) -> Run:
    """The run folder for a recipe: a new one, or the one that this very recipe began."""
    run = Run(folder)
    if os.environ.get("RANK", "0") != "0":  # under torchrun the first process opens the folder for all
        return run
    if (folder / "recipe.yaml").exists():
        if run.recipe.hash() != recipe.hash():
            raise HeartfeltError(f"{folder} holds a run of another recipe; choose another folder (--to)")
        return run
    if folder.exists() and any(folder.iterdir()):
        raise HeartfeltError(f"{folder} is not empty and not a run folder; choose another one (--to)")
    with writing(folder / "recipe.yaml") as file:
        file.write(dump(recipe))
    return run


def finished(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """What this very recipe scored in this folder, if it is done."""
    run = Run(folder)
    if not (folder / "recipe.yaml").is_file() or run.results is None or run.recipe.hash() != recipe.hash():
        return None
    return run.results


def runs_below(folder: Path) -> list[Run]:
    """A run's own classifier (Prepend-k) is a part of it, and not listed."""
    found = [path.parent for path in sorted(folder.rglob("recipe.yaml"))]
    return [Run(path) for path in found if path.name != "prepend" or path.parent not in found]


def write_card(run: Run, recipe: Recipe, what: str, results: dict[str, Any]) -> None:
    """README.md: what this model is, how it was made, what it scores, and where it must not be used."""
    lines = [f"# {run.folder.name}", "", f"Task: {what}. Model: {recipe.model}.", ""]
    lines += [f"{text}\n" for text in (recipe.paper, recipe.note) if text]
    lines += ["| split | head | metric | value | 95 % interval |", "|---|---|---|---|---|"]
    for split, heads in results["scores"].items():
        for head, metrics in heads.items():
            for name, found in metrics.items():
                if name != "items":
                    value, low, high = found
                    between = "–" if low is None else f"{low:.4f} to {high:.4f}"  # one dialogue only
                    lines.append(f"| {split} | {head} | {name} | {value:.4f} | {between} |")
    facts = [f"{results['parameters']:,} parameters", f"{results['minutes']} minutes of training"]
    facts += [f"recipe {results['recipe']}", f"data {results['data']}"]
    lines += ["", "; ".join(facts) + ".", "", "```yaml", dump(recipe).rstrip(), "```", ""]
    lines += [
        "Trained on EmpatheticDialogues (CC BY-NC 4.0): no commercial use. It labels text as crowd workers of one",
        "country named feelings; it does not diagnose, and must not decide about people.",
        "",
    ]
    with writing(run.folder / "README.md") as file:
        file.write("\n".join(lines))


# A path inside a text: a slash, a name, and another slash at least; not the slashes of an address.
_PATH = re.compile(r"(?<![\w.:/~])~?/(?:[^\s/'\",;]+/)+[^\s/'\",;]*")


def portable(value: T) -> T:
    """The same value without paths of a machine: of an absolute path only its last name is left.

    Takes a recipe, or what JSON can hold. Names of the model hub (`owner/name`) and addresses stay.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: portable(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, Mapping):
        return cast(T, {key: portable(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return cast(T, type(value)(portable(inner) for inner in value))
    if isinstance(value, str):
        return cast(T, _without_paths(value))
    return value


def _without_paths(text: str) -> str:
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(text)
        if path.is_absolute() or path.parts[:1] in (("~",), ("..",)):
            return path.name or "…"
    return _PATH.sub(lambda found: PurePosixPath(found[0]).name, text)


def environment() -> dict[str, str]:
    """What a result depends on besides recipe and data."""
    packages = ("heartfelt", "torch", "transformers", "accelerate", "numpy", "scikit-learn")
    found = {"python": platform.python_version(), "machine": f"{platform.machine()}, {platform.system()}"}
    if precision() != "fp32":
        found["precision"] = precision()
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
