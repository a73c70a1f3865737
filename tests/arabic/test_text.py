"""Arabic text: one spelling, clitics and back, whatever the text is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt import corpora
from heartfelt.arabic import clitic_marks, open_segmenter, prepare, restore, segment
from heartfelt.arabic.clitics import PREFIXES, SUFFIXES, Segmenter, marked
from heartfelt.files import Faults
from tests.conftest import skip

PLAIN = open_segmenter("plain")


def farasa() -> Segmenter:
    try:
        return open_segmenter("farasa")
    except Exception as problem:
        skip(str(problem))
        raise


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("مُدَرِّسَةٌ", "مدرسة"),  # vowel signs
        ("جمـــيل", "جميل"),  # tatweel
        ("جميييييل!!!!", "جمييل!!"),  # of a repetition, two are left
        ("١٢٣ و ۴۵۶", "123 و 456"),  # Arabic-Indic and Persian digits
        ("أحمد إلى آخر", "أحمد إلى آخر"),  # alef keeps its forms
        ("ﻣﺮﺣﺒﺎ ﻻ", "مرحبا لا"),  # letters of old encodings
        ("انظر https://example.org/a?b=1 هنا", "انظر [رابط] هنا"),
        ("راسلني على a.b@example.org", "راسلني على [بريد]"),
        ("شكرا @some_one", "شكرا [مستخدم]"),
        ("<br />أهلا&nbsp;بك", "أهلا بك"),
        ("مرحبا ، كيف الحال ؟", "مرحبا، كيف الحال؟"),
        ("(نعم) «لا» \" ربما \"", '(نعم) «لا» "ربما"'),
        ("ل93.7 % و10:30", "ل93.7% و10:30"),  # numbers stay whole, and keep their clitic
        ("5سنوات", "5 سنوات"),
        ("واي-فاي أ/ب", "واي-فاي أ/ب"),
        ("احبك 😂😂😂😂 ❤️ 👩🏽‍🚀 🇪🇬", "احبك 😂 😂 ❤️ 👩🏽‍🚀 🇪🇬"),
        ("7abibi 3ala rasi", "7abibi 3ala rasi"),  # Arabizi is Latin: left alone
        ("I can't يا صديقي, ok?", "I can't يا صديقي, ok?"),
        ("\u200fنعم\u200b\ufeff", "نعم"),  # what nobody sees
        ("5 + 3 = 8", "5 + 3 = 8"),
        ("🙂", "🙂"),
        ("", ""),
        ("  \n\t ", ""),
    ],
)  # fmt: skip
def test_one_spelling(text: str, prepared: str) -> None:
    assert prepare(text) == prepared
    assert prepare(prepared) == prepared


def test_alef_only_where_asked() -> None:
    assert prepare("أحمد إلى آخر ٱسم", alef=True) == "احمد الى اخر اسم"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("وللناس كتاباتهم.", "و+ ل+ ال+ ناس كتاب +ات +هم ."),
        ("له كتاب", "ل+ +ه كتاب"),
        ("والمدرسة، للمعلمين!", "و+ ال+ مدرس +ة ، ل+ ال+ معلم +ين !"),
        ("لليل", "ل+ ال+ ليل"),  # three lams are written as two
        ("ل93 وال10", "ل+ 93 و+ ال+ 10"),
        ("3.5 واي-فاي", "3 +.+ 5 واي +-+ فاي"),
        ("[رابط] 🙂", "[رابط] 🙂"),
        ("5 + 3", "5 + 3"),
        ("", ""),
    ],
)
def test_cut_and_put_together(text: str, cut: str) -> None:
    assert segment(text, PLAIN) == cut
    assert restore(cut) == text


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("+ات كتاب و+", "ات كتاب و"),  # clitics without a word
        ("ل+ الله", "لله"),
        ("[ رابط ]", "[رابط]"),  # as a tokenizer may give it back
        ("س+ 5", "س5"),
        ("+ + +", "+ + +"),  # no clitic is a plus alone
        ("كتاب  +ي   جميل .", "كتابي جميل."),
    ],
)
def test_restoring_what_a_model_might_say(said: str, read: str) -> None:
    assert restore(said) == read


def test_what_does_not_make_the_word_again_is_not_cut() -> None:
    assert marked("لالناس", ["ل", "ال", "ناس"]) == ("لالناس",)  # ل+ ال+ ناس is للناس
    assert marked("لله", ["لال", "ه"]) == ("لله",)
    assert marked("للناس", ["ل", "ال", "ناس"]) == ("ل+", "ال+", "ناس")
    assert marked("كتب", []) == ("كتب",)


def by_chance(word: str) -> tuple[str, ...]:
    """Cuts anywhere, sense or none: the inverse must not hang on who cuts."""
    at = sum(map(ord, word)) % (len(word) + 1)
    for affix in PREFIXES:
        if word.startswith(affix) and len(word) > len(affix):
            return marked(word, [affix, *by_chance_parts(word[len(affix) :])])
    return marked(word, [word[:at], word[at:]])


def by_chance_parts(word: str) -> list[str]:
    for affix in SUFFIXES:
        if word.endswith(affix) and len(word) > len(affix):
            return [word[: -len(affix)], affix]
    return [word]


by_chance.name = "by chance"  # type: ignore[attr-defined]

STEMS = "كتاب بيت ناس صديق حب ليل لغة الله التزام ولد كلب سماء شيء لول أم ال و ل لل هم".split()
PIECES = st.one_of(
    st.builds(
        lambda before, stem, behind: before + stem + behind,
        st.sampled_from(["", "و", "ال", "وال", "لل", "ولل", "ب", "بال", "س", "ف", "ك", "ل", "لال"]),
        st.sampled_from(STEMS),
        st.sampled_from(["", *SUFFIXES, "تهم", "اتنا", "ني"]),
    ),
    st.sampled_from(
        ["hello", "can't", "3ala", "93", "7.5", "10:30", "+", "++", "+ه", "و+", "[رابط]", "[", "]", "رابط"]
    ),
    st.sampled_from(
        [*"،؛؟!.,:;()«»\"'-/_#%٪&@…", "...", "!!!", "😂", "😂😂😂", "❤️", "@x", "&amp;", "<b>", "a@b.co"]
    ),
    st.text(st.sampled_from("ابتلوهيكفسةىء ًّـ+\u200d\u200f١٢"), max_size=8),
)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "  "])), max_size=12).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_restoring_is_the_exact_inverse(text: str) -> None:
    prepared = prepare(text)
    for cut in (PLAIN, by_chance, open_segmenter("none")):
        assert restore(segment(text, cut)) == prepared
        assert restore(segment(prepared, cut)) == prepare(prepared)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_at_all(text: str) -> None:
    assert restore(segment(text, PLAIN)) == prepare(text)
    restore(text)


def turns(name: str, split: str, data: Path) -> Iterator[str]:
    for dialogue in corpora.load(name, split, data=data, faults=Faults()):
        yield from (turn.text for turn in dialogue.turns)


@pytest.mark.parametrize("open_", [lambda: PLAIN, farasa], ids=["plain", "farasa"])
@pytest.mark.parametrize(
    ("name", "splits"),
    [
        ("arabic_ed_test", ("train", "valid", "test")),
        ("emotone", ("all",)),
        ("chitchat", ("chatterbot_arabic",)),
    ],
)
def test_inverse_on_all_texts_at_hand(
    name: str, splits: tuple[str, ...], open_: Callable[[], Segmenter], data: Path
) -> None:
    cut = open_()
    seen = 0
    for split in splits:
        for text in turns(name, split, data):
            prepared = prepare(text)
            assert prepare(prepared) == prepared
            assert restore(segment(text, cut)) == prepared
            seen += 1
    assert seen > 1000


def test_marks_are_those_that_occur() -> None:
    found = set(segment("وبالكتابات لها [رابط] سيكتبون", PLAIN).split())
    assert {mark for mark in found if "+" in mark or "[" in mark} <= set(clitic_marks())
