"""Training with Prepend-k (rashkin2019): a classifier's top labels are put before a text, in words.

Both contexts and replies get them. The classifier is copied into the run folder, which so loads with nothing else.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from heartfelt.models import MODELS, module_of
from heartfelt.models.prepend import Say, prepender
from heartfelt.recipe import Prepend
from heartfelt.training.callbacks import first_process
from heartfelt.training.pairs import Pair
from heartfelt.training.run import Run

_PARTS = ("recipe.yaml", "labels.json", "results.json", "model")  # of a run, all that answering takes


def wrong_with_prepend(prepend: Prepend) -> list[str]:
    run = Run(Path(prepend.run))
    if not (run.folder / "recipe.yaml").is_file():
        return [f"prepend.run: {prepend.run} is not a run folder"]
    if run.results is None:
        return [f"prepend.run: {prepend.run} is not finished"]
    if run.recipe.model not in MODELS or not hasattr(module_of(run.recipe.model), "fit"):
        return [
            f"prepend.run: {prepend.run} is a {run.recipe.model}; a fastText or Naive Bayes run is wanted"
        ]
    most = len(next(iter(run.labels.values())))
    return [] if 1 <= prepend.labels <= most else [f"prepend.labels is between 1 and {most}"]


def prepended(
    splits: Mapping[str, Sequence[Pair]], prepend: Prepend, run: Run, window: int
) -> dict[str, list[Pair]]:
    """All pairs with their labels; the classifier is kept in the run."""
    if first_process():
        keep_classifier(prepend, run)
    say = prepender(Path(prepend.run), prepend.labels)
    return {split: told(pairs, say, window) for split, pairs in splits.items()}


def keep_classifier(prepend: Prepend, run: Run) -> None:
    """Copy it to where the run keeps it."""
    source, target = Path(prepend.run), run.folder / "prepend"
    if target.is_dir():
        return
    scratch = run.folder / "prepend.part"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    for name in _PARTS:
        copy = shutil.copytree if (source / name).is_dir() else shutil.copy2
        copy(source / name, scratch / name)
    scratch.rename(target)


def told(pairs: Sequence[Pair], say: Say, window: int) -> list[Pair]:
    """The pairs with the labels of their contexts and of their replies."""
    if not pairs:
        return []
    contexts = say([" ".join(turn.text for turn in pair.context[-window:]) for pair in pairs])
    replies = say([pair.reply for pair in pairs])
    return [
        pair._replace(context_label=context, reply_label=reply)
        for pair, context, reply in zip(pairs, contexts, replies, strict=True)
    ]
