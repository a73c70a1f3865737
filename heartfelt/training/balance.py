"""Which label to name when some are rare: chances over how often a label is foreseen, to a power that valid likes.

The likeliest label is the right choice for accuracy, and names rare labels hardly ever. Taking away a part of the prior
(logit adjustment, Menon et al. 2021) finds more of them; how large a part is fitted for weighted F1 on valid.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from heartfelt.training.scores import Array

_POWERS = np.linspace(0, 1, 21)


@dataclass(frozen=True)
class Balance:
    power: float
    log_prior: NDArray[np.float64]  # (labels,) how often each is foreseen on valid

    def __call__(self, logits: Array) -> Array:
        balanced: Array = log_softmax(logits, axis=-1) - self.power * self.log_prior
        return balanced


def best_balance(logits: Array, gold: NDArray[np.integer[Any]]) -> Balance:
    """(items, labels) logits of valid, and the index of each item's label."""
    if not len(gold):
        return Balance(0.0, np.zeros(logits.shape[-1]))
    log_prior = np.log(np.maximum(np.exp(log_softmax(logits, axis=-1)).mean(0), 1e-12))
    tried = [Balance(float(power), log_prior) for power in _POWERS]
    return max(tried, key=lambda one: weighted_f1(one(logits).argmax(-1), gold))


def weighted_f1(named: NDArray[np.integer[Any]], gold: NDArray[np.integer[Any]]) -> float:
    labels = int(max(named.max(), gold.max())) + 1
    right = np.bincount(gold[named == gold], minlength=labels)
    of_gold, of_named = np.bincount(gold, minlength=labels), np.bincount(named, minlength=labels)
    f1 = 2 * right / np.maximum(of_gold + of_named, 1)
    return float((f1 * of_gold).sum() / of_gold.sum())
