"""Training retrieval models: pairs in, how often the right reply is found out; the rest is the engine's."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.errors import InvalidValue
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.models import MATCHERS, RERANKERS, module_of
from heartfelt.models.backbone import saved_tokenizer
from heartfelt.models.heads import UNLABELLED
from heartfelt.models.matcher import NO_REPLY, encode_context, encode_reply
from heartfelt.recipe import BadRecipe, Recipe, Teacher, fill
from heartfelt.retrieval.embedder import MatcherRun
from heartfelt.terminal import counting
from heartfelt.text import same_key
from heartfelt.training import predictions
from heartfelt.training.batches import padded
from heartfelt.training.finish import finish, results_of, save_model
from heartfelt.training.gradient import Encode, Learner
from heartfelt.training.pairs import PAIRS, Pair, PairTask
from heartfelt.training.predict import in_batches
from heartfelt.training.prepend import prepended, wrong_with_prepend
from heartfelt.training.run import Run, open_run
from heartfelt.training.scores import scores as score_labels
from heartfelt.training.start import start_from, wrong_with_start
from heartfelt.training.tasks import SPLITS, TASKS, Item, Task
from heartfelt.training.teacher import teach, wrong_with_teacher
from heartfelt.training.vector_teacher import teaches_vectors, vector_lessons, wrong_with_vector_teacher

Vectors = NDArray[np.floating[Any]]
Heads = Mapping[str, tuple[str, ...]]
RIVALS = 99  # other replies among which the right one is to be found
METRICS = ("p_at_1", "mrr")
PART = 1024  # pairs encoded between two steps of the progress bar


def train_matching(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = PAIRS[recipe.task]
    settings = _check(recipe, module, task)
    run = open_run(folder, recipe)
    splits = read_pairs(task, data)
    if recipe.prepend:
        splits = prepended(splits, recipe.prepend, run, settings.window)
    set_seed(recipe.training.seed)
    heads = {head: task.heads[head] for head in settings.heads}
    texts = [
        text
        for pair in splits["train"]
        for text in (pair.context[-1].text, pair.reply, pair.context_label, pair.reply_label)
    ]
    own_words = recipe.start and hasattr(module.Settings, "vocabulary")
    given = {"tokenizer": saved_tokenizer(Path(recipe.start) / "model")} if own_words else {}
    classes = {head: len(labels) for head, labels in heads.items()}
    model, tokenizer = module.build(settings, classes, texts, **given)
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, heads)
    model.learns_fits = teaches_vectors(recipe.teacher, heads)
    lessons = _lessons(recipe.teacher, heads, splits["train"]) if recipe.teacher else None
    learner = Learner(
        folder, recipe, model, tokenizer, encoder(settings, tokenizer, heads), found_on_valid,
        collate=padded_pairs, like_lengths=False,
    )  # fmt: skip
    learner.learn(splits["train"], splits["valid"], watch, lessons)
    found: dict[str, Any] = {"test": {"replies": scores(splits["test"], learner.logits(splits["test"]))}}
    if heads:
        for split in ("valid", "test"):
            measured = _labelled(run, task, heads, learner, split, data)
            found[split] = {**found.get(split, {}), **measured}
    save_model(learner)
    if learner.first_process:
        run.write("labels.json", {head: list(labels) for head, labels in heads.items()})
    if recipe.model in RERANKERS:
        from heartfelt.training.reranking import score as score_again

        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # all of them read what was saved
        with counting("Scoring") as step:
            found["test"] |= score_again(run, task, "test", data, step)
    return finish(learner, task.what, results_of(learner, found, splits, data_hash(splits)))


def _labelled(
    run: Run, task: PairTask, heads: Heads, learner: Learner, split: str, data: Path | None
) -> dict[str, Any]:
    """What the heads score on the task that they are of; their answers are kept, as a classifier's are."""
    labelled = replace(TASKS[task.labelled], heads=dict(heads))
    items = list(labelled.read(split, data))
    settings: Any = fill(module_of(run.recipe.model).Settings, run.recipe.settings)[0]
    encode = context_encoder(settings, learner.tokenizer)
    model: Any = learner.model.cpu().eval()
    pad_id = int(learner.tokenizer.pad_token_id or 0)
    logits = in_batches(model.classify, [encode(item) for item in items], pad_id, lambda _: None)
    if learner.first_process:
        predictions.save(run, split, labelled, items, logits)
    return score_labels(labelled, items, logits)


def context_encoder(settings: Any, tokenizer: Tokenizer) -> Encode:
    """How an item to label becomes tokens: as a context."""
    return lambda item: {"input_ids": encode_context(settings, tokenizer, item.context)}


def _check(recipe: Recipe, module: ModuleType, task: PairTask) -> Any:
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if recipe.model not in MATCHERS:
        problems.append(f"{recipe.model} does not match replies, and {task.name} is about which reply fits")
    if recipe.training.metric not in ("loss", "p_at_1"):
        problems.append(f"training.metric is loss or p_at_1, not {recipe.training.metric}")
    if recipe.extra:
        problems.append("extra: a retrieval model learns from pairs, not from extra turns")
    if unknown := [head for head in getattr(settings, "heads", ()) if head not in task.heads]:
        known = f"{task.name} has {', '.join(task.heads) or 'no labels'}"
        problems.append(f"settings.heads: {known}, not {', '.join(unknown)}")
    if recipe.teacher:
        asked = {head: task.heads[head] for head in getattr(settings, "heads", ()) if head in task.heads}
        problems += wrong_with_teacher(recipe.teacher, task.name, asked)
        if teaches_vectors(recipe.teacher, asked):
            problems += wrong_with_vector_teacher(recipe.teacher)
    second = getattr(settings, "second", "")
    if second and Run(Path(second)).results is None:
        problems.append(f"settings.second: {second} is not a finished run of encoder_classifier")
    if recipe.start:
        problems += wrong_with_start(recipe)
    if recipe.prepend:
        problems += wrong_with_prepend(recipe.prepend)
        if getattr(settings, "heads", ()):
            problems.append(
                "prepend: with settings.heads the labels would be read before what they are told of"
            )
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    return settings


def _lessons(teacher: Teacher, heads: Heads, pairs: Sequence[Pair]) -> Vectors:
    """(pairs, 2, all classes): what teachers say of contexts and of replies; NaN where there is no reply. Of retrieval
    runs their vectors, (pairs, 2, size)."""
    if teaches_vectors(teacher, heads):
        return vector_lessons(teacher, pairs)
    task = Task("pairs", "", dict(heads), lambda split, data: iter(()))
    texts = [tuple(turn.text for turn in pair.context) for pair in pairs]
    contexts = teach(teacher, task, [Item("", 0, text, {}) for text in texts])
    said = [i for i, pair in enumerate(pairs) if pair.reply]
    replies = np.full_like(contexts, np.nan)
    replies[said] = teach(teacher, task, [Item("", 0, (pairs[i].reply,), {}) for i in said])
    return np.stack([contexts, replies], 1)


def read_pairs(task: PairTask, data: Path | None) -> dict[str, list[Pair]]:
    """All splits; valid and test must have something to choose from."""
    splits = {split: list(task.read(split, data)) for split in SPLITS}
    for split, pairs in splits.items():
        refuse_too_few(task, split, pairs)
    return splits


def refuse_too_few(task: PairTask, split: str, pairs: Sequence[Pair]) -> None:
    if len(pairs) < 2:
        raise InvalidValue(f"The {split} split of {task.name} has {len(pairs)} pairs: nothing to choose from")


def encoder(settings: Any, tokenizer: Tokenizer, heads: Heads | None = None) -> Encode:
    """How a pair becomes tokens, and numbers by which equal replies and equal contexts are known, in every process."""
    ids = {head: {label: i for i, label in enumerate(labels)} for head, labels in (heads or {}).items()}

    def encode(pair: Pair) -> dict[str, Any]:
        context = "\n".join(turn.text for turn in pair.context[-settings.window :])
        alike = (pair.group, pair.group) if pair.group else (same_key(pair.reply), same_key(context))
        groups = [_number(key) for key in alike]
        groups[0] = groups[0] if pair.reply else NO_REPLY
        labels = [ids[head].get(pair.labels.get(head, ""), UNLABELLED) for head in ids]
        return {
            "input_ids": encode_context(settings, tokenizer, pair.context, pair.context_label),
            "reply_ids": encode_reply(settings, tokenizer, pair.reply, pair.reply_label),
            "labels": groups + labels,
        }

    return encode


def _number(key: str) -> int:
    """One that no other text has, and that is none of a head's labels' and not NO_REPLY: 63 bits of a hash."""
    return (
        int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        >> 1
    )


def padded_pairs(examples: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Tensor]:
    contexts = padded([{name: e[name] for name in ("input_ids", "labels")} for e in examples], pad_id)
    replies = padded([{"input_ids": e["reply_ids"]} for e in examples], pad_id)
    if "lesson" in examples[0]:
        contexts["lesson"] = torch.from_numpy(np.stack([e["lesson"] for e in examples]))
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
    return scores_of(pairs, *fits(vectors))


def scores_of(pairs: Sequence[Pair], places: NDArray[np.intp], found: Vectors) -> dict[str, Any]:
    """Metric → [value, low, high]: how often the right reply is first among 99 others; intervals by dialogue."""
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
    pairs = [pair for pair in task.read(split, data) if pair.reply]
    refuse_too_few(task, split, pairs)
    return {"replies": scores(pairs, encoded(MatcherRun(run.folder), pairs, step))}


def encoded(encode: MatcherRun, pairs: Sequence[Pair], step: Callable[[str], None]) -> Vectors:
    """(pairs, 2, size) by a finished run, in the order of the pairs."""
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
