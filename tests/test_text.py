"""Words, and the undoing of tokenisers."""

import pytest

from heartfelt.text import content_words, detokenized, normalized, same_key, sentences, words


def test_words_keep_contractions_whole() -> None:
    assert words("I’m so GLAD, it's 5 o'clock_now!") == ["i'm", "so", "glad", "it's", "o'clock", "now"]
    assert words("كيف حالك؟") == ["كيف", "حالك"]
    assert words("مُعَلِّم شكرًا جـــدا") == ["معلم", "شكرا", "جدا"]  # vowel signs and stretching do not count
    assert words("cafe\u0301 café") == ["café", "café"]


def test_content_words_leave_function_words_out() -> None:
    assert content_words("ذهبت إلى السوق مع صديقي", "ar") == ["ذهبت", "السوق", "صديقي"]
    assert content_words("c'est la vie", "fr") == ["c'est", "la", "vie"]  # no list, nothing left out
    assert content_words("That's what I would have done, oh no!") == ["that's", "would", "done", "oh"]


def test_normalized_forgets_case_and_punctuation() -> None:
    assert normalized("Hello,   WORLD!") == normalized("hello world")
    assert normalized("I am 5.") != normalized("I am 7.")


def test_the_same_text_has_one_key() -> None:
    assert same_key("That’s  GREAT!!") == same_key("thats great") == "thatsgreat"
    assert same_key("I am 5") != same_key("I am 7")
    assert same_key("?") != same_key("!")  # nothing but marks: then they count
    assert same_key("شكرًا!") == same_key("شكرا")


def test_sentences() -> None:
    assert sentences(" Oh no! What happened?  Is it 3.5 miles...") == [
        "Oh no!", "What happened?", "Is it 3.5 miles...",
    ]  # fmt: skip
    assert sentences("كيف حالك؟ أنا بخير") == ["كيف حالك؟", "أنا بخير"]


@pytest.mark.parametrize(
    ("tokenised", "plain"),
    [
        ("You haven 't slept , have you ?", "You haven't slept, have you?"),
        ("Let ' s go . I 'm late !", "Let's go. I'm late!"),
        ("I do n't know ( yet ) .", "I don't know (yet)."),
        ("She 's my mother 's friend", "She's my mother's friend"),
        ("It costs $ 5 , or 3 % more …", "It costs $5, or 3% more…"),
        ("At ten o ’ clock , or 8 : 30 ?", "At ten o'clock, or 8:30?"),
        ("15 , 000 and $ 4 . 25", "15,000 and $4.25"),
        ('He said " go away " twice .', 'He said "go away" twice.'),
        ("Let ' em in . What are you doin ' ?", "Let 'em in. What are you doin'?"),
        ("With that .45 of yours", "With that .45 of yours"),
        ("Already plain, isn't it?", "Already plain, isn't it?"),
    ],
)
def test_detokenized(tokenised: str, plain: str) -> None:
    assert detokenized(tokenised) == plain
