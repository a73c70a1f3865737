"""Subtitles that we wrote ourselves, in the formats of real ones."""

import gzip
from pathlib import Path

TALK = [
    ("Where have you been all night?", 1.0),
    ("I was at my sister's house.", 0.4),
    ("She lost the baby, and I could not leave her alone.", 0.1),
    ("Oh, I am so sorry to hear that.", 0.6),
    ("Do you want me to call the hospital?", 0.1),
    ("No. They cannot do anything now.", 0.5),
    ("I am afraid that she will never forgive me.", 0.2),
    ("You did everything that you could for her.", 0.7),
]


def stamp(seconds: float) -> str:
    whole, part = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{part:03d}"


def srt(blocks: list[tuple[float, float, str]]) -> str:
    return "\n".join(
        f"{i}\n{stamp(start)} --> {stamp(end)}\n{text}\n"
        for i, (start, end, text) in enumerate(blocks, start=1)
    )


def film(word: str, scenes: int = 8) -> str:
    """A film: scenes ten seconds apart, each a talk about something of its own."""
    blocks, now, own = [], 10.0, sum(word.encode())
    for scene in range(scenes):
        for i, (text, pause) in enumerate(TALK):
            now += pause
            added = (WORDS[(own + step * (scene + 1) + i * i) % len(WORDS)] for step in (1, 3, 5, 7))
            blocks.append((now, now + 2, f"{text[:-1]}, {word} {' '.join(added)} {scene}{text[-1]}"))
            now += 2
        now += 10
    return srt(blocks)


WORDS = "apple river window candle garden letter winter bridge station market mirror engine".split()


def opus(tokenised: bool = True) -> str:
    """The talk in OpenSubtitles' XML: two sentences share the second block."""
    sentences = [
        ("T1S", 1.0, "Where have you been ?", "T1E", 2.5),
        ("T2S", 3.0, "I 'm fine .", None, None),
        (None, None, "Don 't ask .", "T2E", 5.0),
        ("T3S", 20.0, "- He 's gone .", "T3E", 22.0),
    ]
    parts = []
    for number, (start, at, text, end, until) in enumerate(sentences, start=1):
        inner = f'<time id="{start}" value="{stamp(at or 0)}" />' if start else ""
        if tokenised:
            inner += "".join(f'<w id="{number}.{i}">{w}</w>\n' for i, w in enumerate(text.split(), start=1))
        else:
            inner += text.replace(" '", "'").replace(" ?", "?").replace(" .", ".")
        inner += f'<time id="{end}" value="{stamp(until or 0)}" />' if end else ""
        parts.append(f'<s id="{number}">{inner}</s>')
    about = "<unknown_words>1</unknown_words><tokens>20</tokens>"
    meta = f"<meta><source><year>2001</year></source><conversion>{about}</conversion></meta>"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<document id="7">{"".join(parts)}{meta}</document>'


def library(folder: Path, films: int = 6) -> Path:
    """A folder of films in several formats, one of them twice, one broken."""
    folder.mkdir(parents=True)
    for i in range(films):
        (folder / f"film{i}.srt").write_text(film(WORDS[-1 - i]), encoding="utf-8")
    (folder / "film0-again.srt").write_text(film(WORDS[-1], scenes=6), encoding="utf-8")
    (folder / "broken.srt").write_bytes(b"\x00\x01\x02" * 100)
    (folder / "cut.xml.gz").write_bytes(gzip.compress(opus().encode())[:-40])
    return folder
