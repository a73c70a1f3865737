"""BLEU by hand and beside sacrebleu; F1; similarity with an embedder whose cosines are known."""

import math
import random

import numpy as np
import pytest
import sacrebleu

from heartfelt.errors import MissingExtra
from heartfelt.evaluation import METRICS, from_texts
from heartfelt.evaluation.metric import Array
from heartfelt.evaluation.overlap import minilm, similarity
from heartfelt.evaluation.tokens import parlai, rashkin


def value(name: str, replies: list[str], references: list[str]) -> float:
    return METRICS[name].value(from_texts("x", replies, references).rows)


def test_bleu_by_hand() -> None:
    """the cat sat on the mat / the cat is on the mat: 5 of 6 words, 3 of 5 pairs, 1 of 4 triples, 0 of 3."""
    replies, references = ["the cat sat on the mat"], ["the cat is on the mat"]
    one, two, three = 5 / 6, math.sqrt(5 / 6 * 3 / 5), (5 / 6 * 3 / 5 * 1 / 4) ** (1 / 3)
    assert value("bleu_1", replies, references) == pytest.approx(100 * one)
    assert value("bleu_2", replies, references) == pytest.approx(100 * two)
    assert value("bleu_3", replies, references) == pytest.approx(100 * three)
    assert value("bleu_4", replies, references) == 0
    assert value("avg_bleu", replies, references) == pytest.approx(100 * (one + two + three + 0) / 4)


def test_brevity_penalty_and_corpus_level_by_hand() -> None:
    """3 of 3 words match, 5 were asked for: exp(1 - 5/3). Lengths add up before the penalty."""
    replies, references = ["i see", "good"], ["i see that", "good boy"]
    assert value("bleu_1", replies, references) == pytest.approx(100 * math.exp(1 - 5 / 3))


def test_a_word_counts_no_oftener_than_the_reference_has_it() -> None:
    """the the the the / the cat: one of four."""
    assert value("bleu_1", ["the the the the"], ["the cat"]) == pytest.approx(25)


def test_punctuation_is_cut_off() -> None:
    said = "Oh no! I'm sorry... really?"
    assert " ".join(parlai(said)) == "oh no ! i ' m sorry ... really ?"
    assert " ".join(rashkin(said)) == "Oh no ! I ' m sorry . . . really ?"


def test_case_counts_in_the_cased_average() -> None:
    """Oh no . / oh no .: cased 2 of 3 words, 1 of 2 pairs, no triple; in lower case all match, but no 4-gram is."""
    one, two = 2 / 3, math.sqrt(2 / 3 * 1 / 2)
    assert value("avg_bleu_cased", ["Oh no."], ["oh no."]) == pytest.approx(100 * (one + two) / 4)
    assert value("avg_bleu", ["Oh no."], ["oh no."]) == pytest.approx(75)


def test_the_cased_average_cuts_references_at_100_tokens() -> None:
    """100 words against 150 of the same: cut, there is nothing short about it."""
    assert value("avg_bleu_cased", ["w " * 100], ["w " * 150]) == pytest.approx(100)
    assert value("avg_bleu", ["w " * 100], ["w " * 150]) == pytest.approx(100 * math.exp(1 - 1.5))


def sentences(seed: int, count: int) -> list[str]:
    random.seed(seed)
    words = [
        "i",
        "am",
        "so",
        "sorry",
        "to",
        "hear",
        "that",
        ".",
        "what",
        "happened",
        "?",
        "oh",
        "no",
        "!",
        "it's",
        "great,",
        "really",
    ]
    return [" ".join(random.choices(words, k=random.randint(1, 15))) for _ in range(count)]


def test_equals_sacrebleu_where_the_recipes_coincide() -> None:
    replies, references = sentences(1, 300), sentences(2, 300)
    theirs = sacrebleu.corpus_bleu(replies, [references]).score
    assert value("sacrebleu", replies, references) == pytest.approx(theirs, rel=1e-9)
    # BLEU-n of our recipe: sacrebleu on the same tokens, no smoothing, order n.
    cut = [" ".join(parlai(text)) for text in replies]
    goal = [" ".join(parlai(text)) for text in references]
    for order in (1, 2, 3, 4):
        scorer = sacrebleu.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order)
        expected = scorer.corpus_score(cut, [goal]).score
        assert value(f"bleu_{order}", replies, references) == pytest.approx(expected, rel=1e-9)


def test_equals_sacrebleu_where_an_order_has_no_match() -> None:
    """Smoothing: the first order without a match counts a half, the next a quarter."""
    replies, references = ["the cat sat on the mat"], ["a dog is on the run"]
    theirs = sacrebleu.corpus_bleu(replies, [references]).score
    assert theirs > 0
    assert value("sacrebleu", replies, references) == pytest.approx(theirs, rel=1e-9)


def test_f1_by_hand() -> None:
    """so sorry / so so sorry you: 2 shared of 2 and 4 tokens, 2·2/6; no overlap: 0. Mean of both, × 100."""
    assert value("f1", ["so sorry", "yes"], ["So so sorry you", "no"]) == pytest.approx(100 * (4 / 6 + 0) / 2)


def test_similarity_by_hand() -> None:
    """Vectors (3, 4) and (1, 0) of any length: cosine 3/5; a text with itself: 1; at a right angle: 0."""
    vectors = {"glad": (6, 8), "happy": (2, 0), "north": (0, 5)}
    seen: list[list[str]] = []

    def embedder(texts: list[str]) -> Array:
        seen.append(texts)
        return np.array([vectors[text] for text in texts], np.float64)

    metric = similarity(embedder)
    rows = from_texts("x", ["glad", "glad", "north"], ["happy", "glad", "happy"]).rows
    assert metric.value(rows) == pytest.approx((0.6 + 1 + 0) / 3, abs=1e-7)
    assert seen == [["glad", "happy", "north"]]  # each text is embedded once


def test_minilm_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'heartfelt\[similarity\]'"):
        minilm()
