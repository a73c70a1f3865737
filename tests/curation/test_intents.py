"""From seeds to n-grams to labelled turns, by hand."""

from pathlib import Path

import pytest

from heartfelt import Dialogue, Turn, corpora
from heartfelt.curation import intents
from heartfelt.errors import InvalidValue

SEEDS = [
    ("Good luck!", "wishing"),
    ("Good luck to you", "wishing"),
    ("I wish you good luck", "wishing"),
    ("What happened to you?", "questioning"),
    ("What happened?", "questioning"),
    ("Oh, what happened?", "questioning"),
]


def turns_of(*texts: str) -> Dialogue:
    return Dialogue("d", tuple(Turn(("speaker", "listener")[i % 2], text) for i, text in enumerate(texts)))


def test_ngrams_are_the_frequent_ones_of_their_intent() -> None:
    found = intents.frequent_ngrams(SEEDS)
    # "good", "luck" and "good luck" occur in the same three seeds: the shorter ones say it all.
    assert [(str(g), g.seeds, g.purity) for g in found["wishing"]] == [("good", 3, 1.0), ("luck", 3, 1.0)]
    assert [str(g) for g in found["questioning"]] == ["happened", "what"]
    # "you" occurs in two seeds of three here and one of three there: purity 2/3.
    loose = intents.frequent_ngrams(SEEDS, min_seeds=2, min_purity=0.6)
    assert ("you", 2, 0.667) in [(str(g), g.seeds, g.purity) for g in loose["wishing"]]
    with pytest.raises(InvalidValue, match="no seeds"):
        intents.frequent_ngrams([])


def test_only_the_listeners_turns_that_one_intent_claims() -> None:
    found = intents.frequent_ngrams(SEEDS)
    dialogue = turns_of(
        "Good luck to me", "Good luck!", "Thanks", "What happened? Good luck.", "hm", "I see."
    )
    (kept,) = intents.extend([dialogue], found)
    assert kept.id == "d:1"
    assert kept.turns == (Turn("listener", "Good luck!", "wishing"),)
    assert kept.meta == {"ngram": "luck"}


def test_claims_are_counted() -> None:
    found = intents.frequent_ngrams(SEEDS)
    claims = intents.Claims()
    dialogue = turns_of("hm", "Good luck!", "hm", "What happened? Good luck.", "hm", "I see.")
    list(intents.extend([dialogue], found, claims=claims))
    assert (claims.intents, claims.several, claims.none) == ({"wishing": 1}, 1, 1)
    assert claims.looked_at == 3
    # Cut into sentences, both of the second turn are kept.
    kept = list(intents.extend([dialogue], found, by_sentence=True))
    assert [(d.id, d.turns[0].text) for d in kept] == [
        ("d:1.0", "Good luck!"), ("d:3.0", "What happened?"), ("d:3.1", "Good luck."),
    ]  # fmt: skip


def test_an_ngram_of_two_intents_claims_for_both() -> None:
    gram = ("hope",)
    found = {
        "wishing": [intents.NGram(gram, "wishing", 1, 0.5)],
        "consoling": [intents.NGram(gram, "consoling", 1, 0.5)],
    }
    assert list(intents.extend([turns_of("hm", "I hope so")], found)) == []


def test_agreement_by_hand() -> None:
    def said(*pairs: tuple[str, str]) -> list[Dialogue]:
        return [Dialogue(str(i), (Turn("listener", *pair),)) for i, pair in enumerate(pairs)]

    ours = said(("Good luck!", "wishing"), ("Oh no", "sympathizing"), ("Why?", "questioning"))
    theirs = said(("good luck", "wishing"), ("good luck", "encouraging"), ("oh no.", "acknowledging"))
    assert intents.agreement(ours, theirs) == intents.Agreement(ours=3, theirs=2, shared=2, same_label=1)


def test_balance_keeps_so_many_of_each_and_equal_texts_once() -> None:
    found = intents.frequent_ngrams(SEEDS)
    many = [
        turns_of("a", text)
        for text in ("Good luck", "good luck!", "luck, luck", "best of luck", "what happened")
    ]
    numbered = [Dialogue(str(i), d.turns) for i, d in enumerate(many)]
    kept = intents.balance(intents.extend(numbered, found), most=2, seed=1)
    assert len(kept) == 3
    assert [d.turns[0].label for d in kept].count("wishing") == 2
    assert kept == intents.balance(intents.extend(numbered, found), most=2, seed=1)


def test_the_real_seeds(data: Path) -> None:
    found = intents.frequent_ngrams(intents.seeds_of(corpora.load("intent_seeds", data=data)))
    assert set(found) == set(intents.INTENTS)
    assert str(found["sympathizing"][0]) == "sorry"
    assert "did you" in [str(gram) for gram in found["questioning"]]
