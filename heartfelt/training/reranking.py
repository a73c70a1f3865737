"""Training re-rankers: pairs and a retrieval run's shortlists in, how often the right reply is found out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import set_seed
from transformers.trainer_utils import EvalPrediction

from heartfelt.dialogue import Turn
from heartfelt.models import module_of
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.retrieval.embedder import MatcherRun, Vectors, matches
from heartfelt.retrieval.reranker import open_reranker
from heartfelt.terminal import counting
from heartfelt.text import same_key
from heartfelt.training.batches import padded
from heartfelt.training.finish import finish, results_of, save_model
from heartfelt.training.gradient import Learner
from heartfelt.training.matching import PART, data_hash, encoded, fits, read_pairs, refuse_too_few, scores_of
from heartfelt.training.pairs import PAIRS, Pair, PairTask
from heartfelt.training.run import Run, open_run
from heartfelt.training.start import start_from, wrong_with_start

Places = NDArray[np.intp]
READ_AGAIN = 10  # of a hundred, so many first ones are re-ranked


def train_reranking(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = PAIRS[recipe.task]
    settings = _check(recipe, module)
    run = open_run(folder, recipe)
    splits = {
        split: [pair for pair in pairs if pair.reply] for split, pairs in read_pairs(task, data).items()
    }
    set_seed(recipe.training.seed)
    model, tokenizer = module.build(settings, {}, [])
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, {})
    matcher = MatcherRun(Path(settings.shortlist))
    chosen = {}
    for split in ("train", "valid"):
        with counting(f"{matcher.name} chooses rivals in {split}") as step:
            chosen[split] = _choices(splits[split], matcher, settings, recipe.training.seed, step)

    def encode(choice: tuple[Pair, list[str]]) -> dict[str, Any]:
        pair, rivals = choice
        replies = [pair.reply, *rivals]
        rows = [module.encode_pair(settings, tokenizer, pair.context, reply) for reply in replies]
        right = same_key(pair.reply)
        counts = [1, *(int(same_key(rival) != right) for rival in rivals)]
        return {"input_ids": max(rows, key=len), "rows": rows, "labels": counts}

    learner = Learner(folder, recipe, model, tokenizer, encode, found_on_valid, collate=padded_choices)
    learner.learn(chosen["train"], chosen["valid"], watch)
    save_model(learner)
    if torch.distributed.is_initialized():
        torch.distributed.barrier()  # all of them read it now
    with counting("Scoring") as step:
        found = score(run, task, "test", data, step)
    return finish(learner, task.what, results_of(learner, {"test": found}, splits, data_hash(splits)))


def _check(recipe: Recipe, module: ModuleType) -> Any:
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if recipe.training.metric not in ("loss", "p_at_1"):
        problems.append(f"training.metric is loss or p_at_1, not {recipe.training.metric}")
    for name in ("teacher", "extra", "prepend"):
        if getattr(recipe, name):
            problems.append(f"{name}: a re-ranker learns from pairs and a shortlist alone")
    if settings and not matches(Path(settings.shortlist)):
        problems.append(f"settings.shortlist is the folder of a retrieval run, not '{settings.shortlist}'")
    elif settings and Run(Path(settings.shortlist)).results is None:
        problems.append(f"settings.shortlist: {settings.shortlist} is not finished")
    if recipe.start:
        problems += wrong_with_start(recipe)
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    return settings


def _choices(
    pairs: Sequence[Pair], matcher: MatcherRun, settings: Any, seed: int, step: Callable[[str], None]
) -> list[tuple[Pair, list[str]]]:
    """Each pair with rivals drawn from what the retrieval run would have answered."""
    vectors = encoded(matcher, pairs, step)
    draw = np.random.default_rng(seed)
    replies = np.ascontiguousarray(vectors[:, 1])
    found = []
    for start in range(0, len(pairs), PART):
        fit = vectors[start : start + PART, 0] @ replies.T
        among = min(settings.among, len(pairs) - 1)
        near = np.argpartition(-fit, among, axis=1)[:, : among + 1]
        for i, row in enumerate(near, start):
            others = row[row != i]
            chosen = draw.choice(others, min(settings.rivals, len(others)), replace=False)
            found.append((pairs[i], [pairs[place].reply for place in chosen]))
    return found


def padded_choices(examples: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Tensor]:
    rows = [{"input_ids": row} for example in examples for row in example["rows"]]
    return padded(rows, pad_id) | {"labels": torch.tensor([example["labels"] for example in examples])}


def found_on_valid(predicted: EvalPrediction) -> dict[str, float]:
    """Among the rivals alone, which are hard: lower than among a hundred."""
    found = np.asarray(predicted.predictions)
    return {"p_at_1": float(100 * (found[:, 1:].max(1) < found[:, 0]).mean())}


def score(
    run: Run, task: PairTask, split: str, data: Path | None, step: Callable[[str], None]
) -> dict[str, Any]:
    """Of a hundred replies the retrieval run's first ten are read again; "shortlist" is that run without it. A run of
    late interaction reads its own."""
    settings: Any = fill(module_of(run.recipe.model).Settings, run.recipe.settings)[0]
    pairs = [pair for pair in task.read(split, data) if pair.reply]
    refuse_too_few(task, split, pairs)
    matcher = MatcherRun(Path(getattr(settings, "shortlist", run.folder)))
    shortlist = Shortlist(pairs, matcher, READ_AGAIN, step)
    return shortlist.scored(open_reranker(run.folder)(shortlist.asked, step))


class Shortlist:
    """Of each pair's hundred replies, those that a retrieval run puts first.

    within: those alone that come as near to the first one as this; where none does, nothing is left to read.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        matcher: MatcherRun,
        count: int,
        step: Callable[[str], None],
        within: float = np.inf,
    ) -> None:
        self._pairs = pairs
        self._places, self._found = fits(encoded(matcher, pairs, step))
        # Of equal scores the later ones first: the right reply stands first, and must not gain by it.
        order = np.argsort(-self._found[:, ::-1], axis=1, kind="stable")[:, :count]
        self.columns: Places = self._found.shape[1] - 1 - order  # (pairs, count); 0 is the right reply
        first = np.take_along_axis(self._found, self.columns, axis=1)
        near = first >= first[:, :1] - within
        self.open: NDArray[np.bool_] = near & (near.sum(1, keepdims=True) > 1)  # (pairs, count): to be read

    @property
    def asked(self) -> list[tuple[tuple[Turn, ...], str]]:
        """Contexts and replies to read, row by row."""
        return [
            (pair.context, self._pairs[self._places[row, column]].reply)
            for row, pair in enumerate(self._pairs)
            for column in self.columns[row][self.open[row]]
        ]

    @property
    def products(self) -> Vectors:
        """(asked, 1): what the retrieval run says of them; it need not read them again."""
        rows = np.nonzero(self.open)[0]
        return np.asarray(self._found[rows, self.columns[self.open]], np.float32)[:, None]

    def scored(self, read: Vectors) -> dict[str, Any]:
        """What a second reading of all that is asked comes to, beside the retrieval run alone."""
        # Above all others, in the order of the second reading.
        new = self._found.astype(np.float64)
        rows = np.nonzero(self.open)[0]
        new[rows, self.columns[self.open]] = self._found.max() + 1 + read - read.min(initial=0)
        return {
            "replies": scores_of(self._pairs, self._places, new),
            "shortlist": scores_of(self._pairs, self._places, self._found),
        }
