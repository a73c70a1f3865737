"""The numbers of a classifier, by hand."""

import numpy as np
import pytest

from heartfelt.training.scores import auroc, scores
from heartfelt.training.tasks import Item, Task


def test_auroc_by_hand() -> None:
    chances, truth = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    # Of the four pairs, three are in order and one is tied.
    assert auroc(chances, truth, np.ones(4)) == 3.5 / 4
    # The tied negative counted three times: pairs 1+.5 each for three, and two for the other: (3 + 1.5 + 2) / 8.
    assert auroc(chances, truth, np.array([1, 1, 3, 1])) == 6.5 / 8
    assert np.isnan(auroc(chances, np.ones(4, bool), np.ones(4)))


def test_a_head_of_two_labels_has_an_auroc_with_an_interval() -> None:
    task = Task("gate", "", {"neutral": ("felt", "plain")}, lambda split, data: iter(()))
    draw = np.random.default_rng(0)
    items = [Item(f"d{i // 2}", i, ("x",), {"neutral": ("felt", "plain")[i % 2]}) for i in range(200)]
    logits = np.stack(
        [np.zeros(200), draw.normal(size=200) + 2 * np.array([i % 2 for i in range(200)])], axis=-1
    )
    value, low, high = scores(task, items, logits)["neutral"]["auroc"]
    assert low < value < high
    assert value == pytest.approx(0.92, abs=0.04)  # Φ(2 / √2) = .921


def test_where_one_label_or_one_dialogue_is_all_there_is_nothing_is_made_up() -> None:
    task = Task("gate", "", {"neutral": ("felt", "plain")}, lambda split, data: iter(()))
    items = [Item("d", i, ("x",), {"neutral": ("felt", "plain")[i % 2]}) for i in range(4)]
    logits = np.array([[0.0, i % 2] for i in range(4)])
    assert scores(task, items, logits)["neutral"]["auroc"] == [1.0, None, None]
    found = scores(task, items[::2], logits[::2])["neutral"]
    assert "auroc" not in found
    assert found["accuracy_1"] == [1.0, None, None]
