"""One spelling for Arabic text, as AraBERT's models were shown it; and tokens, from which the text can be made again.

What AraBERT does, done here: vowel signs and tatweel go, links, addresses and names become [رابط], [بريد], [مستخدم],
HTML goes, Arabic-Indic digits become 0-9, of a letter or mark said more than twice two are left, words part from
punctuation and from digits. What it does not, we leave: forms of alef, ya and ta marbuta stay (`alef` joins the first).
What it loses and replies need, we keep: emoji, other scripts, and where a mark stands without spaces (3.5, wi-fi).
"""

import html
import re
import unicodedata

LINK, ADDRESS, NAME = "[رابط]", "[بريد]", "[مستخدم]"
MASKS = (LINK, ADDRESS, NAME)
LETTERS = "\u0621-\u063a\u0641-\u064a\u066e\u066f\u0671-\u06d3\u06d5\u06fa-\u06fc\u06ff\u0750-\u077f"
ARABIC = re.compile(f"[{LETTERS}]+")
# Clitics that are also written before numbers: ل93, ال10.
BEFORE_DIGITS = re.compile("[وف]?(?:[بكل]?ال|[بكل]|لل)|[وف]")

_SIGNS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]")
_OLD_FORMS = re.compile("[\ufb50-\ufdfb\ufe70-\ufefc]")  # letters as they are drawn, from old encodings
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_LINK = re.compile(r"(?:https?://|www\.)[^\s\[\]]+|\b[a-zA-Z0-9-]+\.(?:com|net|org)\b(?:/[^\s\[\]]*)?", re.I)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_NAME = re.compile(r"@\w+")
_REPEATED = re.compile(r"(\D)\1{2,}")
_DIGITS = {ord(digit): str(i % 10) for i, digit in enumerate("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹")}
_ALEF = {ord(form): "ا" for form in "أإآٱ"}

_PICTURE = "[\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934-\u2b55\U0001f000-\U0001faff]"
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    f"|{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]*(?:\u200d{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]*)*"
)
_INVISIBLE = re.compile(f"({_EMOJI})|[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufe0f\u00ad]")
# A mark between what it joins: wi-fi, 3.5, 10:30, أ/ب. A full stop or comma joins digits and Latin letters alone.
_JOINT = r"(?<=[^\W_])[-/_'’&](?=[^\W_])|(?<=[0-9])[.,:٫٬](?=[0-9])|(?<=[a-zA-Z])\.(?=[a-zA-Z])"
_TOKEN = re.compile(
    "|".join(
        (
            rf"(?P<mask>{'|'.join(map(re.escape, MASKS))})",
            f"(?P<emoji>{_EMOJI})",
            f"(?P<arabic>[{LETTERS}]+)",
            f"(?P<other>(?:(?![{LETTERS}])[^\\W_])+)",  # Latin and all else, with its digits: 3ala, covid19
            f"(?P<joint>{_JOINT})",
            r"(?P<mark>\S)",
        )
    )
)
_CLOSING = frozenset(".,!?:;،؛؟…%٪)]}»”")
_OPENING = frozenset("([{«“#")
_ROUNDS = 8  # until a text stays as it is; two do for nearly all


def prepare(text: str, alef: bool = False) -> str:
    """The text in one spelling; alef: all its forms as one."""
    return join(tokens(text, alef))


def tokens(text: str, alef: bool = False) -> list[str]:
    """Words, numbers, marks, emoji and masks. A mark that joins what it stands between is written +-+ (see join)."""
    found: list[str] = []
    for _ in range(_ROUNDS):  # what comes together when a space goes may be a repetition, or a link
        found = _cut(_clean(text, alef))
        again = join(found)
        if again == text:
            break
        text = again
    return found


def _clean(text: str, alef: bool) -> str:
    if text.isascii() and text.isalpha():
        return _REPEATED.sub(r"\1\1", text)
    text = _OLD_FORMS.sub(lambda old: unicodedata.normalize("NFKC", old[0]), html.unescape(text))
    text = _SIGNS.sub("", unicodedata.normalize("NFC", text)).translate(_DIGITS)
    text = _INVISIBLE.sub(lambda found: found[1] or "", text)
    text = "".join(char if char.isprintable() or char == "\u200d" else " " for char in text)
    text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(f" {ADDRESS} ", text)
    text = _LINK.sub(f" {LINK} ", text)
    text = _NAME.sub(f" {NAME} ", text)
    if alef:
        text = text.translate(_ALEF)
    return _REPEATED.sub(r"\1\1", text)


def _cut(text: str) -> list[str]:
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "joint":
            token = f"+{token}+"
        elif kind == "other" and found and token[0].isdecimal() and match.start():
            # ل93: a clitic before a number keeps to it; any other word parts from it.
            before = found[-1]
            if text[match.start() - 1] == before[-1] and BEFORE_DIGITS.fullmatch(before):
                found[-1] = f"{before}+"
        found.append(token)
    return found


def join(parts: list[str]) -> str:
    """Tokens as people write them: marks close up to words, and what is joined by a + has no space."""
    text, open_quotes, glued = "", 0, True
    for part in parts:
        joint = len(part) == 3 and part[0] == part[2] == "+"
        shown = part[1] if joint else part
        held = len(part) > 1 and part.endswith("+") and BEFORE_DIGITS.fullmatch(part[:-1])
        if held:
            shown = part[:-1]
        closing = part in _CLOSING
        if part == '"':
            closing, open_quotes = bool(open_quotes), 1 - open_quotes
        text += shown if glued or joint or closing else f" {shown}"
        glued = joint or bool(held) or part in _OPENING or (part == '"' and bool(open_quotes))
    return text
