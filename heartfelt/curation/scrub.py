"""What stands in subtitles and is not said: tags, music, sounds, names of who speaks, advertisements.

Letters that were misread are mended. Every removal is counted by its reason.
"""

import html
import re
from collections import Counter

_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>|\{\\[^{}\n]{0,400}\}|\{[a-zA-Z]:[^{}\n]{0,80}\}|\{\d+\}")
_ITALIC = re.compile(r"<i>|\{\\i1\}|\{y:i\}", re.I)
_SOUND = re.compile(r"\[[^\[\]]{0,200}\]|\([^()]{0,200}\)|\*[^*\n]{1,60}\*")
_OPEN_SOUND = re.compile(r"^\W*[\[(][^\])]*$|^[^\[(]*[\])]\W*$")
_MUSIC = re.compile(r"[♪♫♬♩¶]|^\s*[-–—]?\s*#[^#\d].*|.*[^#\s]\s*#\s*$", re.M)
_ROLES = (
    "man|men|woman|women|boy|boys|girl|girls|all|both|crowd|voice|voices|narrator|announcer|reporter|newscaster|"
    "anchor|operator|computer|kid|kids|child|children|guard|soldier|officer|doctor|nurse|driver|singer|chorus"
)
_LABEL = re.compile(
    rf"^((?:[A-Z][A-Z0-9.'’&#/-]*)(?: (?:[A-Z0-9#][A-Z0-9.'’&#/-]*|&|and|on|over))*|(?i:(?:{_ROLES}))(?: ?#?\d)?"
    r"(?: on \w+| over \w+)?) ?: +(?=\S)|^((?:[A-Z][A-Z0-9.'’&#/-]+)(?: [A-Z0-9.'’&#/-]+)*) ?:$"
)
_LONGEST_LABEL = 30
_DASH = re.compile(r"^\s*[-–—‐‑―]{1}\s*(?=[^\s\-–—‐‑―])")
_MADE = (
    "subtitl(?:e|es|ed|ing)|subs|caption(?:s|ed|ing)?|transcript(?:ion|ed)?|transcribed|sync(?:hroni[sz]ed|hed|ed|ing)?|"
    "re-?sync(?:ed)?|translat(?:ed|ion)|correct(?:ed|ions?)|ripped|encoded|improved|edited|adapted|download(?:ed)?|"
    "uploaded|created|extracted|timing"
)
_ADVERTISED = re.compile(
    r"https?://|\bwww\.|\b[\w-]{2,}\.(?:com|org|net|tv|info|ag|mx|lt)\b|open ?subtitles|\bosdb\b|subscene|addic7ed|"
    r"podnapisi|\byify\b|\byts\b|\brarbg\b|[©™]|(?<!\w)@\w{3,}|"
    rf"(?:^|\n)\W{{0,4}}(?:this )?(?:{_MADE})\b[^.!?\n]{{0,40}}\b(?:by|from|at)\b(?: ?:| (?-i:[A-Z\W_]))|"
    r"\bsubtitl(?:e|es|ed) [^.!?\n]{0,30}\bby\b|advertise your product|become (?:a )?vip member|remove all ads|"
    r"support us and|"
    r"rate this subtitle|help other users to choose|captioning (?:made|sponsored|provided)|closed.captioned",
    re.I,
)

# A capital I that was read as a small L, or as a bar, where no word has one.
_MISREAD = (
    (re.compile(r"(?<![\w'’])[l|](?=['’](?:m|ll|ve|d)\b|(?: [a-z]|,? [a-z]))(?![\w])"), "I"),
    (re.compile(r"(?<![\w'’])l(?=(?:t|t['’]s|t['’]ll|f|n|s|sn['’]t|nto|nside|nstead)(?![\w]))"), "I"),
    (re.compile(r"(?<=[a-z])(?<!\bMc)(?<!\bMac)I(?=I?(?:[a-z]|\b))|(?<=[a-z]I)I\b"), "l"),
    (re.compile(r"\b(?!Ian|Iow|Iag|Ion|Iod|Iot)I(?=[aeiou][a-z])"), "l"),
    (re.compile(r"(?<=\w)''(?=\w)|`|´"), "'"),
)
_DOUBLY = re.compile(r"â€|Ã[\x80-\xbf©¨ªº±³¶¼¡-]|Â[\xa0-\xbf]")
_SPACES = re.compile(r"[^\S\n]+")
_INVISIBLE: dict[int, str | None] = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), 0xFEFF, 0xAD, *range(32), 127]
)
_INVISIBLE |= {9: " ", 10: "\n"}  # a line's end stays


def mended(text: str, seen: Counter[str]) -> str:
    """Text that was encoded twice, set right; and letters that a scanner misread."""
    if not text.isascii():
        if _DOUBLY.search(text):
            try:
                text = text.encode("cp1252").decode("utf-8")
                seen["encoded twice"] += 1
            except UnicodeError:
                pass
        text = text.translate(_INVISIBLE)
    elif not text.isprintable():
        text = text.translate(_INVISIBLE)
    if "l" in text or "I" in text or "`" in text or "|" in text or "''" in text:
        for pattern, letter in _MISREAD:
            text, count = pattern.subn(letter, text)
            if count:
                seen["misread letters"] += count
    return text


def advertised(text: str) -> bool:
    """Is this an advertisement, or a credit of those who made the subtitle?"""
    return bool(_ADVERTISED.search(text))


def block(text: str, seen: Counter[str]) -> tuple[str, bool]:
    """What is said in a block of text on screen, its lines apart, and whether it is in italics.

    Nothing is left of a block that is music or an advertisement.
    """
    italic = False
    if "<" in text or "{" in text:
        italic = bool(_ITALIC.search(text))
        text, count = _TAG.subn("", text)
        if count:
            seen["tags"] += count
    if "&" in text:
        text = html.unescape(text)
    text = mended(text, seen)
    if advertised(text):
        seen["advertisements"] += 1
        return "", italic
    return said(text, seen), italic


def said(text: str, seen: Counter[str]) -> str:
    """The text without music and sounds."""
    if _MUSIC.search(text):
        seen["music"] += 1
        return ""
    if "[" in text or "(" in text or "*" in text or "]" in text or ")" in text:
        text, count = _SOUND.subn(" ", text)
        kept = [line for line in text.split("\n") if not _OPEN_SOUND.match(line)]
        text = "\n".join(kept)
        if count:
            seen["sounds"] += count
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def opens(text: str) -> bool:
    """Does somebody else begin to speak here: with a dash, or with a name before it?"""
    if _DASH.match(text):
        return True
    label = _LABEL.match(text) if ":" in text[: _LONGEST_LABEL + 2] else None
    return bool(label) and len(label[1] or label[2]) > 1  # type: ignore[index]


def opening(text: str, seen: Counter[str]) -> tuple[str, bool, str]:
    """The text without a dialogue dash and a speaker's name before it; whether there was a dash, and the name."""
    rest = _DASH.sub("", text, count=1)
    dash = len(rest) != len(text)
    name = ""
    if ":" in rest[: _LONGEST_LABEL + 2] and (label := _LABEL.match(rest)):
        found = label[1] or label[2]
        if len(found) <= _LONGEST_LABEL and len(found) > 1:
            name, rest = found, rest[label.end() :]
            seen["speaker names"] += 1
            again = _DASH.sub("", rest, count=1)
            dash, rest = dash or len(again) != len(rest), again
    return rest.strip(), dash, name
