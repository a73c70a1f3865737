"""Words, and the undoing of tokenisers."""

import pytest

from heartfelt.text import content_words, detokenized, normalized, words


def test_words_keep_contractions_whole() -> None:
    assert words("I’m so GLAD, it's 5 o'clock_now!") == ["i'm", "so", "glad", "it's", "o'clock", "now"]
    assert words("كيف حالك؟") == ["كيف", "حالك"]


def test_content_words_leave_function_words_out() -> None:
    assert content_words("That's what I would have done, oh no!") == ["that's", "would", "done", "oh"]


def test_normalized_forgets_case_and_punctuation() -> None:
    assert normalized("Hello,   WORLD!") == normalized("hello world")


@pytest.mark.parametrize(
    ("tokenised", "plain"),
    [
        ("You haven 't slept , have you ?", "You haven't slept, have you?"),
        ("Let ' s go . I 'm late !", "Let's go. I'm late!"),
        ("I do n't know ( yet ) .", "I don't know (yet)."),
        ("She 's my mother 's friend", "She's my mother's friend"),
        ("It costs $ 5 , or 3 % more …", "It costs $5, or 3% more…"),
        ("Already plain, isn't it?", "Already plain, isn't it?"),
    ],
)
def test_detokenized(tokenised: str, plain: str) -> None:
    assert detokenized(tokenised) == plain
