"""Do the intervals cover, do the tests keep their promise? By hand, or else by simulation."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from heartfelt.errors import InvalidValue
from heartfelt.evaluation import METRICS, Header, Output, Outputs, compare, evaluate
from heartfelt.evaluation.metric import Array
from heartfelt.evaluation.uncertainty import (
    Sample,
    Undefined,
    bootstrap_differences,
    draws,
    flips,
    holm,
    interval,
    leave_one_out,
    normal,
    paired,
    percentiles,
    permutation_p,
    permuted_differences,
    weighted,
)


def mean(sums: Array) -> Array:
    return sums[..., 0] / sums[..., 1]


def said(*replies: str) -> list[Output]:
    return [Output(f"d{i}", 1, reply=reply, reference="oh no") for i, reply in enumerate(replies)]


def test_draws_are_whole_resamples_and_seeded() -> None:
    weights = draws(50, 200, seed=3)
    assert weights.shape == (200, 50)
    assert (weights.sum(axis=1) == 50).all()
    assert (weights == draws(50, 200, seed=3)).all()
    assert (weights != draws(50, 200, seed=4)).any()
    assert weights.mean(axis=0).std() < 0.2  # every dialogue is drawn about once a resample


def test_a_resample_is_what_scoring_the_drawn_dialogues_would_give() -> None:
    """Weights (2, 0, 1): the first dialogue twice, the third once."""
    rows = said("a b c", "a", "b c d e")
    metric = METRICS["length"]
    by_hand = metric.value([rows[0], rows[0], rows[2]])
    table = Sample(rows).table(metric)  # type: ignore[arg-type]
    assert float(metric.finish(np.array([2.0, 0, 1]) @ table.values, table.columns)) == by_hand  # type: ignore[attr-defined]


def test_turns_of_one_dialogue_are_drawn_together() -> None:
    rows = [Output("same", turn, reply="a b"[: 1 + 2 * (turn % 2)]) for turn in range(6)]
    alone = interval(METRICS["length"], Sample(rows), draws(1, 100))
    assert (alone.value, alone.low, alone.high) == (1.5, None, None)


def test_percentiles_by_hand() -> None:
    assert percentiles(np.arange(101.0), 0.9) == pytest.approx((5.0, 95.0))


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.array([1.0, 2, 4, 9])
    without = (values.sum() - values) / 3
    low, high = normal(values.mean(), without)
    reach = float(norm.ppf(0.975)) * values.std(ddof=1) / math.sqrt(4)
    assert (low, high) == pytest.approx((4 - reach, 4 + reach))


def test_leaving_one_out_by_hand() -> None:
    """a b | a c | d: 4 types of 5; without each: 3 of 3, 3 of 3, 3 of 4."""
    value, without = leave_one_out(METRICS["distinct_1"], Sample(said("a b", "a c", "d")))  # type: ignore[arg-type]
    assert value == pytest.approx(80)
    assert without.tolist() == pytest.approx([100, 100, 75])


def test_bootstrap_intervals_cover() -> None:
    """A ratio of two sums over 200 dialogues: 95 % intervals hold the truth in 93-97 % of 3,000 draws."""
    random = np.random.default_rng(7)
    hits = 0
    for trial in range(3000):
        turns = random.integers(1, 4, size=200).astype(float)
        totals = turns * 0.3 + random.normal(0, 0.5, 200) * np.sqrt(turns)  # the mean a turn is 0.3
        rows = np.column_stack([totals, turns])
        low, high = percentiles(mean(draws(200, 400, seed=trial) @ rows))
        hits += low <= 0.3 <= high
    assert 0.93 <= hits / 3000 <= 0.97, hits / 3000


def test_intervals_of_a_metric_cover() -> None:
    """Accuracy as `evaluate` gives it, 200 dialogues of one to three turns: 93-97 % of 1,000 draws."""
    random = np.random.default_rng(6)
    hits = 0
    for trial in range(1000):
        turns = random.integers(1, 4, 200)
        good = random.random((200, 3)) < 0.3
        rows = [
            Output(str(d), t, gold="sad", guesses=("sad" if good[d, t] else "angry",))
            for d in range(200)
            for t in range(turns[d])
        ]
        found = interval(METRICS["accuracy_1"], Sample(rows), draws(200, 400, seed=trial))
        assert found.low is not None and found.high is not None
        hits += found.low <= 0.3 <= found.high
    assert 930 <= hits <= 970, hits


def test_jackknife_intervals_of_distinct_n_cover_and_bootstrap_ones_do_not() -> None:
    """Replies of 8 words from a Zipf vocabulary; the truth is the mean Distinct-1 of sets of this size.

    The jackknife's standard error is too wide, never too narrow, on average (Efron and Stein 1981).
    """
    random = np.random.default_rng(5)
    chances = 1 / np.arange(1, 501)
    chances /= chances.sum()
    sets = random.choice(500, p=chances, size=(1000, 150, 8))
    metric = METRICS["distinct_1"]
    distinct = np.array([100 * len(np.unique(words)) / words.size for words in sets])
    truth = distinct.mean()
    hits = 0
    for words, value in zip(sets, distinct, strict=True):
        hits += abs(value - truth) <= (normal(value, _without(words))[1] - value)
    assert 940 <= hits <= 995, hits
    # The same by bootstrap: every resample has fewer types than the set.
    words = sets[0]
    picks = random.integers(150, size=(300, 150))
    resampled = [100 * len(np.unique(words[pick])) / words.size for pick in picks]
    assert max(resampled) < distinct[0]
    # And the fast way above is what the metric itself says.
    rows = [Output(str(i), 1, reply=" ".join(f"w{w}" for w in row)) for i, row in enumerate(words)]
    value, without = leave_one_out(metric, Sample(rows))  # type: ignore[arg-type]
    assert value == pytest.approx(distinct[0])
    assert without == pytest.approx(_without(words))


def _without(words: "np.ndarray") -> Array:  # type: ignore[type-arg]
    """Distinct-1 without each reply: it loses the types that only this reply has."""
    counts = np.bincount(words.ravel(), minlength=500)
    own = np.apply_along_axis(np.bincount, 1, words, minlength=500)
    lost = ((own == counts) & (own > 0)).sum(axis=1)
    result: Array = 100 * ((counts > 0).sum() - lost) / (words.size - words.shape[1])
    return result


def test_the_interval_of_a_distance_reaches_down_to_no_distance() -> None:
    """Two equal mixes of labels: the true divergence is 0, which percentiles never hold and mirrored ones do."""
    random = np.random.default_rng(4)
    held = 0
    for trial in range(100):
        pairs = random.integers(5, size=(300, 2))
        rows = [
            Output(str(i), 1, reply_label=str(a), reference_label=str(b)) for i, (a, b) in enumerate(pairs)
        ]
        sample, weights = Sample(rows), draws(300, 200, seed=trial)
        found = interval(METRICS["intent_divergence"], sample, weights)
        table = sample.table(METRICS["intent_divergence"])  # type: ignore[arg-type]
        resampled = METRICS["intent_divergence"].finish(weights @ table.values, table.columns)  # type: ignore[attr-defined]
        assert percentiles(resampled)[0] > 0
        held += found.low == 0
    assert held >= 95, held


def test_permutation_by_hand() -> None:
    """Three dialogues, a better by 1 in each: of the 8 ways to swap, only two are as far from 0 as 3/3."""
    a, b = np.array([[2.0, 1], [3, 1], [4, 1]]), np.array([[1.0, 1], [2, 1], [3, 1]])
    swaps = np.array(list(product([0.0, 1.0], repeat=3)))
    permuted = permuted_differences(a, b, mean, swaps)
    assert sorted(permuted.round(6).tolist()) == pytest.approx(
        [-1, -1 / 3, -1 / 3, -1 / 3, 1 / 3, 1 / 3, 1 / 3, 1]
    )
    assert permutation_p(1.0, permuted) == pytest.approx((1 + 2) / (1 + 8))


def test_paired_permutation_keeps_its_promise() -> None:
    """Two equal systems, correlated by the dialogue: at 5 % it cries wolf in 4-6 % of 4,000 trials."""
    random = np.random.default_rng(11)
    alarms = 0
    for trial in range(4000):
        hard = random.normal(0, 1, 60)  # what both systems find hard
        turns = random.integers(1, 4, 60).astype(float)
        a, b = (np.column_stack([turns * (hard + random.standard_t(4, 60)), turns]) for _ in range(2))
        gap = float(mean(a.sum(axis=0)) - mean(b.sum(axis=0)))
        alarms += permutation_p(gap, permuted_differences(a, b, mean, flips(60, 399, seed=trial))) <= 0.05
    assert 0.04 <= alarms / 4000 <= 0.06, alarms / 4000


def test_paired_bootstrap_covers_the_difference() -> None:
    random = np.random.default_rng(13)
    hits = 0
    for trial in range(1000):
        hard = random.normal(0, 1, 150)
        a, b = (np.column_stack([hard + random.normal(m, 0.7, 150), np.ones(150)]) for m in (0.2, 0.0))
        low, high = percentiles(bootstrap_differences(a, b, mean, draws(150, 300, seed=trial)))
        hits += low <= 0.2 <= high
    assert 930 <= hits <= 970, hits


def test_pairing_finds_what_two_intervals_do_not() -> None:
    """A system that is a little better in every dialogue: its interval overlaps, the paired test is sure."""
    random = np.random.default_rng(2)
    lengths = random.integers(3, 30, 120)
    a = said(*("w " * (n + 1) for n in lengths))
    b = said(*("w " * n for n in lengths))
    first, second = Sample(a), Sample(b)
    weights = draws(120, 500)
    one, other = interval(METRICS["length"], first, weights), interval(METRICS["length"], second, weights)
    assert one.low is not None and other.high is not None and one.low < other.high
    test = paired(METRICS["length"], first, second, weights, flips(120, 500))
    assert test.p < 0.01
    assert test.difference.value == pytest.approx(1)
    assert test.difference.low == pytest.approx(1)


def test_paired_types_by_hand_and_of_a_system_with_itself() -> None:
    a, b = said(*[f"w{i} x{i}" for i in range(40)]), said(*["so sorry"] * 40)
    test = paired(METRICS["distinct_1"], Sample(a), Sample(b), draws(40, 100), flips(40, 200))
    assert (test.a, test.b) == (100, 100 * 2 / 80)
    assert test.p == pytest.approx(1 / 201)
    same = paired(METRICS["distinct_1"], Sample(a), Sample(a), draws(40, 100), flips(40, 200))
    assert (same.difference.value, same.p) == (0, 1)


def test_labels_that_only_one_system_offers() -> None:
    a = [Output(str(i), 1, gold="sad", guesses=("sad",)) for i in range(30)]
    b = [Output(str(i), 1, gold="sad", guesses=("angry",)) for i in range(30)]
    test = paired(METRICS["macro_f1"], Sample(a), Sample(b), draws(30, 50), flips(30, 50))
    assert (test.a, test.b) == (1, 0)  # what each is alone: sad is perfect; sad missed, angry never true


def test_a_comparison_shows_what_each_system_scores_alone() -> None:
    """Every metric, random outputs with labels that only one of the two offers."""
    random = np.random.default_rng(8)
    words = "i am so sorry to hear that oh no what happened".split()

    def system(labels: str) -> Outputs:
        rows = []
        for i in range(60):
            shares = random.dirichlet(np.ones(len(labels)))
            rows.append(
                Output(
                    str(i // 2),
                    i % 2,
                    reference=" ".join(random.choice(words, 300)),
                    reply=" ".join(random.choice(words, 400)),
                    gold="abcdef"[i % 6],
                    emotion=dict(zip(labels, shares.tolist(), strict=True)),
                    log_likelihood=-float(i),
                    tokens=5,
                    candidates=("a", "b", "c"),
                    scores=tuple(random.normal(size=3).tolist()),
                    answer=i % 3,
                    reference_label="abc"[i % 3],
                    reply_label=str(random.choice(list(labels))),
                )
            )
        return Outputs(Header(labels), tuple(rows))

    a, b = system("abcdefg"), system("abxyz")
    alone = [evaluate(side, resamples=0).scores for side in (a, b)]
    together = compare(a, b, resamples=20).tests
    assert set(together) == set(METRICS)
    for name, test in together.items():
        assert (test.paired.a, test.paired.b) == (alone[0][name].value, alone[1][name].value), name


def test_labels_that_do_not_occur_weigh_nothing() -> None:
    """a perfect, b missed: (1 + 0) / 2, also where a third label has columns and no counts."""
    columns = tuple((label, kind) for label in "abc" for kind in ("right", "offered", "true"))
    sums = np.array([1.0, 1, 1, 0, 0, 1, 0, 0, 0])
    assert float(METRICS["macro_f1"].finish(sums, columns)) == 0.5  # type: ignore[attr-defined]


def test_a_permutation_without_a_value_is_no_small_gap() -> None:
    """Both sides have 10,001 words; when one of the two dialogues changes places, one side has two."""
    a, b = Sample(said("w " * 10_000, "w")), Sample(said("w", "x " * 10_000))
    with pytest.raises(
        Undefined, match=r"change places in some dialogues: there are fewer than 10,000 1-grams"
    ):
        paired(METRICS["distinct_1_at"], a, b, draws(2, 50), flips(2, 50))
    with pytest.raises(Undefined, match=r"^there are fewer than 10,000 1-grams"):
        paired(METRICS["distinct_1_at"], a, Sample(said("w", "x")), draws(2, 50), flips(2, 50))
    alone = interval(METRICS["distinct_1_at"], a, draws(2, 50))
    assert (alone.low, alone.high) == (None, None)


def test_intervals_end_where_the_metric_ends() -> None:
    """Every reply different but for two that are equal: the jackknife would reach beyond 100 %."""
    found = interval(METRICS["distinct_replies"], Sample(said(*"abcdefghia")), draws(10, 50))
    assert found.value == 90
    assert found.high == 100
    assert found.low is not None and found.low < 90


def test_many_resamples_fit_into_memory() -> None:
    weights = draws(3000, 20_000)
    assert weights.nbytes == 60_000_000  # a byte each
    assert (weights[::4000].sum(axis=1, dtype=int) == 3000).all()  # whole resamples, in every block
    values = np.arange(6000.0).reshape(3000, 2)
    assert weighted(weights[:3000], values) == pytest.approx(weights[:3000].astype(float) @ values)


def test_paired_refuses_other_turns() -> None:
    with pytest.raises(InvalidValue, match="same turns"):
        paired(METRICS["length"], Sample(said("a")), Sample(said("a", "b")), draws(2, 5), flips(2, 5))


def test_holm_by_hand() -> None:
    """.01·4, .03·3, .04·2 → not below .09, .05·1 → not below .09."""
    assert holm([0.04, 0.01, 0.05, 0.03]) == pytest.approx([0.09, 0.04, 0.09, 0.09])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []
