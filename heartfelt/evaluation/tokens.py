"""How text is cut for the metrics. A recipe names one of these; published figures differ mostly in this."""

import re
from collections.abc import Sequence

_PUNCTUATION = re.compile(r"(\.\.\.|[.,;:!'?])")


def whitespace(text: str) -> list[str]:
    """Lower-cased, cut at white space: what the MoEL line scores its already tokenised replies with."""
    return text.lower().split()


def parlai(text: str) -> list[str]:
    """Lower-cased, . , ; : ! ' ? and ... cut off: ParlAI's cut, "..." whole as it means it, and lower case."""
    return _PUNCTUATION.sub(r" \1 ", text.lower()).split()


def rashkin(text: str) -> list[str]:
    """The tokens of facebookresearch's EmpatheticDialogues: case kept, and every full stop of "..." a token."""
    return re.sub(r"([.,;:!'?])", r" \1 ", text).split()


def ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[i:] for i in range(n)), strict=False))


def same(text: str) -> str:
    """What two replies must share to be the same reply: all but case and spacing."""
    return " ".join(whitespace(text))


# What the MoEL line writes out; other contractions (she's, wouldn't) are only cut: she 's, would n't.
_WRITTEN_OUT = {
    "it's": "it is", "i'm": "i am", "that's": "that is", "what's": "what is", "there's": "there is",
    "you're": "you are", "they're": "they are", "there're": "there are", "i've": "i have", "we've": "we have",
    "you'll": "you will", "i'd": "i would", "you'd": "you would", "can't": "can not", "won't": "will not",
    "don't": "do not", "doesn't": "does not", "didn't": "did not", "couldn't": "could not", "aren't": "are not",
    "isn't": "is not", "wasn't": "was not", "weren't": "were not",
}  # fmt: skip
_CUTS = tuple(
    (re.compile(pattern), into)
    for pattern, into in (
        ("|".join(_WRITTEN_OUT), lambda found: _WRITTEN_OUT[found[0]]),
        (r"[\"“”]", " "),
        (r"\.\.\.|--+", r" \g<0> "),
        (r"[?!;@#$%&()\[\]{}<>]", r" \g<0> "),
        (r"[:,](?!\d)", r" \g<0> "),
        (r"(?<![.\s])\.(?=\s)(?!\s*,)|(?<![.\s])\.$", " . "),
        (r"n't\b|'(?:s|m|d|ll|re|ve)\b", r" \g<0>"),
        (
            r"\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b",
            lambda found: " ".join(filter(None, found.groups())),
        ),
    )
)


def peers(text: str) -> str:
    """A text as the published files of the MoEL line spell it: 99.5 % of ED's test replies to the letter."""
    text = text.lower().replace("’", "'").strip()
    for pattern, into in _CUTS:
        text = pattern.sub(into, text)
    return " ".join(text.split())
