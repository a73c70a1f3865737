"""Distinct-n, whole and at a fixed size, length and repetition, by hand."""

from itertools import combinations

import numpy as np
import pytest

from heartfelt.evaluation import METRICS, from_texts
from heartfelt.evaluation.diversity import distinct_at, repeats
from heartfelt.evaluation.metric import spectrum_of


def value(name: str, replies: list[str]) -> float:
    return METRICS[name].value(from_texts("x", replies, ["-"] * len(replies)).rows)


def test_distinct_by_hand() -> None:
    """i am sad / I am glad: 4 of 6 words differ; pairs (i am) (am sad) (i am) (am glad): 3 of 4."""
    replies = ["i am sad", "I am glad"]
    assert value("distinct_1", replies) == pytest.approx(100 * 4 / 6)
    assert value("distinct_2", replies) == pytest.approx(100 * 3 / 4)


def test_pairs_do_not_cross_replies() -> None:
    assert value("distinct_2", ["a b", "b c"]) == pytest.approx(100)


def test_fixed_size_is_the_mean_over_all_samples() -> None:
    """Types a a a b b c: draw 3 of the 6 tokens in all 20 ways, count the types, take the mean."""
    tokens = "aaabbc"
    by_hand = np.mean([len({tokens[i] for i in pick}) / 3 for pick in combinations(range(6), 3)])
    assert distinct_at(spectrum_of(np.array([3, 2, 1])), size=3) == pytest.approx(100 * by_hand)


def test_fixed_size_at_the_whole_set_is_plain_distinct() -> None:
    assert distinct_at(spectrum_of(np.array([3, 2, 1])), size=6) == pytest.approx(100 * 3 / 6)


def test_fixed_size_hardly_moves_when_the_set_is_doubled_and_plain_distinct_halves() -> None:
    half = [f"w{i % 400} w{(7 * i) % 900}" for i in range(6000)]
    assert value("distinct_1", half * 2) == pytest.approx(value("distinct_1", half) / 2)
    assert value("distinct_1_at", half * 2) == pytest.approx(value("distinct_1_at", half), rel=0.01)
    assert value("distinct_1_at", half) > 8  # 900 types, nearly all of them seen in 10,000 draws


def test_fixed_size_is_undefined_on_less() -> None:
    assert np.isnan(value("distinct_1_at", ["too few words"]))


def test_length_by_hand() -> None:
    assert value("length", ["oh no !", "why"]) == (3 + 1) / 2


def test_repetition_by_hand() -> None:
    """so sorry so sorry so: (so sorry so) twice. i am sad i am: no triple twice."""
    assert repeats("so sorry so sorry so")
    assert not repeats("i am sad i am")
    assert value("repetition", ["so sorry so sorry so", "i am sad i am", "no", "yes"]) == 25
