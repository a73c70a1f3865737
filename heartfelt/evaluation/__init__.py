"""Numbers that can be believed: metrics that add up, intervals, paired tests, genericness, imported outputs.

    >>> from heartfelt import evaluation
    >>> ours, theirs = evaluation.read("ours.jsonl"), evaluation.read("mime-greedy.jsonl")
    >>> evaluation.compare(ours, theirs).tests["distinct_2_at"].p_holm
    0.031

To add a metric: an entry in its family's METRICS (likelihood, overlap, diversity, genericness,
classification, ranking) with a recipe, and a test whose value is worked out by hand.
"""

from heartfelt.evaluation.metrics import METRICS
from heartfelt.evaluation.outputs import Header, Output, Outputs, from_texts, read, write
from heartfelt.evaluation.scoring import (
    Comparison,
    Leaderboard,
    Result,
    compare,
    evaluate,
    leaderboard,
    to_json,
)

__all__ = [
    "METRICS", "Comparison", "Header", "Leaderboard", "Output", "Outputs", "Result",
    "compare", "evaluate", "from_texts", "leaderboard", "read", "to_json", "write",
]  # fmt: skip
