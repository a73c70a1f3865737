"""Emotone-AR: Arabic tweets with one of eight emotions (Al-Khatib & El-Beltagy 2018).

Source: https://github.com/AmrMehasseb/Emotional-Tone
Licence: none stated
Fields: a tweet is one turn; its label is one of 8 (none, anger, fear, joy, love, sadness, surprise, sympathy).
Known faults: mostly Egyptian dialect. No splits.
"""

from collections.abc import Iterator
from pathlib import Path

from heartfelt.corpora.corpus import Corpus
from heartfelt.dialogue import SPEAKER, Dialogue, Turn
from heartfelt.files import Faults, csv_rows

EMOTIONS = ("none", "anger", "fear", "joy", "love", "sadness", "surprise", "sympathy")


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / "Emotional-Tone-Dataset.csv"
    for line, row in csv_rows(path, faults, ("ID", "TWEET", "LABEL")):
        label, text = row["LABEL"].strip(), row["TWEET"].strip()
        if label not in EMOTIONS:
            faults.add(path, line, f"unknown emotion '{label[:40]}'")
        elif not text:
            faults.add(path, line, "an empty tweet")
        else:
            turn = Turn(SPEAKER, text, label)
            yield Dialogue(f"line-{line}", (turn,), language="ar", source=CORPUS.name)


CORPUS = Corpus(
    name="emotone",
    about=__doc__,
    read=read,
    folder="arabic_emotone",
    shows="*.csv",
    splits=("all",),
    labels=EMOTIONS,
    language="ar",
)
