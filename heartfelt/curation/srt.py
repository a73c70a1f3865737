"""SubRip files (.srt): encodings detected, blocks read whatever lacks between them, sentences made across blocks."""

import codecs
import re
from collections.abc import Iterator

from heartfelt.curation import scrub
from heartfelt.curation.subtitle import Line, Seen, Subtitle, Unreadable

LARGEST = 8 << 20  # bytes: a film has a tenth of a megabyte
_TIMES = re.compile(
    r"^\W{0,3}(\d{1,3}) ?: ?(\d{1,2}) ?: ?(\d{1,2})(?: ?[,.:] ?(\d{1,3}))? *-{1,3}> *"
    r"(\d{1,3}) ?: ?(\d{1,2}) ?: ?(\d{1,2})(?: ?[,.:] ?(\d{1,3}))?"
)
_NUMBER = re.compile(r"^\s*\d{1,6}\s*$")
_STOP = re.compile(r"[.!?…][\"'”’]*\s+(?=[\"“‘'¿¡–—-]?\s?[A-Z0-9])")
_ABBREVIATED = frozenset("mr mrs ms dr st lt col gen sgt capt prof jr sr rev hon mt vs no".split())
_ENDED = re.compile(r"[.!?…:;][\"'”’)]*$")
_NEW_SPEAKER = re.compile(r"(?<=[.!?…\"'”’]) +(?=[-–—] ?[A-Z])")  # two speakers in one line of a block
_GOES_ON = 3.0  # seconds after which an unfinished sentence is taken for finished

Piece = tuple[str, float | None, float | None, int, bool]  # text with its dash, start, end, block, italics


def read(content: bytes) -> Subtitle:
    """A SubRip file as sentences. Raises Unreadable where there is nothing that could be one."""
    if len(content) > LARGEST:
        raise Unreadable(f"{len(content) >> 20} MiB: too large for a subtitle")
    seen = Seen()
    text, encoding = decoded(content)
    blocks = 0
    pieces: list[Piece] = []
    for blocks, (start, end, shown) in enumerate(_blocks(text), start=1):
        said, italic = scrub.block(shown, seen)
        if said:
            pieces += _pieces(said, start, end, blocks, italic)
    if not blocks:
        raise Unreadable("no line with times (00:01:02,000 --> 00:01:04,000): not SubRip, or empty")
    lines = tuple(sentences(pieces, seen))
    if not lines:
        raise Unreadable(f"{blocks} blocks, and nothing is said in any of them")
    return Subtitle(lines, blocks, encoding, dict(seen))


def decoded(content: bytes) -> tuple[str, str]:
    """The text and its encoding: by its mark, else UTF-8, UTF-16 where every other byte is zero, else line by line
    UTF-8 or Windows-1252."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            if name == "utf-16":
                return content.decode(name, "replace"), name
            content = content[len(mark) :]
            break
    else:
        name = "utf-8"
    try:
        text = content.decode("utf-8")
        if "\0" not in text:
            return text, name
    except UnicodeDecodeError:
        pass
    head = content[:2000]
    for start, wide in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 20 and head[start::2].count(0) > 0.8 * len(head[start::2]):
            return content.decode(wide, "replace"), wide
    if head.count(0) > len(head) // 20:
        raise Unreadable("full of zero bytes: a binary file")
    parts, other = [], 0
    for line in content.replace(b"\0", b"").splitlines():
        try:
            parts.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            other += 1
            try:
                parts.append(line.decode("cp1252"))
            except UnicodeDecodeError:
                parts.append(line.decode("latin-1"))
    return "\n".join(parts), "cp1252" if other else name


def _blocks(text: str) -> Iterator[tuple[float | None, float | None, str]]:
    """Start, end and text of every block: what stands between two lines with times, without the next one's number."""
    times: tuple[float | None, float | None] | None = None
    shown: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if "->" in line and (found := _TIMES.match(line)):
            if times is not None:
                yield *times, _without_number(shown)
            times, shown = _seconds(found), []
        elif times is not None:
            shown.append(line)
    if times is not None:
        yield *times, "\n".join(shown).strip()


def _without_number(shown: list[str]) -> str:
    while shown and not shown[-1].strip():
        shown.pop()
    if shown and _NUMBER.match(shown[-1]):
        shown.pop()
    return "\n".join(shown).strip()


def _seconds(found: re.Match[str]) -> tuple[float | None, float | None]:
    numbers = [found[i] or "0" for i in range(1, 9)]
    start, end = (
        3600 * int(h) + 60 * int(m) + int(s) + float(f"0.{ms}") for h, m, s, ms in (numbers[:4], numbers[4:])
    )
    if end < start or end > 36_000:  # times that cannot be are as good as missing
        return None, None
    return round(start, 3), round(end, 3)


def _pieces(said: str, start: float | None, end: float | None, number: int, italic: bool) -> list[Piece]:
    """A block cut where a dash says that somebody else speaks, then at the ends of sentences."""
    voices: list[str] = []
    for line in said.split("\n"):
        for part in _NEW_SPEAKER.split(line):
            if voices and not scrub.opens(part):
                voices[-1] += " " + part
            else:
                voices.append(part)
    texts = [sentence for voice in voices for sentence in cut(voice)]
    last = len(texts) - 1
    return [
        (text, start if i == 0 else None, end if i == last else None, number, italic)
        for i, text in enumerate(texts)
    ]


def cut(text: str) -> list[str]:
    """A text cut into sentences: after . ! ? … where a capital follows, not after "Mr."."""
    found, begin = [], 0
    for stop in _STOP.finditer(text):
        before = text[begin : stop.start()].rsplit(None, 1)
        word = before[-1].lower() if before else ""
        if text[stop.start()] == "." and (word in _ABBREVIATED or (len(word) == 1 and word != "i")):
            continue
        found.append(text[begin : stop.end()].strip())
        begin = stop.end()
    found.append(text[begin:].strip())
    return [sentence for sentence in found if sentence]


def sentences(pieces: list[Piece], seen: Seen) -> Iterator[Line]:
    """Pieces as lines: one that does not end goes on in the next block, unless a dash, a name or a pause is between."""
    held: Line | None = None
    for text, start, end, block, italic in pieces:
        rest, dash, name = scrub.opening(text, seen)
        if not any(char.isalnum() for char in rest):
            continue
        line = Line(rest, start, end, block, block, dash, name, italic)
        if held is not None and _goes_on(held, line):
            tail = (
                rest.removeprefix("...").removeprefix("…").lstrip()
                if held.text.endswith(("...", "…"))
                else rest
            )
            held = Line(
                f"{held.text} {tail}", held.start, end, held.first, block, held.dash, held.name, held.italic
            )
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _goes_on(before: Line, after: Line) -> bool:
    if after.dash or after.name or before.last == after.first:
        return False
    if before.end is not None and after.start is not None and after.start - before.end > _GOES_ON:
        return False
    if before.start is not None and after.end is not None and after.end < before.start:  # out of order
        return False
    first = after.text.lstrip("\"'“‘")[:1]
    if before.text.endswith(("...", "…")):
        return first.islower() or after.text.startswith(("...", "…"))
    if _ENDED.search(before.text):
        return False
    return len(before.text) < 400 and (not before.text.endswith(("-", "–", "—")) or first.islower())
