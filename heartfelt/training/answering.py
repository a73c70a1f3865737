"""Training models that write replies: pairs in, perplexity of human replies out; the rest is the engine's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.arabic import SEGMENTERS
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.models.answerer import encode_pair, in_batch
from heartfelt.models.heads import UNLABELLED
from heartfelt.models.segmenting import Segmenting, segmenting
from heartfelt.models.two_tokenizers import open_tokenizer
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.finish import finish, results_of, save_model
from heartfelt.training.gradient import Encode, Learner
from heartfelt.training.matching import data_hash
from heartfelt.training.pairs import PAIRS, Pair, PairTask
from heartfelt.training.prepend import prepended, wrong_with_prepend
from heartfelt.training.run import Run, open_run
from heartfelt.training.scores import scores as score_labels
from heartfelt.training.start import start_from, wrong_with_start
from heartfelt.training.tasks import SPLITS, TASKS, Item

METRICS = ("ppl", "ppl_word", "bits_per_byte", "ppl_reply_mean")
Array = NDArray[np.floating[Any]]


def train_answering(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = PAIRS[recipe.task]
    settings = _check(recipe, module, task)
    run = open_run(folder, recipe)
    splits = {split: [pair for pair in task.read(split, data) if pair.reply] for split in SPLITS}
    if recipe.prepend:
        splits = prepended(splits, recipe.prepend, run, settings.window)
    if recipe.concepts:
        splits = known(splits, Path(recipe.concepts))
    set_seed(recipe.training.seed)
    heads = {head: task.heads[head] for head in settings.heads}
    texts = [
        text for pair in splits["train"] for text in (pair.context[-1].text, pair.reply, pair.context_label)
    ]
    given = {"tokenizer": open_tokenizer(Path(recipe.start) / "model")} if recipe.start else {}
    counts: dict[str, int] = {}
    if (
        recipe.segment and not recipe.start
    ):  # a run that is started from brings its segmenter with its tokenizer
        texts, counts = segmenting(recipe.segment, texts)
    classes = {head: len(labels) for head, labels in heads.items()}
    model, tokenizer = module.build(settings, classes, texts, **given)
    model.begin_with(tokenizer)
    if recipe.segment and not recipe.start:
        tokenizer = Segmenting(tokenizer, recipe.segment, counts)
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, heads)
    encode = encoder(module, settings, tokenizer, heads)
    learning = encoder(module, settings, tokenizer, heads, getattr(settings, "open_share", 0.0))
    learner = Learner(folder, recipe, model, tokenizer, encode, perplexity, learning, collate=in_batch)
    learner.learn(splits["train"], splits["valid"], watch)
    found = learner.logits(splits["test"])
    scores: dict[str, Any] = {"replies": likelihoods(splits["test"], found[:, 0], encode)}
    if heads:
        labelled = replace(TASKS[task.labelled], heads=dict(heads))
        scores |= score_labels(labelled, [_item(pair) for pair in splits["test"]], found[:, 1:])
    save_model(learner)
    if learner.first_process:
        run.write("labels.json", {head: list(labels) for head, labels in heads.items()})
    return finish(learner, task.what, results_of(learner, {"test": scores}, splits, data_hash(splits)))


def _check(recipe: Recipe, module: ModuleType, task: PairTask) -> Any:
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if recipe.training.metric not in ("loss", "ppl"):
        problems.append(f"training.metric is loss or ppl, not {recipe.training.metric}")
    if recipe.teacher:
        problems.append("teacher: a model that writes replies learns from people's")
    if recipe.extra:
        problems.append("extra: a model that writes replies learns from pairs, not from extra turns")
    if recipe.training.label_smoothing:
        problems.append("training.label_smoothing is for classifiers")
    if unknown := [head for head in getattr(settings, "heads", ()) if head not in task.heads]:
        known = f"{task.name} has {', '.join(task.heads) or 'no labels'}"
        problems.append(f"settings.heads: {known}, not {', '.join(unknown)}")
    second = getattr(settings, "second", "")
    if second and Run(Path(second)).results is None:
        problems.append(f"settings.second: {second} is not a finished run of encoder_classifier")
    if recipe.segment and recipe.segment not in SEGMENTERS:
        problems.append(f"segment: there is {', '.join(SEGMENTERS)}, not {recipe.segment}")
    if recipe.start:
        problems += wrong_with_start(recipe)
        if not problems and Run(Path(recipe.start)).recipe.segment != recipe.segment:
            problems.append(
                f"segment: {recipe.start} was trained with '{Run(Path(recipe.start)).recipe.segment}'"
            )
    if recipe.prepend:
        problems += wrong_with_prepend(recipe.prepend)
        if hasattr(module, "encode"):
            problems.append(f"prepend: {recipe.model} is told of each turn in its own way")
    if bool(recipe.concepts) != bool(getattr(settings, "concepts", 0)):
        problems.append(
            "concepts: a file of them goes with settings.concepts, the tokens that they may have (encoder_decoder)"
        )
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    return settings


def known(splits: Mapping[str, Sequence[Pair]], file: Path) -> dict[str, list[Pair]]:
    """The same pairs with what the file says of their contexts; it must know them all."""
    from heartfelt.knowledge.ckece import document
    from heartfelt.knowledge.extracted import plain_of, read

    concepts = read(file)[1]
    missing = sum(document(pair.context) not in concepts for pairs in splits.values() for pair in pairs)
    if missing:
        raise BadRecipe(
            f"concepts: {file} lacks {missing:,} contexts: heartfelt concepts --corpus empathetic_dialogues "
            f"--split SPLIT --to {file}, once for each split"
        )
    return {
        split: [pair._replace(concepts=plain_of(concepts[document(pair.context)])) for pair in pairs]
        for split, pairs in splits.items()
    }


def encoder(
    module: ModuleType,
    settings: Any,
    tokenizer: Any,
    heads: Mapping[str, Sequence[str]],
    open_share: float = 0.0,
) -> Encode:
    """How a pair becomes tokens, and labels: how many tokens of the reply are said, then those of the heads.

    open_share: of the replies that come without their label; which ones, their names decide and not chance.
    """
    ids = {head: {label: i for i, label in enumerate(labels)} for head, labels in heads.items()}

    def encode(pair: Pair) -> dict[str, Any]:
        name = f"{pair.dialogue}:{pair.turn}"
        hidden = crc32(name.encode()) % 1000 < 1000 * open_share
        plan = None if hidden else pair.labels.get("plan")
        tokens = encode_pair(
            module,
            settings,
            tokenizer,
            pair.context,
            pair.reply,
            pair.context_label,
            plan or None,
            pair.concepts,
        )
        labels = [ids[head].get(pair.labels.get(head, ""), UNLABELLED) for head in ids]
        return {**tokens, "labels": [len(tokens["reply_ids"]) - 1, *labels]}

    return encode


def perplexity(predicted: EvalPrediction) -> dict[str, float]:
    nats, tokens = np.asarray(predicted.predictions)[:, 0], np.asarray(predicted.label_ids)[:, 0]
    return {"ppl": float(np.exp(nats.sum() / tokens.sum()))}


def likelihoods(pairs: Sequence[Pair], nats: Array, encode: Encode) -> dict[str, Any]:
    """Metric → [value, low, high] of human replies; intervals by dialogue."""
    rows = [
        Output(
            pair.dialogue, pair.turn, reference=pair.reply, log_likelihood=-float(lost),
            tokens=encode(pair)["labels"][0],
        )
        for pair, lost in zip(pairs, nats, strict=True)
    ]  # fmt: skip
    found = evaluate(Outputs(Header(system="replies"), tuple(rows)), METRICS, 1000).scores
    return {
        name: [None if n is None else round(n, 4) for n in (score.value, score.low, score.high)]
        for name, score in found.items()
    } | {"items": len(rows)}


def _item(pair: Pair) -> Item:
    return Item(pair.dialogue, pair.turn, tuple(turn.text for turn in pair.context), dict(pair.labels))
