"""Scoring a system, comparing two, ranking many."""

import json

import pytest

from heartfelt.errors import BadData, InvalidValue, UnknownName
from heartfelt.evaluation import (
    METRICS,
    Header,
    Output,
    Outputs,
    compare,
    evaluate,
    from_texts,
    leaderboard,
    to_json,
)
from heartfelt.evaluation.scoring import human_of

HUMAN = [f"well that must have been reply number {i} for you" for i in range(40)]


def system(name: str, replies: list[str]) -> Outputs:
    return from_texts(name, replies, HUMAN)


GENERIC = system("generic", ["i am sorry to hear that"] * 40)
NEAR = system("near", [text.replace("must", "should") for text in HUMAN])


def test_all_that_the_outputs_allow_with_the_human_beside() -> None:
    result = evaluate(GENERIC, resamples=100)
    assert result.scores["sorry_to_hear"].value == 100
    assert result.human["sorry_to_hear"].value == 0
    assert result.scores["distinct_replies"].value == 100 / 40
    assert result.human["distinct_replies"].value == 100
    assert "avg_bleu" not in result.human  # people beside themselves say nothing
    assert set(result.scores) | set(result.skipped) == {*METRICS, "ses"}
    assert result.skipped["ppl"] == "the outputs have no log_likelihood, tokens"
    assert result.skipped["accuracy_1"] == "the outputs have no gold, emotion or guesses"
    assert result.skipped["distinct_1_at"] == "there are fewer than 10,000 1-grams"
    assert (result.turns, result.dialogues) == (40, 40)


def test_the_same_seed_gives_the_same_intervals() -> None:
    assert evaluate(NEAR, ["length", "f1"], 50, seed=5) == evaluate(NEAR, ["length", "f1"], 50, seed=5)
    assert evaluate(NEAR, ["f1"], 50, seed=5) != evaluate(NEAR, ["f1"], 50, seed=6)


def test_intervals_hold_the_value_and_can_be_left_out() -> None:
    for name, score in evaluate(NEAR, resamples=200).scores.items():
        assert score.low is not None and score.high is not None, name
        assert score.low - 1e-9 <= score.value <= score.high + 1e-9, name
    assert all(score.low is None for score in evaluate(NEAR, resamples=0).scores.values())


def test_notes_say_what_to_know_first() -> None:
    rows = (
        Output(
            "1",
            1,
            reference="Oh no",
            reply="no",
            gold="sad",
            guesses=(),
            candidates=("a", "b"),
            scores=(1, 2),
            answer=0,
        ),
        Output(
            "2",
            1,
            reference="Oh no",
            reply="no",
            gold="sad",
            guesses=("sad",),
            candidates=("a", "b"),
            scores=(1, 2),
            answer=0,
        ),
    )
    notes = evaluate(Outputs(Header("x", unmatched=("line 3: what",)), rows), resamples=0).notes
    assert notes[0].startswith("1 rows of ")
    assert notes[1] == "P@1,N and MRR: N = 2 candidates a turn"
    assert "--spelling peers" in notes[2]
    assert notes[3] == "1 turns (50%) have no emotion guess and count as wrong"


def test_compare_finds_the_difference_and_corrects_over_the_table() -> None:
    result = compare(NEAR, GENERIC, resamples=400)
    assert result.tests["f1"].paired.difference.value > 50
    assert result.tests["f1"].p_holm < 0.05
    assert all(test.p_holm >= test.paired.p for test in result.tests.values())
    assert compare(NEAR, NEAR, ["f1"], 100).tests["f1"].p_holm == 1


def test_compare_wants_the_same_turns_or_says_which_are_missing() -> None:
    part = Outputs(GENERIC.header, GENERIC.rows[:30])
    with pytest.raises(
        InvalidValue, match=r"near answers 10 turns .* the first is turn 0 of 31 of near.*--shared"
    ):
        compare(NEAR, part)
    result = compare(NEAR, part, ["f1"], 50, partly=True)
    assert (result.turns, result.only_a, result.only_b) == (30, 10, 0)
    stranger = Outputs(Header("stranger"), (Output("elsewhere", 1, reply="a", reference="b"),))
    with pytest.raises(BadData, match="no turn in common"):
        compare(NEAR, stranger)


def test_what_does_not_compare_is_refused_or_skipped() -> None:
    one, other = (Outputs(Header(name, corpus=name), NEAR.rows) for name in ("one", "other"))
    with pytest.raises(InvalidValue, match="one answers one and other other: they do not compare"):
        compare(one, other)

    def ranker(name: str, n: int) -> Outputs:
        some = {"candidates": tuple("abc"[:n]), "scores": (1.0, 2.0, 3.0)[:n], "answer": 0}
        return Outputs(Header(name), tuple(Output(str(i), 1, **some) for i in range(3)))  # type: ignore[arg-type]

    skipped = compare(ranker("two", 2), ranker("three", 3), ["p_at_1"], 20).skipped
    assert skipped["p_at_1"] == "2 candidates a turn against 3 do not compare"


def test_a_figure_without_an_interval_says_why() -> None:
    """10,000 words in two dialogues: leaving out one leaves too few."""
    rows = tuple(Output(str(i), 1, reply="w " * 5000) for i in range(2))
    result = evaluate(Outputs(Header("x"), rows), ["distinct_1_at"], 20)
    assert result.notes == ("distinct_1_at has no interval: it is undefined on some resamples",)


def test_compare_notes_other_spelling() -> None:
    spelt = from_texts("spelt", ["i am sorry"] * 40, [text.upper() for text in HUMAN])
    assert "40 turns are spelt differently" in compare(GENERIC, spelt, ["length"], 50).notes[0]


def test_leaderboard_ranks_and_tests_against_the_first() -> None:
    again = system("again", [text.replace("must", "might") for text in HUMAN])
    guesses = Outputs(Header("guesses"), (Output("1", 0, gold="sad", guesses=("sad",)),))
    board = leaderboard([GENERIC, guesses, NEAR, again], by="avg_bleu", resamples=200)
    assert [result.system for result in board.results] == ["again", "near", "generic", "guesses"]
    assert board.p["generic"] < 0.05
    assert board.p["near"] == 1
    assert "guesses" not in board.p


def test_lower_is_better_where_it_is() -> None:
    assert leaderboard([GENERIC, NEAR], by="top_20", resamples=50).results[0].system == "near"


def test_no_direction_ranks_by_nearness_to_people() -> None:
    """People say "sorry to hear" in 1 of 4 replies: 0 of 4 is nearer than 3 of 4."""
    human = ["sorry to hear it", "b", "c", "d"]
    never = from_texts("never", ["x", "y", "z", "w"], human)
    often = from_texts("often", ["sorry to hear"] * 3 + ["y"], human)
    board = leaderboard([often, never], by="sorry_to_hear", resamples=20)
    assert [result.system for result in board.results] == ["never", "often"]
    alone = Outputs(Header("alone"), (Output("1", 1, reply="a"), Output("2", 1, reply="b")))
    with pytest.raises(InvalidValue, match="length has no better and worse of its own"):
        leaderboard([alone], by="length", resamples=0)


def test_one_gives_a_distribution_and_the_other_guesses() -> None:
    first = Outputs(
        Header("first"), tuple(Output(str(i), 1, gold="sad", emotion={"sad": 1.0}) for i in range(5))
    )
    second = Outputs(
        Header("second"), tuple(Output(str(i), 1, gold="sad", guesses=("angry",)) for i in range(5))
    )
    result = compare(first, second, ["accuracy_1", "ece"], 50)
    assert (result.tests["accuracy_1"].paired.a, result.tests["accuracy_1"].paired.b) == (1, 0)
    assert result.skipped["ece"] == "second has no emotion"
    assert leaderboard([first, second], by="accuracy_1", resamples=50).p["second"] < 0.2


def test_names() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'avg_bleu'"):
        evaluate(NEAR, ["avgbleu"])
    with pytest.raises(InvalidValue, match="two outputs files are of the system 'near'"):
        leaderboard([NEAR, NEAR])


def test_json_holds_no_nan() -> None:
    for result in (evaluate(NEAR, resamples=20), compare(NEAR, GENERIC, resamples=20)):
        assert json.loads(to_json(result), parse_constant=lambda name: pytest.fail(name))


def test_english_phrases_are_not_counted_in_arabic() -> None:
    arabic = from_texts("ar", ["أنا آسف", "ماذا حدث؟"], ["ماذا حدث؟", "لماذا؟"], language="ar")
    result = evaluate(arabic, resamples=0)
    assert result.skipped["sorry_to_hear"] == "it knows the phrases of 'en', the outputs are in 'ar'"
    assert result.scores["distinct_replies"].value == 100


def test_the_human_beside_a_leaderboard_is_that_of_the_most_turns() -> None:
    few = Outputs(Header("few"), GENERIC.rows[:5])
    board = leaderboard([few, NEAR], by="f1", resamples=20)
    people = human_of(board.results, "length")
    assert people is not None
    assert people.value == 10
    assert "2 different sets of turns" in board.notes[0]


def test_too_little_to_compare() -> None:
    one = from_texts("one", ["a b"], ["c"])
    with pytest.raises(InvalidValue, match="two dialogues at least"):
        compare(one, one)
    with pytest.raises(InvalidValue, match="and resamples"):
        compare(NEAR, GENERIC, resamples=0)
    assert leaderboard([NEAR, GENERIC], resamples=0).p == {}
    assert evaluate(one).scores["length"].low is None
