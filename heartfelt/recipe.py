"""A recipe says how to train one thing: what task, which model, with which numbers. YAML in, dataclasses out.

    task: situations
    model: encoder_classifier
    settings: {checkpoint: minilm}
    training: {epochs: 4, batch_size: 64}

All problems are reported at once. `--set training.epochs=1` changes one value.
"""

import dataclasses
import hashlib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from heartfelt.errors import HeartfeltError, MissingData

T = TypeVar("T")


class BadRecipe(HeartfeltError):
    """A recipe with problems: all of them, in one line."""


@dataclass(frozen=True)
class Training:
    """How long and how fast to learn."""

    epochs: float = 3.0
    max_steps: int | None = None  # stop after this many steps, whatever the epochs say
    batch_size: int = 32  # over all processes
    learning_rate: float = 1e-4
    head_learning_rate: float | None = None  # for what is not pretrained; the same where left out
    warmup_share: float = 0.06  # of all steps
    weight_decay: float = 0.01
    label_smoothing: float = 0.0
    clip: float = 1.0  # gradient norm
    seed: int = 0
    evaluate_every: int = 200  # steps; the best state by `metric` is the one that is kept
    evaluate_on: int | None = None  # so many items of the valid split, drawn once; all of them where left out
    metric: str = "loss"  # of the valid split: "loss", or a head's accuracy such as "emotion_accuracy"
    patience: int | None = None  # stop after this many evaluations without a better one
    checkpoint_minutes: float = 5.0  # a killed run loses no more than this


@dataclass(frozen=True)
class Teacher:
    """Finished runs whose chances the model learns beside the labels (Hinton et al. 2015)."""

    runs: tuple[str, ...]  # folders; of several, the mean of their chances
    weight: float = 0.5  # of the teacher's word; a label has the rest, or all if no teacher has the head
    temperature: float = 2.0  # flattens both sides' chances, so that small ones count
    heads: tuple[str, ...] = ()  # what they are heard on; all that they know where left out


@dataclass(frozen=True)
class Prepend:
    """A finished classifier whose likeliest labels are put before each text (rashkin2019's Prepend-k)."""

    run: str  # its folder
    labels: int = 1  # k


@dataclass(frozen=True)
class Recipe:
    task: str  # a name in training's TASKS, TALKS or PAIRS
    model: str  # a name in models.MODELS
    settings: Mapping[str, Any] = field(default_factory=dict)  # the model's own numbers
    training: Training = field(default_factory=Training)
    teacher: Teacher | None = None
    start: str = (
        ""  # a finished run of the same model whose weights are the first ones: pre-train, then fine-tune
    )
    prepend: Prepend | None = None
    concepts: str = (
        ""  # a file of heartfelt concepts --corpus: what is known of each context (liu2021's CKECE)
    )
    segment: str = (
        ""  # who cuts Arabic words into clitics: plain, farasa, farasapy or none (heartfelt/arabic)
    )
    extra: tuple[str, ...] = ()  # files of labelled turns that join train; for a task with the head "label"
    paper: str = ""  # which row of which paper this is, e.g. "joint2021: BERT"
    note: str = ""  # what stands in for what

    def hash(self) -> str:
        """What distinguishes this recipe from another: its values, not its file, nor whether 6 is written as 6.0."""
        return hashlib.sha256(dump(parse(dump(self))).encode()).hexdigest()[:12]


def load(path: Path | str, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe from a YAML file; `changes` are like "training.epochs=1"."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise MissingData(f"The recipe {path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise BadRecipe(f"{path} is not UTF-8 text") from None
    return parse(text, changes, str(path))


def parse(text: str, changes: Sequence[str] = (), where: str = "recipe") -> Recipe:
    try:
        values = yaml.safe_load(text)
    except RecursionError:
        raise BadRecipe(f"{where} is nested too deeply for a recipe") from None
    except yaml.YAMLError as problem:
        raise BadRecipe(f"{where} is not YAML: {' '.join(str(problem).split())}") from None
    if not isinstance(values, dict):
        raise BadRecipe(f"{where} should be a mapping with task, model, settings and training")
    for change in changes:
        _change(values, change)
    recipe, problems = fill(Recipe, values)
    if problems or recipe is None:
        raise BadRecipe(f"{where}: {'; '.join(problems)}")
    return recipe


def dump(recipe: Recipe) -> str:
    """The whole recipe with its defaults, as YAML: what a run folder keeps."""
    values = msgspec.to_builtins(recipe)
    for younger in (
        "teacher",
        "start",
        "prepend",
        "concepts",
        "segment",
        "extra",
    ):  # than the first run folders, whose hashes must not change
        if not values[younger]:
            del values[younger]
    if not values.get("teacher", {}).get("heads", True):
        del values["teacher"]["heads"]
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True)


def fill(kind: type[T], values: Mapping[str, Any], prefix: str = "") -> tuple[T | None, list[str]]:
    """Make a dataclass from a mapping. Returns it, or None, and everything that is wrong with the mapping."""
    problems: list[str] = []
    arguments: dict[str, Any] = {}
    types = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in fields:
            problems.append(f"there is no {prefix}{name}; there is {', '.join(fields)}")
    for name, spec in fields.items():
        if name not in values:
            if spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
                problems.append(f"{prefix}{name} is missing")
            continue
        value, wanted = values[name], types[name]
        group = next(filter(dataclasses.is_dataclass, (wanted, *typing.get_args(wanted))), None)
        if group and isinstance(value, Mapping):
            arguments[name], inner = fill(typing.cast(type[Any], group), value, f"{prefix}{name}.")
            problems += inner
            continue
        if group and typing.get_origin(wanted) is tuple and isinstance(value, list):
            made = [
                _filled(typing.cast(type[Any], group), one, f"{prefix}{name}[{i}]")
                for i, one in enumerate(value)
            ]
            arguments[name] = tuple(one for one, _ in made)
            problems += [problem for _, inner in made for problem in inner]
            continue
        try:
            arguments[name] = msgspec.convert(value, wanted, strict=False)
        except msgspec.ValidationError as problem:
            problems.append(f"{prefix}{name}: {str(problem)[0].lower()}{str(problem)[1:]}")
    return (None if problems else kind(**arguments)), problems


def _filled(kind: type[T], value: Any, name: str) -> tuple[T | None, list[str]]:
    """One of a list of dataclasses."""
    if not isinstance(value, Mapping):
        return None, [f"{name}: expected a mapping"]
    return fill(kind, value, f"{name}.")


def _change(values: dict[str, Any], change: str) -> None:
    path, sign, value = change.partition("=")
    *above, last = path.strip().split(".")
    if not sign or not last:
        raise BadRecipe(f"--set takes name=value, e.g. training.epochs=1, not '{change}'")
    for name in above:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise BadRecipe(f"--set {path}: '{name}' is a single value, not a group")
    try:
        values[last] = yaml.safe_load(value)
    except yaml.YAMLError as problem:
        raise BadRecipe(f"--set {path}: '{value}' is not YAML: {' '.join(str(problem).split())}") from None
