"""A finished run answers again: logits for items of its own task or of another one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from heartfelt.agent.encoder import Encoder, read_card
from heartfelt.errors import BadData, InvalidValue, MissingData, UnknownName
from heartfelt.labels import EMOTIONS, GROUPS
from heartfelt.models import MODELS, module_of
from heartfelt.models.precision import computing
from heartfelt.recipe import fill
from heartfelt.training.balance import best_balance
from heartfelt.training.pairs import PAIRS
from heartfelt.training.predictions import Predicted, load
from heartfelt.training.run import Run
from heartfelt.training.scores import by_head, scores
from heartfelt.training.talks import TALKS
from heartfelt.training.tasks import SPLITS, Item, Task, find

Array = NDArray[np.float64]
BATCH = 64


def answers(
    folder: Path,
    items: Sequence[Item],
    step: Callable[[str], None] = lambda _: None,
    kept: Predicted | None = None,
) -> dict[str, Array]:
    """Head → (items, labels) logits of a run folder, or of the folder of an exported encoder.

    A language model answers by the prefix that it would write. What a run was asked before (`kept`) it is not asked
    again. Who tells 32 emotions apart also tells Parrott's six groups: their chances are sums.
    """
    if _exported(folder):
        chances, _ = Encoder(folder)([item.turns for item in items])
        found = {head: np.log(np.maximum(part, 1e-12)).astype(np.float64) for head, part in chances.items()}
    else:
        run = Run(folder)
        if run.results is None:
            raise InvalidValue(
                f"{folder} is not finished: heartfelt train RECIPE --to {folder} goes on with it"
            )
        if run.recipe.task in TALKS:
            from heartfelt.training.by_prefix import emotions

            return {"emotion": emotions(run, EMOTIONS, items, step)}
        logits = _remembered(run, items, step, kept)
        sizes = [len(labels) for labels in run.labels.values()]
        found = dict(zip(run.labels, np.split(logits, np.cumsum(sizes)[:-1], axis=-1), strict=True))
    if "group" in labels_of(folder) and "group" not in found:
        by_emotion = log_softmax(found["emotion"], axis=-1)
        places = [[EMOTIONS.index(name) for name in names] for names in GROUPS.values()]
        found["group"] = np.stack([logsumexp(by_emotion[:, place], axis=-1) for place in places], axis=-1)
    return found


def score(
    folder: Path,
    task: Task,
    split: str,
    data: Path | None = None,
    step: Callable[[str], None] = lambda _: None,
    balanced: bool = False,
) -> dict[str, Any]:
    """What a run, or an exported encoder, scores on a split of a task that has one of its heads.

    balanced: it names labels by heartfelt.training.balance, fitted on valid; "power" tells how far.
    """
    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    asked, items, logits = _on_split(folder, task, split, data, step)
    if not balanced:
        return scores(asked, items, logits)
    _, before, fitted = _on_split(folder, task, "valid", data, step)
    parts, powers = [], {}
    of_valid, of_split = by_head(asked, fitted), by_head(asked, logits)
    for head, labels in asked.heads.items():
        known = [i for i, item in enumerate(before) if item.labels.get(head)]
        gold = np.array([labels.index(before[i].labels[head]) for i in known], np.intp)
        balance = best_balance(of_valid[head][known], gold)
        powers[head] = balance.power
        parts.append(balance(of_split[head]))
    found = scores(asked, items, np.concatenate(parts, axis=-1))
    return {head: {**of_head, "power": powers[head]} for head, of_head in found.items()}


def _on_split(
    folder: Path, task: Task, split: str, data: Path | None, step: Callable[[str], None]
) -> tuple[Task, list[Item], Array]:
    """The task with the heads that the run has, the split's items, and the run's logits for them."""
    items = list(task.read(split, data))
    labels = labels_of(folder)
    heads = {head: wanted for head, wanted in task.heads.items() if tuple(labels.get(head, ())) == wanted}
    if not items or not heads:
        known = f"it knows {', '.join(labels)}" if items else f"its {split} split is empty"
        raise InvalidValue(f"{folder} cannot be scored on {task.name}: {known}")
    asked, kept = replace(task, heads=heads), None
    with suppress(MissingData, BadData):  # none are kept, or they are of other data than that at hand
        kept = None if _exported(folder) or _speaks(folder) else load(Run(folder), split, data)
    return asked, items, fit_for(asked, answers(folder, items, step, kept), labels)


def _speaks(folder: Path) -> bool:
    return Run(folder).recipe.task in TALKS


def labels_of(folder: Path) -> dict[str, list[str]]:
    if not _exported(folder) and _speaks(folder):
        return {"emotion": list(EMOTIONS)}
    found = read_card(folder).heads if _exported(folder) else Run(folder).labels
    heads = {head: list(labels) for head, labels in found.items()}
    if heads.get("emotion") == list(EMOTIONS):
        heads.setdefault("group", list(GROUPS))
    return heads


def _exported(folder: Path) -> bool:
    return (folder / "encoder.json").is_file()


def made_at_last(folder: Path) -> Path:
    """The file that is written last, and anew, whenever the model in this folder is another one."""
    return folder / ("encoder.json" if _exported(folder) else "results.json")


def fit_for(task: Task, found: dict[str, Array], labels: dict[str, list[str]]) -> Array:
    """(items, all classes of a task): a run's answers where it has the task's head, NaN where it has not."""
    items = len(next(iter(found.values())))
    parts = [
        found[head] if tuple(labels.get(head, ())) == wanted else np.full((items, len(wanted)), np.nan)
        for head, wanted in task.heads.items()
    ]
    return np.concatenate(parts, axis=-1)


def _remembered(
    run: Run, items: Sequence[Item], step: Callable[[str], None], kept: Predicted | None
) -> Array:
    """Relative to each head's best, as predictions are kept: it changes no chance."""
    rows = {seen_of(item): row for item, row in zip(kept.items, kept.logits, strict=True)} if kept else {}
    new = [item for item in items if seen_of(item) not in rows]
    if new:
        rows |= zip(map(seen_of, new), logits_of(run, new, step), strict=True)
    return np.array([rows[seen_of(item)] for item in items])


def seen_of(item: Item) -> tuple[Any, ...]:
    """What a model sees of an item: two items with the same are one to it."""
    return item.turns, item.speakers, item.turn_labels


def logits_of(run: Run, items: Sequence[Item], step: Callable[[str], None]) -> Array:
    if run.recipe.model not in MODELS:
        raise InvalidValue(
            f"{run.folder} ({run.recipe.model}) has no model to ask: it keeps what it said of valid and test"
        )
    module = module_of(run.recipe.model)
    if hasattr(module, "fit"):
        fitted = module.load(run.folder / "model")
        return np.asarray(fitted.logits([item.text for item in items]), np.float64)
    from heartfelt.models.backbone import saved_tokenizer
    from heartfelt.training.gradient import encoder

    tokenizer = saved_tokenizer(run.folder / "model")
    settings, _ = fill(module.Settings, run.recipe.settings)
    model = module.load(run.folder / "model").eval()
    if run.recipe.task in PAIRS:
        from heartfelt.training.matching import context_encoder

        ask, encode = model.classify, context_encoder(settings, tokenizer)
    else:
        ask, encode = model, encoder(module, settings, tokenizer, find(run.recipe.task))
    return in_batches(ask, [encode(item) for item in items], int(tokenizer.pad_token_id or 0), step)


def in_batches(
    model: Any, examples: Sequence[dict[str, Any]], pad_id: int, step: Callable[[str], None]
) -> Array:
    """A model's logits for examples, in their order; like lengths together, the longest first."""
    import torch

    from heartfelt.training.batches import padded

    order = sorted(range(len(examples)), key=lambda i: -len(examples[i]["input_ids"]))
    found: list[Array] = [np.empty(0)] * len(examples)
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        batch = padded([examples[i] for i in chosen], pad_id)
        with torch.no_grad(), computing():
            rows = model(**{name: batch[name] for name in batch if name != "labels"})["logits"]
        for i, row in zip(chosen, rows.double().numpy(), strict=True):
            found[i] = row
        step(f"{start + len(chosen):,} of {len(order):,}")
    return np.array(found)
