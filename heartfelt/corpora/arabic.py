"""ArabicEmpatheticDialogues: EmpatheticDialogues translated into Arabic (Naous et al. 2020, naous2021).

Source: https://github.com/aub-mind/Arabic-Empathetic-Chatbot
Licence: MIT for the translation; the text is EmpatheticDialogues' (CC BY-NC 4.0)
Fields: a row is `emotion,context,response`; emotion is one of 32.
Known faults: one file without splits. The split is naous2021's: 90 % train, 5 % valid, 5 % test, drawn with
seed 42 as its notebook draws it (twice `datasets.train_test_split`).
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from heartfelt.corpora.corpus import Corpus, Download, Reader, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults, csv_rows
from heartfelt.labels import EMOTIONS

_SEED = 42
_TURNS = " SOC "  # stands between the turns of a context


def reader(file: str, source: str) -> Reader:
    def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
        # Two passes: the first counts, so that the split can be drawn without keeping everything.
        path = folder / file
        wanted = split_indices(sum(1 for _ in _dialogues(path, source, Faults())))[split]
        for index, dialogue in enumerate(_dialogues(path, source, faults)):
            if index in wanted and dialogue:
                yield dialogue

    return read


def split_indices(count: int) -> dict[str, set[int]]:
    """Which of `count` dialogues are in which split: a tenth held out, and that cut in half."""
    order = np.random.default_rng(_SEED).permutation(count)
    held_out = order[: math.ceil(0.1 * count)]
    again = np.random.default_rng(_SEED).permutation(len(held_out))
    half = math.ceil(0.5 * len(held_out))
    return {
        "train": {int(i) for i in order[len(held_out) :]},
        "valid": {int(i) for i in held_out[again[half:]]},
        "test": {int(i) for i in held_out[again[:half]]},
    }


def _dialogues(path: Path, source: str, faults: Faults) -> Iterator[Dialogue | None]:
    """Rows joined to dialogues. A row that cannot be used is None: it keeps its place in the draw of the split."""
    texts: list[str] = []
    emotion, id_ = "", ""
    lost = 0  # rows since the last one that could not be used

    def whole() -> Dialogue:
        return Dialogue(id_, alternating(texts), emotion=emotion, language="ar", source=source)

    for line, row in csv_rows(path, faults, ("emotion", "context", "response")):
        context = [text.strip() for text in row["context"].split(_TURNS)]
        if reason := _unusable(row["emotion"].strip(), [*context, row["response"].strip()]):
            faults.add(path, line, reason)
            lost += 1
            continue
        # This row goes on with the last one if its context is all that was said so far, or the end of it (some
        # files keep the last turns only), and one turn more.
        so_far = len(texts)
        if (
            texts
            and len(context) > 1
            and (texts == context[:so_far] or texts[1 - len(context) :] == context[:-1])
        ):
            more = context[so_far:] if texts == context[:so_far] else context[-1:]
            texts += [*more, row["response"].strip()]
            lost = 0  # they were part of this dialogue
            continue
        if texts:
            yield whole()
        yield from [None] * lost
        lost = 0
        texts, emotion, id_ = [*context, row["response"].strip()], row["emotion"].strip(), f"line-{line}"
    if texts:
        yield whole()
    yield from [None] * lost


def _unusable(emotion: str, texts: list[str]) -> str:
    if emotion not in EMOTIONS:
        return f"unknown emotion '{emotion[:40]}'"
    if not all(texts):
        return "an empty context or response"
    if any("_conv:" in text for text in texts):
        return "a turn holds rows of the original CSV file"
    if len(texts) % 2:
        return f"{len(texts)} turns: the listener's response should be an even one"
    return ""


CORPUS = Corpus(
    name="arabic_empathetic_dialogues",
    about=__doc__,
    read=reader("arabic-empathetic-conversations.csv", "arabic_empathetic_dialogues"),
    folder="arabic_empathetic_dialogues",
    shows="arabic-empathetic-conversations.csv",
    splits=("train", "valid", "test"),
    language="ar",
    downloads=(
        Download(
            "https://raw.githubusercontent.com/aub-mind/Arabic-Empathetic-Chatbot/master/"
            "arabic-empathetic-conversations.csv",
        ),
    ),
)

_TRANSLATED_TEST = """EmpatheticDialogues' test split, machine-translated into Arabic, with its history.

Source: a published Arabic translation of EmpatheticDialogues' test split
Licence: MIT for the translation; the text is EmpatheticDialogues' (CC BY-NC 4.0)
Fields: as ArabicEmpatheticDialogues; the turns of a context are joined by ` SOC `, at most three, and rows that
go on with the row before them are joined to one dialogue again.
Known faults: never train an English-evaluated model on it. Two rows hold a piece of the original CSV file. The
split is drawn as ArabicEmpatheticDialogues' is, over dialogues, so that no dialogue is in two splits.
"""

TRANSLATED_TEST = Corpus(
    name="arabic_ed_test",
    about=_TRANSLATED_TEST,
    read=reader("test_arabic_history.csv", "arabic_ed_test"),
    folder="arabic_ed_soror_test",
    shows="test_arabic_history.csv",
    splits=("train", "valid", "test"),
    language="ar",
)
