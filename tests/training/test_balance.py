"""Rare labels are named as often as weighted F1 on valid likes."""

import numpy as np
import pytest

from heartfelt.training.balance import Balance, best_balance, weighted_f1


def test_weighted_f1_by_hand() -> None:
    gold, named = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    # Label 0: P 1, R 2/3, F1 4/5, three times; label 1: P 1/2, R 1, F1 2/3, once.
    assert weighted_f1(named, gold) == pytest.approx((3 * 4 / 5 + 2 / 3) / 4)


def test_the_prior_is_taken_away_as_far_as_that_helps() -> None:
    # Label 0 is always likeliest; in the last rows less so, and there the label is 1.
    chances = np.array([[0.9, 0.1]] * 8 + [[0.6, 0.4]] * 4)
    gold = np.array([0] * 8 + [1] * 4)
    balance = best_balance(np.log(chances), gold)
    assert balance.power > 0
    assert (balance(np.log(chances)).argmax(-1) == gold).all()
    easy = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))
    assert best_balance(easy, np.array([0, 1])).power == 0  # what is right is left alone


def test_without_power_nothing_changes() -> None:
    logits = np.random.default_rng(0).normal(size=(5, 3))
    assert (Balance(0.0, np.zeros(3))(logits).argmax(-1) == logits.argmax(-1)).all()
