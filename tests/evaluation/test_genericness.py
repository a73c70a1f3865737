"""Saying the same to everyone: distinct replies, top twenty, stock phrases, mix of intents, by hand."""

import math

import numpy as np
import pytest

from heartfelt.evaluation import METRICS, Output, from_texts
from heartfelt.evaluation.genericness import STOCK_PHRASES, says, top_share
from heartfelt.evaluation.metric import spectrum_of


def value(name: str, replies: list[str]) -> float:
    return METRICS[name].value(from_texts("x", replies, ["-"] * len(replies)).rows)


def test_distinct_replies_by_hand() -> None:
    """Case and spacing do not make a reply different; punctuation does: 3 of 4."""
    assert value("distinct_replies", ["Oh no", "oh  no ", "oh no !", "why"]) == 75


def test_top_share_by_hand() -> None:
    """Replies said 5, 3, 3, 1 times: the top two are 5 + 3 of 12, the top three 11 of 12."""
    spectrum = spectrum_of(np.array([5, 3, 3, 1]))
    assert top_share(spectrum, 1) == pytest.approx(100 * 5 / 12)
    assert top_share(spectrum, 2) == pytest.approx(100 * 8 / 12)
    assert top_share(spectrum, 3) == pytest.approx(100 * 11 / 12)
    assert top_share(spectrum, 20) == 100


def test_top_twenty_of_fifty_different_replies() -> None:
    assert value("top_20", [f"reply {i}" for i in range(50)]) == 40


def test_sorry_to_hear_by_hand() -> None:
    replies = ["I'm so sorry to hear that", "i am sorry", "Sorry  to hear it !", "great"]
    assert value("sorry_to_hear", replies) == 50
    assert value("stock_phrases", [*replies, "that’s awful", "why ?"]) == pytest.approx(100 * 3 / 6)


@pytest.mark.parametrize(
    ("phrase", "said"),
    [
        ("sorry to hear", "oh i am sorry to hear that"),
        ("sorry for / about / that", "sorry about your dog"),
        ("i hope you / it / he / she", "I hope it gets better"),
        ("i am glad", "I'm really glad you came"),
        ("i am sure", "i am sure you will"),
        ("that is great / good / awful…", "That's so sad"),
    ],
)
def test_every_stock_phrase_is_found(phrase: str, said: str) -> None:
    assert says(STOCK_PHRASES[phrase])(said)
    assert not says(STOCK_PHRASES[phrase])("what did your sister do then ?")


def labelled(replies: str, references: str) -> list[Output]:
    return [
        Output(str(i), 1, reply_label=a, reference_label=b)
        for i, (a, b) in enumerate(zip(replies, references, strict=True))
    ]


def test_entropy_by_hand() -> None:
    """Half, a quarter, a quarter: 1/2·1 + 1/4·2 + 1/4·2 = 1.5 bits; all the same: 0."""
    assert METRICS["intent_entropy"].value(labelled("qqsc", "qqqq")) == pytest.approx(1.5)
    assert METRICS["intent_entropy"].value(labelled("qqqq", "qsca")) == 0


def test_divergence_by_hand() -> None:
    """System q q q, human q s s, half a count each: (3.5, 0.5) / 4 against (1.5, 2.5) / 4."""
    by_hand = 3.5 / 4 * math.log2(3.5 / 1.5) + 0.5 / 4 * math.log2(0.5 / 2.5)
    assert METRICS["intent_divergence"].value(labelled("qqq", "qss")) == pytest.approx(by_hand)
    assert METRICS["intent_divergence"].value(labelled("qsc", "csq")) == pytest.approx(0)
