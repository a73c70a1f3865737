"""Training retrieval models: pairs in, how often the right reply is found out; the rest is the engine's."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.errors import InvalidValue
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.models.heads import UNLABELLED
from heartfelt.models.matcher import encode_context, encode_reply
from heartfelt.models.prepend import prepender
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.retrieval.embedder import MatcherRun
from heartfelt.text import same_key
from heartfelt.training.batches import padded
from heartfelt.training.gradient import Encode, Learner
from heartfelt.training.pairs import HEADS, PAIRS, Pair, PairTask
from heartfelt.training.prepend import keep_classifier, told, wrong_with_prepend
from heartfelt.training.run import Run, environment, open_run, write_card
from heartfelt.training.start import start_from, started_from, wrong_with_start

Vectors = NDArray[np.floating[Any]]
RIVALS = 99  # other replies among which the right one is to be found
METRICS = ("p_at_1", "mrr")
PART = 1024  # pairs encoded between two steps of the progress bar


def train_matching(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = PAIRS[recipe.task]
    settings = _check(recipe, module, task)
    run = open_run(folder, recipe)
    splits = {split: list(task.read(split, data)) for split in ("train", "valid", "test")}
    if recipe.prepend:
        keep_classifier(recipe.prepend, run)
        say = prepender(folder / "prepend", recipe.prepend.labels)
        splits = {split: told(pairs, say, settings.window) for split, pairs in splits.items()}
    set_seed(recipe.training.seed)
    texts = [text for pair in splits["train"] for text in (pair.context[-1].text, pair.reply)]
    model, tokenizer = module.build(settings, {head: len(HEADS[head]) for head in settings.heads}, texts)
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, {head: HEADS[head] for head in settings.heads})
    learner = Learner(
        folder, recipe, model, tokenizer, encoder(settings, tokenizer), found_on_valid,
        collate=padded_pairs, like_lengths=False,
    )  # fmt: skip
    learner.learn(splits["train"], splits["valid"], watch)
    vectors = learner.logits(splits["test"])
    results = {
        "task": task.name,
        "model": recipe.model,
        "scores": {"test": {"replies": scores(splits["test"], vectors)}},
        "best_step": learner.keeper.best_step,
        "parameters": sum(p.numel() for p in model.parameters()),
        "minutes": round(learner.minutes.spent(), 1),
        "items": {split: len(pairs) for split, pairs in splits.items()},
        **started_from(recipe),
        "recipe": recipe.hash(),
        "data": data_hash(splits),
        "environment": environment(),
    }
    if learner.first_process:
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        write_card(run, recipe, task.what, results)
        run.write("results.json", results)
        learner.finish()
    return results


def _check(recipe: Recipe, module: ModuleType, task: PairTask) -> Any:
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if not hasattr(module.Settings, "max_reply_tokens"):
        problems.append(f"{recipe.model} does not match replies, and {task.name} is about which reply fits")
    if recipe.training.metric not in ("loss", "p_at_1"):
        problems.append(f"training.metric is loss or p_at_1, not {recipe.training.metric}")
    for name in ("teacher", "extra"):
        if getattr(recipe, name):
            problems.append(f"{name}: a retrieval model learns from pairs alone")
    if unknown := [head for head in getattr(settings, "heads", ()) if head not in HEADS]:
        problems.append(f"settings.heads: pairs have {', '.join(HEADS)}, not {', '.join(unknown)}")
    if recipe.start:
        problems += wrong_with_start(recipe)
    if recipe.prepend:
        problems += wrong_with_prepend(recipe.prepend)
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    return settings


def encoder(settings: Any, tokenizer: Tokenizer) -> Encode:
    """How a pair becomes tokens, and numbers by which equal replies and equal contexts are known."""
    seen: dict[str, int] = {}
    ids = {head: {label: i for i, label in enumerate(HEADS[head])} for head in settings.heads}

    def encode(pair: Pair) -> dict[str, Any]:
        context = "\n".join(turn.text for turn in pair.context[-settings.window :])
        groups = [seen.setdefault(same_key(text), len(seen)) for text in (pair.reply, context)]
        labels = [ids[head].get(pair.labels.get(head, ""), UNLABELLED) for head in ids]
        return {
            "input_ids": encode_context(settings, tokenizer, pair.context, pair.context_label),
            "reply_ids": encode_reply(settings, tokenizer, pair.reply, pair.reply_label),
            "labels": groups + labels,
        }

    return encode


def padded_pairs(examples: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Tensor]:
    contexts = padded([{name: e[name] for name in ("input_ids", "labels")} for e in examples], pad_id)
    replies = padded([{"input_ids": e["reply_ids"]} for e in examples], pad_id)
    return contexts | {"reply_ids": replies["input_ids"], "reply_mask": replies["attention_mask"]}


def rivals_of(count: int, seed: int = 0) -> NDArray[np.intp]:
    """(count, up to 99): for each pair the places of other ones, drawn at random."""
    draw = np.random.default_rng(seed)
    size = min(RIVALS, count - 1)
    rows = np.stack([draw.choice(count - 1, size, replace=False) for _ in range(count)])
    return rows + (rows >= np.arange(count)[:, None])  # past the pair itself


def fits(vectors: Vectors) -> tuple[NDArray[np.intp], Vectors]:
    """Of (pairs, 2, size) vectors: which replies each context is shown, the right one first, and their scores."""
    places = np.concatenate([np.arange(len(vectors))[:, None], rivals_of(len(vectors))], 1)
    contexts, replies = vectors[:, 0], vectors[:, 1]
    rows = [replies[place] @ context for place, context in zip(places, contexts, strict=True)]
    return places, np.stack(rows)


def found_on_valid(predicted: EvalPrediction) -> dict[str, float]:
    places, found = fits(np.asarray(predicted.predictions))
    groups = np.asarray(predicted.label_ids)[:, 0][places]
    rival = groups != groups[:, :1]
    return {"p_at_1": float(100 * (np.where(rival, found, -np.inf).max(1) < found[:, 0]).mean())}


def scores(pairs: Sequence[Pair], vectors: Vectors) -> dict[str, Any]:
    """Metric → [value, low, high]: how often the right reply is first among 99 others; intervals by dialogue."""
    places, found = fits(vectors)
    rows = [
        Output(
            pair.dialogue, pair.turn, candidates=tuple(pairs[place].reply for place in row),
            scores=tuple(numbers.tolist()), answer=0,
        )
        for pair, row, numbers in zip(pairs, places, found, strict=True)
    ]  # fmt: skip
    result = evaluate(Outputs(Header(system="replies"), tuple(rows)), METRICS, 1000).scores
    return {
        name: [None if n is None else round(n, 4) for n in (score.value, score.low, score.high)]
        for name, score in result.items()
    } | {"items": len(rows)}


def score(
    run: Run, task: PairTask, split: str, data: Path | None, step: Callable[[str], None]
) -> dict[str, Any]:
    """What a finished retrieval run scores on the pairs of any corpus."""
    pairs = list(task.read(split, data))
    if len(pairs) < 2:
        raise InvalidValue(f"The {split} split of {task.name} has {len(pairs)} pairs: nothing to choose from")
    return {"replies": scores(pairs, vectors_of(run, pairs, step))}


def vectors_of(run: Run, pairs: Sequence[Pair], step: Callable[[str], None]) -> Vectors:
    """(pairs, 2, size) by a finished run, in the order of the pairs."""
    encode = MatcherRun(run.folder)
    parts = []
    for start in range(0, len(pairs), PART):
        part = pairs[start : start + PART]
        vectors = encode.contexts([p.context for p in part]), encode.replies([p.reply for p in part])
        parts.append(np.stack(vectors, 1))
        step(f"{start + len(part):,} of {len(pairs):,}")
    return np.concatenate(parts)


def data_hash(splits: Mapping[str, Sequence[Pair]]) -> str:
    digest = hashlib.sha256()
    for split, pairs in splits.items():
        for pair in pairs:
            texts = [turn.text for turn in pair.context]
            digest.update(repr((split, texts, pair.reply, sorted(pair.labels.items()))).encode())
    return digest.hexdigest()[:12]
