"""P@1,N and MRR with equal strings masked, by hand."""

import pytest

from heartfelt.evaluation import METRICS, Output


def ranked(candidates: list[str], scores: list[float], answer: int = 0) -> Output:
    return Output(
        f"{candidates}{scores}", 1, candidates=tuple(candidates), scores=tuple(scores), answer=answer
    )


def test_by_hand() -> None:
    rows = [
        ranked(["yes", "no", "why"], [0.9, 0.2, 0.1]),  # first
        ranked(["yes", "no", "why"], [0.3, 0.5, 0.1]),  # second
        ranked(["no", "why", "yes"], [0.5, 0.4, 0.3], answer=2),  # third
    ]
    assert METRICS["p_at_1"].value(rows) == pytest.approx(100 / 3)
    assert METRICS["mrr"].value(rows) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-7)


def test_a_copy_of_the_true_reply_is_not_wrong() -> None:
    """The copy outscores the true one; masked, the true one is first, not third."""
    row = ranked(["What happened?", "what  happened?", "WHAT HAPPENED?", "no"], [0.5, 0.9, 0.8, 0.1])
    assert METRICS["p_at_1"].value([row]) == 100
    assert METRICS["mrr"].value([row]) == 1


def test_a_constant_scorer_gets_what_chance_gets() -> None:
    """Four level candidates: first one time in four; 1/rank on average (1 + 1/2 + 1/3 + 1/4) / 4."""
    row = ranked(["a", "b", "c", "d"], [0.0, 0.0, 0.0, 0.0])
    assert METRICS["p_at_1"].value([row]) == 25
    assert METRICS["mrr"].value([row]) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=1e-7)
