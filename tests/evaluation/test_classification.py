"""Accuracy, precision, recall, F1 and calibration, by hand."""

import math

import pytest

from heartfelt.evaluation import METRICS, Output


def guessed(*pairs: tuple[str, str]) -> list[Output]:
    """(true, guesses best first, one letter each; "" for no answer)."""
    return [Output(str(i), 1, gold=gold, guesses=tuple(guesses)) for i, (gold, guesses) in enumerate(pairs)]


def value(name: str, rows: list[Output]) -> float:
    return METRICS[name].value(rows)


def test_accuracy_by_hand() -> None:
    rows = guessed(("a", "abcde"), ("b", "acbde"), ("e", "abcde"), ("z", "abcde"), ("a", ""))
    assert value("accuracy_1", rows) == 1 / 5
    assert value("accuracy_3", rows) == 2 / 5
    assert value("accuracy_5", rows) == 3 / 5


def test_distributions_rank_by_probability_and_ties_by_name() -> None:
    rows = [
        Output("1", 1, gold="sad", emotion={"sad": 0.2, "angry": 0.5, "afraid": 0.3}),
        Output("2", 1, gold="afraid", emotion={"sad": 0.5, "afraid": 0.5, "angry": 0.0}),
    ]
    assert value("accuracy_1", rows) == 1 / 2
    assert value("accuracy_3", rows) == 1


def test_top_five_of_a_system_that_names_one_is_undefined() -> None:
    assert math.isnan(value("accuracy_5", guessed(("a", "a"))))
    # One deep answer among shallow ones makes no top three; no answer is wrong, not shallow.
    assert math.isnan(value("accuracy_3", guessed(("a", "abc"), ("b", "b"))))
    assert value("accuracy_3", guessed(("a", "abc"), ("b", ""))) == 1 / 2


def test_precision_recall_f1_by_hand() -> None:
    """
    true a a a b, guessed a b - b (- is no answer):
    a: 1 right, 1 offered, 3 true: P 1, R 1/3, F1 1/2;  b: 1 right, 2 offered, 1 true: P 1/2, R 1, F1 2/3
    """
    rows = guessed(("a", "a"), ("a", "b"), ("a", ""), ("b", "b"))
    assert value("macro_precision", rows) == pytest.approx((1 + 1 / 2) / 2)
    assert value("macro_recall", rows) == pytest.approx((1 / 3 + 1) / 2)
    assert value("macro_f1", rows) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert value("weighted_precision", rows) == pytest.approx((3 * 1 + 1 * 1 / 2) / 4)
    assert value("weighted_recall", rows) == pytest.approx((3 * 1 / 3 + 1 * 1) / 4)
    assert value("weighted_f1", rows) == pytest.approx((3 * 1 / 2 + 1 * 2 / 3) / 4)


def test_a_label_that_is_only_offered_counts_in_the_macro_average() -> None:
    """As in scikit-learn: a is perfect, c is offered and never true, b missed: (1 + 0 + 0) / 3."""
    assert value("macro_f1", guessed(("a", "a"), ("b", "c"))) == pytest.approx(1 / 3)


def sure(gold: str, confidence: float) -> Output:
    return Output(f"{gold}{confidence}", 1, gold=gold, emotion={"a": confidence, "b": 1 - confidence})


def test_calibration_by_hand() -> None:
    """
    Confidence .91 and .92 share the bin (13/15, 14/15], one of them right: |1.83 - 1| = .83.
    Confidence .6 is alone in (8/15, 9/15] and right: |.6 - 1| = .4. Together (.83 + .4) / 3.
    """
    rows = [sure("a", 0.91), sure("b", 0.92), sure("a", 0.6)]
    assert value("ece", rows) == pytest.approx((0.83 + 0.4) / 3, abs=1e-6)


def test_a_calibrated_system_has_no_error() -> None:
    """Says .75 four times and is right three times."""
    rows = [Output(str(i), 1, gold="ab"[i == 3], emotion={"a": 0.75, "b": 0.25}) for i in range(4)]
    assert value("ece", rows) == pytest.approx(0, abs=1e-6)
