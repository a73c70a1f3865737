"""DailyDialog: everyday English conversations with an emotion and an act on every turn (Li et al. 2017).

Source: http://yanran.li/dailydialog
Licence: CC BY-NC-SA 4.0
Fields: a turn's label is one of 7 (none, anger, disgust, fear, happiness, sadness, surprise); meta keeps
`acts`, one of inform, question, directive, commissive a turn. Two people alternate.
Known faults: tokenised with spaces (mostly undone here, see heartfelt.text.detokenized). Training dialogue 7,852
has 12 turns and 11 labels: its turns are kept without labels. Some openings occur in two splits; `describe`
counts them. Topics are listed in another order than the split files, and are left out.
"""

from collections.abc import Iterator
from pathlib import Path

from heartfelt.corpora.corpus import Corpus, Download, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults, lines
from heartfelt.text import detokenized

EMOTIONS = ("none", "anger", "disgust", "fear", "happiness", "sadness", "surprise")
_DIGITS = tuple("0123456789")
ACTS = ("inform", "question", "directive", "commissive")


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / split / f"dialogues_{split}.txt"
    emotions = _Beside(lines(folder / split / f"dialogues_emotion_{split}.txt", faults))
    acts = _Beside(lines(folder / split / f"dialogues_act_{split}.txt", faults))
    for number, line in lines(path, faults):
        texts = [detokenized(text) for text in line.split("__eou__")]
        if not texts[-1]:
            texts.pop()
        if not texts or not all(texts):
            faults.add(path, number, "an empty turn or no turn at all; turns end in __eou__")
            continue
        labels = _named(emotions.at(number), EMOTIONS, first=0)
        functions = _named(acts.at(number), ACTS, first=1)
        if not len(texts) == len(labels) == len(functions):
            counts = f"{len(texts)} turns, {len(labels)} emotions, {len(functions)} acts"
            faults.add(path, number, f"{counts}; the dialogue is kept without labels")
            yield Dialogue(f"{split}-{number}", alternating(texts), source=CORPUS.name)
            continue
        turns = alternating(texts, list(labels))
        yield Dialogue(f"{split}-{number}", turns, source=CORPUS.name, meta={"acts": functions})


class _Beside:
    """A file that runs beside another, line by line; a line that cannot be read is an empty one."""

    def __init__(self, numbered: Iterator[tuple[int, str]]) -> None:
        self._numbered = numbered
        self._next = next(numbered, None)

    def at(self, number: int) -> str:
        while self._next and self._next[0] < number:
            self._next = next(self._numbered, None)
        return self._next[1] if self._next and self._next[0] == number else ""


def _named(numbers: str, names: tuple[str, ...], first: int) -> list[str]:
    """The names of ids in a line like "0 0 4"; none if one of them is not an id."""
    ids = [int(n) - first if n in _DIGITS else -1 for n in numbers.split()]
    return [names[i] for i in ids] if all(0 <= i < len(names) for i in ids) else []


CORPUS = Corpus(
    name="dailydialog",
    about=__doc__,
    read=read,
    folder="dailydialog",
    shows="*/dialogues_*.txt",
    splits=("train", "validation", "test"),
    labels=EMOTIONS,
    downloads=(Download("http://yanran.li/files/ijcnlp_dailydialog.zip", inside="ijcnlp_dailydialog"),),
)
