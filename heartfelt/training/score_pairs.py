"""How often a finished run finds the right reply: whichever kind of run it is, by vectors, by reading, or by a jury."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from heartfelt.models import RERANKERS, module_of
from heartfelt.training.pairs import PairTask
from heartfelt.training.run import Run


def score_pairs(
    run: Run, task: PairTask, split: str, data: Path | None, step: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Head → metric → [value, low, high]."""
    model = run.recipe.model
    module_of(model)  # says what is missing where torch is
    if model == "jury":
        from heartfelt.training.jury import score
    elif model in RERANKERS:
        from heartfelt.training.reranking import score
    else:
        from heartfelt.training.matching import score
    return score(run, task, split, data, step)
