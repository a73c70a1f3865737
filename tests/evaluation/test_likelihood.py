"""Perplexities of two replies, worked out by hand."""

import math

import pytest

from heartfelt.evaluation import METRICS, Output

# 6 nats over 3 tokens, 2 words, 8 bytes; and 2 nats over 1 token, 1 word, 4 bytes (é has two).
ROWS = (
    Output("a", 1, reference="good job", log_likelihood=-6.0, tokens=3),
    Output("b", 1, reference="olé", log_likelihood=-2.0, tokens=1),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ppl", math.exp((6 + 2) / (3 + 1))),
        ("ppl_word", math.exp((6 + 2) / (2 + 1))),
        ("bits_per_byte", (6 + 2) / math.log(2) / (8 + 4)),
        ("ppl_reply_mean", math.exp((6 / 3 + 2 / 1) / 2)),
    ],
)
def test_by_hand(name: str, expected: float) -> None:
    assert METRICS[name].value(ROWS) == pytest.approx(expected, rel=1e-6)


def test_the_two_averaging_rules_differ_when_lengths_do() -> None:
    """A long easy reply and a short hard one: token weighting favours the long one."""
    rows = (
        Output("a", 1, reference="x", log_likelihood=-9.0, tokens=9),
        Output("b", 1, reference="y", log_likelihood=-3.0, tokens=1),
    )
    assert METRICS["ppl"].value(rows) == pytest.approx(math.exp(12 / 10), rel=1e-6)
    assert METRICS["ppl_reply_mean"].value(rows) == pytest.approx(math.exp((1 + 3) / 2), rel=1e-6)


def test_an_even_guess_among_v_words_has_perplexity_v() -> None:
    rows = [
        Output(str(i), 0, reference="a b", log_likelihood=2 * math.log(1 / 50), tokens=2) for i in range(7)
    ]
    assert METRICS["ppl"].value(rows) == pytest.approx(50, rel=1e-6)
