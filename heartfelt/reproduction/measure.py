"""A row of a table is run: what it needs is trained, then it is scored and answers the test split.

Figures go into the run's own folder (measured.json), each as soon as it is known: who stops it loses little.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from heartfelt import corpora
from heartfelt.agent.generator import Decoding
from heartfelt.errors import InvalidValue
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, Outputs, write
from heartfelt.models import GENERATORS, MATCHERS
from heartfelt.recipe import load
from heartfelt.reproduction.order import in_order
from heartfelt.reproduction.paper import Place, Row, answers_from
from heartfelt.training.keep import MEASURED
from heartfelt.training.pairs import PAIRS
from heartfelt.training.run import Run
from heartfelt.training.score_pairs import score_pairs

CORPUS, SPLIT = "empathetic_dialogues", "test"
Step = Callable[[str], None]


def carry_out(
    recipe: Path, row: Row, place: Place, seeds: tuple[int, ...] = (), tell: Step = lambda _: None
) -> Path:
    """Train and measure; returns the run folder, or the folder of the seeds' runs."""
    from heartfelt.training.engine import train

    *before, (_, folder) = in_order(recipe, place.recipes, place.runs)
    for path, needed in before:
        tell(f"{needed.name}, which {folder.name} needs")
        train(load(path), needed, place.data)
    base = load(recipe)
    for seed in seeds or (None,):
        own = folder if seed is None else folder / f"seed-{seed}"
        chosen = base if seed is None else replace(base, training=replace(base.training, seed=seed))
        tell(f"{own.name if seed is None else f'{folder.name}, seed {seed}'}: training")
        train(chosen, own, place.data)
        measure(Run(own), row, place, tell)
    return folder


def measure(run: Run, row: Row, place: Place, tell: Step = lambda _: None) -> Mapping[str, Any]:
    """Head → metric → [value, low, high], of all that a row asks for; what is known already is not measured again."""
    path = run.folder / MEASURED
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    recipe = run.recipe

    def keep(head: str, scores: Mapping[str, Any]) -> None:
        found[head] = scores
        run.write(MEASURED, found)

    when_trained = (run.results or {}).get("scores", {}).get("test", {})
    for task in row.score:
        if task not in found and not (task == recipe.task and "replies" in when_trained):
            tell(f"{run.name}: scoring {task}")
            keep(task, _scored(run, task, place))
    head = answers_from(row.pool, row.reranker)
    if row.answers and head not in found and recipe.model in (*GENERATORS, *MATCHERS):
        tell(f"{run.name}: answering {SPLIT}")
        outputs = _answers(run, row, place)
        write(run.folder / f"{head.replace(' ', '-')}.jsonl", outputs)
        scores = evaluate(outputs).scores
        keep(
            head,
            {
                name: [None if n is None else round(n, 4) for n in (one.value, one.low, one.high)]
                for name, one in scores.items()
            }
            | {"items": len(outputs.rows)},
        )
    return found


def _scored(run: Run, task: str, place: Place) -> Mapping[str, Any]:
    if task not in PAIRS:
        from heartfelt.training.predict import score
        from heartfelt.training.tasks import find

        (only,) = score(run.folder, find(task), SPLIT, place.data, lambda _: None, False).values()
        return only  # type: ignore[no-any-return]
    scores: Mapping[str, Any] = score_pairs(run, PAIRS[task], SPLIT, place.data)["replies"]
    return scores


def _answers(run: Run, row: Row, place: Place) -> Outputs:
    dialogues = list(corpora.load(CORPUS, SPLIT, data=place.data))
    header = Header(run.name, CORPUS, SPLIT)
    if run.recipe.model in MATCHERS:
        return _found(run, row, place, dialogues, header)
    from heartfelt.agent.answering import AnswererRun
    from heartfelt.agent.generate import generate

    ways: dict[str, Any] = {"temperature": 0, "repeat_penalty": 1, **row.decode}
    try:
        decoding = msgspec.convert(ways, Decoding, strict=False)
    except msgspec.ValidationError as problem:
        raise InvalidValue(f"{row.row}: decode: {problem}") from None
    told = msgspec.structs.replace(
        header, decoding=msgspec.json.encode(decoding).decode(), note=f"plan: {row.plan}"
    )
    return generate(AnswererRun(run.folder), dialogues, told, decoding, row.plan)


def _found(run: Run, row: Row, place: Place, dialogues: list[Any], header: Header) -> Outputs:
    """A retrieval run's replies, from a pool that is encoded once."""
    from heartfelt.agent.generate import retrieve
    from heartfelt.agent.guard import Guard
    from heartfelt.agent.retriever import retriever
    from heartfelt.retrieval.embedder import MatcherRun
    from heartfelt.retrieval.index import build
    from heartfelt.retrieval.pool import read_pool

    if not row.pool:
        raise InvalidValue(f"{row.row}: a retrieval model needs a pool of replies to choose from")
    index = run.folder / f"pool-{'-'.join(row.pool)}"
    if not (index / "index.json").is_file():
        guard = Guard(ear=False)
        pool = read_pool(row.pool, place.data, lambda text: guard.check(text).action == "pass")
        build(index, pool, MatcherRun(run.folder), run="..")
    itself = run.folder if row.reranker == row.recipe else place.runs / f"{row.reranker}.cpu"
    reranker = itself if row.reranker else None
    found = retriever(index, reranker=reranker)
    return retrieve(found, dialogues, msgspec.structs.replace(header, source=found.name))
