"""Statistics of human judgements, beside textbook examples and the libraries'."""

import math

import krippendorff
import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InvalidValue
from heartfelt.evaluation import human

# Fleiss' own kind of example, as in the usual encyclopaedia article: 10 subjects, 14 raters, 5 categories.
TEXTBOOK = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section D: 12 units, 4 observers, gaps.
_ = None
RELIABILITY = [
    [1, 1, _, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [_, 5, 5, 5], [_, _, 1, 1], [_, _, 3, _],
]  # fmt: skip


def test_mean_by_hand() -> None:
    """3, 4, 5: mean 4, deviation 1, SEM 1/√3, and 4.3027 of them to each side (t with 2 degrees)."""
    result = human.mean([3, 4, 5])
    assert (result.value, result.n) == (4, 3)
    assert result.error == pytest.approx(1 / math.sqrt(3))
    assert (result.low, result.high) == pytest.approx(
        (4 - 4.3027 / math.sqrt(3), 4 + 4.3027 / math.sqrt(3)), rel=1e-4
    )


def test_mean_of_too_little_says_why() -> None:
    assert human.mean([]).reason == "there are no ratings"
    assert human.mean([4]).reason == "one rating has no spread"
    with pytest.raises(InvalidValue, match="rating 2 is nan"):
        human.mean([1, math.nan])


def test_wilson_beside_scipy() -> None:
    for successes, n in ((0, 10), (8, 10), (95, 100), (10, 10)):
        ours = human.wilson(successes, n)
        theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert human.wilson(0, 0).reason == "there are no trials"
    with pytest.raises(InvalidValue, match="5 of 4 is not a proportion"):
        human.wilson(5, 4)


def test_wilson_by_hand() -> None:
    """None of ten, z = 1.96: the upper bound is z² / (n + z²)."""
    assert human.wilson(0, 10).high == pytest.approx(1.959964**2 / (10 + 1.959964**2), rel=1e-6)


def test_welch_by_hand() -> None:
    """Means 2 and 5, variances 1 and 4, three each: t = -3 / √(1/3 + 4/3), ν = (5/3)² / ((1/9 + 16/9) / 2)."""
    result = human.welch([1, 2, 3], [3, 5, 7])
    assert result.difference == -3
    assert result.t == pytest.approx(-3 / math.sqrt(5 / 3))
    assert result.freedom == pytest.approx((5 / 3) ** 2 / ((1 / 9 + 16 / 9) / 2))
    assert result.p == pytest.approx(2 * stats.t.cdf(result.t, result.freedom))
    assert result.low < -3 < result.high
    with pytest.raises(InvalidValue, match="two ratings a group"):
        human.welch([1], [2, 3])
    with pytest.raises(InvalidValue, match="no spread"):
        human.welch([1, 1], [2, 2])


def test_fleiss_kappa_of_the_textbook() -> None:
    result = human.fleiss_kappa(TEXTBOOK)
    assert result.value == pytest.approx(0.2099, abs=1e-4)
    assert result.low is not None and result.high is not None
    assert result.low < result.value < result.high
    assert result.n == 10


def test_fleiss_kappa_by_hand() -> None:
    """
    Three raters; aaa, bbb, aab. Agreement 1, 1, 1/3: mean 7/9. Shares a 5/9, b 4/9: chance 41/81.
    (7/9 - 41/81) / (1 - 41/81) = 22/40.
    """
    assert human.fleiss_kappa([[3, 0], [0, 3], [2, 1]]).value == pytest.approx(22 / 40)


def test_kappa_that_does_not_exist_says_why() -> None:
    assert "same category" in human.fleiss_kappa([[3, 0], [3, 0]]).reason
    assert "one rating" in human.fleiss_kappa([[1, 0], [0, 1]]).reason
    assert human.fleiss_kappa([]).reason == "there are no items"
    with pytest.raises(InvalidValue, match="item 2 has 2 ratings, item 1 has 3"):
        human.fleiss_kappa([[3, 0], [1, 1]])


@pytest.mark.parametrize(
    ("scale", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_alpha_of_the_textbook(scale: human.Scale, published: float) -> None:
    result = human.krippendorff_alpha(RELIABILITY, scale)
    assert result.value == pytest.approx(published, abs=5e-4)
    matrix = np.array(RELIABILITY, dtype=float).T
    assert result.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement=scale))
    assert result.low is not None and result.value is not None and result.low < result.value
    assert result.n == 11  # the last unit has one rating, which pairs with none


def test_alpha_that_does_not_exist_says_why() -> None:
    assert human.krippendorff_alpha([[1, None], [None, 2]]).reason == "no item has two ratings"
    assert "every rating is the same" in human.krippendorff_alpha([[2, 2], [2, 2]]).reason
    assert human.krippendorff_alpha([]).value is None


def test_alpha_is_seeded() -> None:
    assert human.krippendorff_alpha(RELIABILITY, seed=1) == human.krippendorff_alpha(RELIABILITY, seed=1)


def test_bradley_terry_by_hand() -> None:
    """a beats b 30 times of 40: the log-odds are ln 3, shared out as ± ln 3 / 2."""
    wins = [("a", "b", 1.0)] * 30 + [("a", "b", 0.0)] * 10
    first, second = human.bradley_terry(wins, prior=0)
    assert (first.system, second.system) == ("a", "b")
    assert first.strength == pytest.approx(math.log(3) / 2)
    assert second.strength == pytest.approx(-math.log(3) / 2)
    assert first.low is not None and first.high is not None and first.low < first.strength < first.high
    assert (first.wins, first.comparisons) == (30, 40)


def test_bradley_terry_finds_the_strengths_that_made_the_games() -> None:
    random = np.random.default_rng(3)
    truth = {"w": 1.0, "x": 0.3, "y": -0.3, "z": -1.0}
    wins = []
    for _round in range(4000):
        a, b = random.choice(list(truth), 2, replace=False)
        wins.append((str(a), str(b), float(random.random() < 1 / (1 + math.exp(truth[b] - truth[a])))))
    ranking = human.bradley_terry(wins, resamples=200)
    assert [strength.system for strength in ranking] == ["w", "x", "y", "z"]
    for strength in ranking:
        assert strength.strength == pytest.approx(truth[strength.system], abs=0.15)
        assert strength.high is not None and strength.low is not None
        assert strength.high - strength.low < 0.4


def test_ties_count_one_half() -> None:
    both = human.bradley_terry([("a", "b", 0.5)] * 20)
    assert [strength.strength for strength in both] == pytest.approx([0, 0])
    assert {strength.wins for strength in both} == {10}


def test_a_system_that_never_lost_has_a_finite_strength() -> None:
    first, _second = human.bradley_terry([("a", "b", 1.0)] * 10)
    assert first.strength == pytest.approx(math.log(10.5 / 0.5) / 2)


def test_bradley_terry_refuses_what_cannot_be_ranked() -> None:
    with pytest.raises(InvalidValue, match="never compared"):
        human.bradley_terry([("a", "b", 1), ("c", "d", 1)])
    with pytest.raises(InvalidValue, match="comparison 1"):
        human.bradley_terry([("a", "a", 1)])
    with pytest.raises(InvalidValue, match="two systems"):
        human.bradley_terry([])


def test_sample_sizes_by_hand() -> None:
    """64 and 253 a group: Cohen's tables for t. Six in ten: (.98 + .4123)² / .01.

    By the normal distribution, (1.95996 + 0.84162)² = 7.8489, it would be 2·7.8489·4 = 62.8.
    """
    assert human.sample_size(0.5, 1.0) == 64
    assert human.sample_size(-1.0, 2.0) == 64
    assert human.sample_size(0.25, 1.0) == 253
    assert human.preference_size(0.6) == 194
    with pytest.raises(InvalidValue):
        human.sample_size(0, 1)
    with pytest.raises(InvalidValue):
        human.preference_size(0.5)


def test_the_sample_size_has_the_power_it_promises() -> None:
    random = np.random.default_rng(1)
    n = human.sample_size(0.5, 1.0, power=0.8)
    a, b = random.normal(0.5, 1, (2000, n)), random.normal(0, 1, (2000, n))
    found = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05
    assert 0.77 <= found.mean() <= 0.83


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: human.mean([1, math.inf]), "rating 2 is inf"),
        (lambda: human.mean([1e300, 2]), "rating 1 is 1e"),
        (lambda: human.mean([[1, 2], [3]]), "not a list of numbers"),
        (lambda: human.mean(["good"]), "not a list of numbers"),
        (lambda: human.mean([1, 2], level=1.0), "a confidence level lies between 0 and 1, not at 1.0"),
        (lambda: human.wilson(1.5, 3), "1.5 of 3 is not a proportion"),
        (lambda: human.wilson(1, math.nan), "1 of nan is not a proportion"),
        (lambda: human.wilson(1, 3, level=0), "confidence level"),
        (lambda: human.welch([1, math.nan], [2, 3]), "rating 2 is nan"),
        (lambda: human.welch([1, 2], [2, 3], level=1.0), "confidence level"),
        (lambda: human.fleiss_kappa([[3, 0], [3]]), "item 2 has 1 columns, item 1 has 2"),
        (lambda: human.fleiss_kappa([[2.5, 0.5], [3, 0]]), "item 1 has 2.5 in category 1, not a count"),
        (lambda: human.fleiss_kappa([[4, -1], [3, 0]]), "item 1 has -1 in category 2, not a count"),
        (lambda: human.fleiss_kappa([[3, math.nan]]), "item 1 holds nan"),
        (lambda: human.fleiss_kappa([1, 2]), "not rows of numbers"),
        (lambda: human.fleiss_kappa([[3, None]]), "item 1 has nan in category 2, not a count"),
        (lambda: human.fleiss_kappa([[3, 0]], resamples=-1), "-1 is not a number of them"),
        (lambda: human.krippendorff_alpha([[1, 2], [1]]), "item 2 has 1 columns"),
        (lambda: human.krippendorff_alpha([[1, math.inf]]), "item 1 holds inf"),
        (lambda: human.krippendorff_alpha([[1, math.nan]]), "what was not rated is None"),
        (lambda: human.krippendorff_alpha([["a", "b"]]), "not rows of numbers"),
        (
            lambda: human.krippendorff_alpha([[1, 2]], "metric"),
            "there is no scale 'metric'; there is: nominal",
        ),
        (lambda: human.krippendorff_alpha([[1, -2], [2, 2]], "ratio"), "starts at 0"),
        (lambda: human.bradley_terry([("a", "b", math.nan)]), "comparison 1"),
        (lambda: human.bradley_terry([("a", "b")]), "comparison 1"),
        (lambda: human.bradley_terry([("a", "b", 1)] * 3, prior=0), "infinite; give a prior"),
        (lambda: human.bradley_terry([("a", "b", 1)] * 3, prior=math.nan), "a prior is"),
        (lambda: human.sample_size(math.nan, 1), "not 0"),
        (lambda: human.sample_size(1, math.inf), "not 0"),
        (lambda: human.sample_size(1, 0), "positive deviation"),
        (lambda: human.sample_size(1, 1, level=1.0), "confidence level"),
        (lambda: human.preference_size(0.6, power=1.0), "power lies"),
    ],
)
def test_bad_input_is_one_line(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidValue) as refusal:
        call()
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_no_resamples_no_interval_and_no_nan() -> None:
    kappa, alpha = human.fleiss_kappa(TEXTBOOK, 0), human.krippendorff_alpha(RELIABILITY, resamples=0)
    for estimate in (kappa, alpha):
        assert (estimate.low, estimate.high) == (None, None)
        assert estimate.reason == "no resamples were asked for, so there is no interval"
    first, _second = human.bradley_terry([("a", "b", 1.0), ("a", "b", 0.0), ("a", "b", 1.0)], resamples=0)
    assert (first.low, first.high) == (None, None)
