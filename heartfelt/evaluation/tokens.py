"""How text is cut for the metrics. A recipe names one of these; published figures differ mostly in this."""

import re
from collections.abc import Sequence

_PUNCTUATION = re.compile(r"(\.\.\.|[.,;:!'?])")


def whitespace(text: str) -> list[str]:
    """Lower-cased, cut at white space: what the MoEL line scores its already tokenised replies with."""
    return text.lower().split()


def parlai(text: str) -> list[str]:
    """Lower-cased, . , ; : ! ' ? and … cut off: the tokens that rashkin2019's BLEU was counted on."""
    return _PUNCTUATION.sub(r" \1 ", text.lower()).split()


def ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[i:] for i in range(n)), strict=False))


def same(text: str) -> str:
    """What two replies must share to be the same reply: all but case and spacing."""
    return " ".join(whitespace(text))
