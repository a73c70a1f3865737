"""How often the true reply is ranked first among candidates.

Equal strings are masked: ED repeats replies such as "What happened?"; a copy of the true one is not wrong.
"""

from collections.abc import Callable, Sequence

import numpy as np

from heartfelt.evaluation.metric import PERCENT, SHARE, Metric, SumMetric, mean, means, percent
from heartfelt.evaluation.outputs import Output
from heartfelt.evaluation.tokens import same


def places(output: Output) -> tuple[int, int]:
    """How many other candidates score higher than the true one, and how many score the same."""
    candidates, answer = output.candidates or (), output.answer or 0
    scores = np.array(output.scores or (), np.float64)
    truth = same(candidates[answer])
    rivals = scores[[same(candidate) != truth for candidate in candidates]]
    return int((rivals > scores[answer]).sum()), int((rivals == scores[answer]).sum())


def first(output: Output) -> float:
    """The chance that the true reply comes first, ties broken at random: a constant scorer gets 1 / N."""
    above, level = places(output)
    return 0.0 if above else 1 / (1 + level)


def reciprocal(output: Output) -> float:
    """The expected 1 / rank of the true reply, ties broken at random."""
    above, level = places(output)
    return float(np.mean(1 / np.arange(above + 1, above + level + 2)))


def _each(number: Callable[[Output], float]) -> Callable[[Sequence[Output]], list[float]]:
    return lambda outputs: [number(output) for output in outputs]


_MASKED = "copies of the true reply (but for case and spacing) masked, ties broken at random in expectation"

METRICS: tuple[Metric, ...] = (
    SumMetric(
        name="p_at_1", title="P@1,N", direction="higher", needs=("candidates", "scores", "answer"),
        bounds=PERCENT, recipe=f"% of turns whose true reply ranks first among the N candidates given; {_MASKED}",
        citation="rashkin2019", table=means(_each(first)), finish=percent,
    ),
    SumMetric(
        name="mrr", title="MRR", direction="higher", needs=("candidates", "scores", "answer"), digits=3,
        bounds=SHARE, recipe=f"mean of 1 / rank of the true reply; {_MASKED}",
        citation="Voorhees 1999", table=means(_each(reciprocal)), finish=mean,
    ),
)  # fmt: skip
