"""Words: how we cut text into them, and which of them carry no content."""

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def words(text: str) -> list[str]:
    """Lower-case words, contractions whole, one kind of apostrophe: "I’m so GLAD" → i'm, so, glad."""
    return _WORD.findall(text.lower().replace("’", "'"))


def normalized(text: str) -> str:
    """What is left when case, accents' encoding, punctuation and spacing do not count."""
    return " ".join(words(unicodedata.normalize("NFKC", text)))


# English function words by class, for counting content words. Contractions of "I am" and "that is" stay
# content on purpose: rashkin2019's Figure 3 counts "i'm" and "that's" among the most used words.
STOP_WORDS: frozenset[str] = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    this that these those who whom whose which what
    a an the some any each few more most other own same such both all no nor not only
    am is are was were be been being have has had having do does did doing
    can will shall should must may might
    it's he's she's you're you've you'll you'd
    don't doesn't didn't isn't aren't wasn't weren't hasn't haven't hadn't
    won't wouldn't shan't shouldn't mustn't couldn't mightn't needn't
    and but or if because as until while than so
    of at by for with about against between into through during before after above below
    to from up down in out on off over under
    again further then once here there when where why how now just too very
    s t d ll m o re ve don
    """.split()
)


def content_words(text: str) -> list[str]:
    """The words of a text without STOP_WORDS."""
    return [word for word in words(text) if word not in STOP_WORDS]


_NO_SPACE_BEFORE = re.compile(r" +([,.!?;:%)\]}…]|n't\b|'(?:s|m|re|ve|ll|d|t)\b)", re.IGNORECASE)
_NO_SPACE_AFTER = re.compile(r"([(\[{$#]) +")
_APOSTROPHE = re.compile(r"(\w) ?[’'] ?(s|m|re|ve|ll|d|t)\b", re.IGNORECASE)


def detokenized(text: str) -> str:
    """Undo the spaces that a tokeniser put in: "You haven 't slept ?" → "You haven't slept?"."""
    text = _APOSTROPHE.sub(r"\1'\2", " ".join(text.split()))
    text = _NO_SPACE_BEFORE.sub(r"\1", text)
    return _NO_SPACE_AFTER.sub(r"\1", text)
