"""The NRC VAD lexicon (Mohammad 2018): how pleasant, how stirring and how powerful words are.

Source: https://saifmohammad.com/WebPages/nrc-vad.html; for research only, not to be passed on.
Formats: the official text (word, valence, arousal, dominance between tabs; a header in some editions), and the JSON
that dialogue projects carry ({word: [valence, arousal, dominance]}). The second edition goes from -1 to 1.
"""

from collections.abc import Iterator
from math import hypot, sqrt
from pathlib import Path

import msgspec

from heartfelt.errors import BadData
from heartfelt.files import Faults, lines
from heartfelt.knowledge.word_table import WordTable

UNKNOWN = 0.5  # the intensity of a word that the lexicon lacks (liu2021)
_Scores = tuple[float, float, float]


def intensity(valence: float, arousal: float) -> float:
    """How much feeling a word carries, from 0 to 1: liu2021's equation 2.

    The norm of (valence - 1/2, arousal / 2) lies between 0 (neutral and calm) and √½ (a corner: as good or as bad as
    can be, and stirring). These are our least and most, as equation 1 takes the ends of ConceptNet's scale and not
    what happens to occur: so a word's intensity does not hang on which other words a lexicon has.
    """
    return hypot(valence - 0.5, arousal / 2) / sqrt(0.5)


class Vad:
    """Words and their intensity."""

    def __init__(self, path: Path) -> None:
        self.table = WordTable(path)

    def intensity(self, word: str) -> float:
        row = self.table.get(word)
        return UNKNOWN if row is None else intensity(float(row[0]), float(row[1]))


def read(path: Path, faults: Faults) -> Iterator[tuple[str, _Scores]]:
    """The lexicon in either format, from 0 to 1."""
    rows = list(_json(path) if path.suffix == ".json" else _text(path, faults))
    if not rows:
        raise BadData(f"Nothing in {path} is a word with three scores; is it the NRC VAD lexicon?")
    second_edition = any(score < 0 for _, scores in rows for score in scores)
    for word, (valence, arousal, dominance) in rows:
        if second_edition:
            yield word, ((valence + 1) / 2, (arousal + 1) / 2, (dominance + 1) / 2)
        else:
            yield word, (valence, arousal, dominance)


def _text(path: Path, faults: Faults) -> Iterator[tuple[str, _Scores]]:
    for number, line in lines(path, faults):
        word, *fields = line.split("\t")
        try:
            valence, arousal, dominance = map(float, fields)
        except ValueError:
            if number > 1:  # a header is none
                faults.add(path, number, "not a word and three numbers between tabs")
            continue
        if all(-1 <= score <= 1 for score in (valence, arousal, dominance)):
            yield word.strip().lower(), (valence, arousal, dominance)
        else:
            faults.add(path, number, "a score is not between 0 and 1")


def _json(path: Path) -> Iterator[tuple[str, _Scores]]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, _Scores])
    except msgspec.MsgspecError as problem:
        raise BadData(f"{path} is not a VAD lexicon in JSON: {problem}") from None
    for word, scores in found.items():
        yield word.strip().lower(), scores
