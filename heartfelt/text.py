"""Words: how we cut text into them, and which of them carry no content."""

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_TOKEN = re.compile(r"\w+(?:'\w+)*")
_TATWEEL = "\u0640"  # stretches an Arabic word, and means nothing


def _letters(text: str) -> str:
    """Lower case, one kind of apostrophe, and no marks on or under letters (Arabic vowels, accents)."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace("’", "'"))
        text = unicodedata.normalize(
            "NFC", "".join(c for c in unicodedata.normalize("NFD", text) if not _mark(c))
        )
    return text.lower()


def _mark(char: str) -> bool:
    # Latin accents stay: résumé is not resume. What goes are the vowel signs that Arabic mostly leaves out.
    return char == _TATWEEL or "\u064b" <= char <= "\u0652" or char == "\u0670"


def words(text: str) -> list[str]:
    """Lower-case words, contractions whole: "I’m so GLAD" → i'm, so, glad."""
    return _WORD.findall(_letters(text))


def normalized(text: str) -> str:
    """What is left when case, vowel signs, punctuation and spacing do not count; numbers do."""
    return " ".join(_TOKEN.findall(_letters(text)))


def same_key(text: str) -> str:
    """Texts with one key are the same text: only letters and digits count, so "Thats great" is "that's great!"."""
    return "".join(char for char in normalized(text) if char.isalnum()) or " ".join(text.split())


def readable(text: str) -> str:
    """The same without lone surrogates, which no file and no terminal takes; pairs of them are joined."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_SENTENCE_END = re.compile(r"(?<=[.!?…؟])\s+")


def sentences(text: str) -> list[str]:
    """A text cut after . ! ? … where white space follows; abbreviations are not known."""
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]


def whole_sentences(text: str) -> str:
    """A text that was cut off, up to its last sentence that ends; all of it where none does."""
    told = sentences(text)
    ends = [i for i, sentence in enumerate(told) if sentence.endswith((".", "!", "?", "…"))]
    return " ".join(told[: ends[-1] + 1]) if ends else text


def language_of(text: str) -> str:
    """ "ar" where most letters are Arabic, "en" elsewhere: the two that we speak."""
    letters = [char for char in text if char.isalpha()]
    arabic = sum("\u0600" <= char <= "\u06ff" or "\u0750" <= char <= "\u077f" for char in letters)
    return "ar" if 2 * arabic > len(letters) else "en"


# Function words by class, for counting content words. In English, contractions of "I am" and "that is" stay content
# on purpose: rashkin2019's Figure 3 counts "i'm" and "that's" among the most used words.
STOP_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
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
    ),
    "ar": frozenset(
        """
        أنا أنت أنتم نحن هو هي هم هما انا انت هذا هذه ذلك تلك هؤلاء الذي التي الذين ما من ماذا
        في على إلى الى عن مع عند بين بعد قبل حتى منذ خلال حول دون ضد تحت فوق أمام
        و أو او ثم أم لكن بل إذا اذا لو لأن لان كي أن ان إن أنه أنها انه إنه إنها أنني أنك أنا كما مثل
        لا لم لن ليس ليست غير قد لقد سوف كان كانت كنت يكون تكون كانوا هل كيف متى أين لماذا
        كل بعض أي هنا هناك الآن فقط أيضا جدا عندما حيث لي لك له لها لهم لنا به بها فيه فيها منه منها
        عليه عليها إليه مني معي
        """.split()
    ),
}


def content_words(text: str, language: str = "en") -> list[str]:
    """The words of a text without its language's STOP_WORDS; all of them where we have no list."""
    stop = STOP_WORDS.get(language, frozenset())
    return [word for word in words(text) if word not in stop]


# What a tokeniser put in, in the order in which it is taken out again.
_DETOKENISE = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bo ?' ?clock\b", "o'clock"),
        (r"(\w) ?' ?(s|m|re|ve|ll|d|t)\b", r"\1'\2"),  # I 'm, haven 't, Let ' s
        (r" n't\b", "n't"),  # do n't
        (r" ' ?em\b", " 'em"),
        (r"(\w+in) '(?= |$)", r"\1'"),  # doin ' it
        (r"(\d) ?: ?(\d\d)\b", r"\1:\2"),  # 8 : 30
        (r"(\d) , ?(\d{3})\b", r"\1,\2"),  # 15 , 000
        (r"(\$ ?\d+) \. ?(\d\d)\b", r"\1.\2"),  # $ 4 . 25
        (r" +([,!?;:%)\]}…]|\.(?!\d))", r"\1"),
        (r"([(\[{]|[$#](?= \d)) +", r"\1"),
        (r'(?<![^ ])" ([^"]*?) ?"(?![^ ,.!?;:])', r'"\1"'),
    )
]


def detokenized(text: str) -> str:
    """Undo the spaces that a tokeniser put in: "You haven 't slept ?" → "You haven't slept?".

    Not undone: a possessive after s (the boys ' night), which looks like the start of a quotation.
    """
    text = " ".join(text.replace("’", "'").split())
    for pattern, replacement in _DETOKENISE:
        text = pattern.sub(replacement, text)
    return text
