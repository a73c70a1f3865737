"""ArabicEmpatheticDialogues: EmpatheticDialogues translated into Arabic (Naous et al. 2020, naous2021).

Source: https://github.com/aub-mind/Arabic-Empathetic-Chatbot
Licence: MIT for the translation; the text is EmpatheticDialogues' (CC BY-NC 4.0)
Fields: a row is `emotion,context,response`; emotion is one of 32. Where a context holds several turns they are
joined by ` SOC `, and rows that go on with the row before them are joined to one dialogue again.
Known faults: one file without splits. The split is naous2021's: 90 % train, 5 % valid, 5 % test, drawn with
seed 42 as its notebook draws it (twice `datasets.train_test_split`), over dialogues, so that no dialogue is in
two splits. A file that translates ED's test split must never train an English-evaluated model.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from heartfelt.corpora.corpus import Corpus, Download, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.errors import MissingData
from heartfelt.files import Faults, csv_rows
from heartfelt.labels import EMOTIONS

_FILES = ("arabic-empathetic-conversations.csv", "test_arabic_history.csv")
_SEED = 42


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = next((folder / name for name in _FILES if (folder / name).exists()), None)
    if path is None:
        raise MissingData(f"There is none of {', '.join(_FILES)} in {folder}")
    # Two passes: the first counts the dialogues, so that the split can be drawn without keeping them.
    quiet = Faults()
    wanted = split_indices(sum(1 for _ in _dialogues(path, quiet)))[split]
    for index, dialogue in enumerate(_dialogues(path, faults)):
        if index in wanted:
            yield dialogue


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


def _dialogues(path: Path, faults: Faults) -> Iterator[Dialogue]:
    texts: list[str] = []
    emotion, id_ = "", ""

    def whole() -> Dialogue:
        # Every response is the listener's, so the last turn is; two contexts begin with the listener.
        turns = alternating(texts, listener_opens=len(texts) % 2 == 1)
        return Dialogue(id_, turns, emotion=emotion, language="ar", source=CORPUS.name)

    for line, row in csv_rows(path, faults, ("emotion", "context", "response")):
        context = [text.strip() for text in row["context"].split(" SOC ")]
        response = row["response"].strip()
        if row["emotion"].strip() not in EMOTIONS:
            faults.add(path, line, f"unknown emotion '{row['emotion'][:40]}'")
            continue
        if not all(context) or not response:
            faults.add(path, line, "an empty context or response")
            continue
        # This row goes on with the last one if its context is what was said so far, and one turn more.
        if len(context) > 1 and texts[-(len(context) - 1) :] == context[:-1]:
            texts += [context[-1], response]
            continue
        if texts:
            yield whole()
        texts, emotion, id_ = [*context, response], row["emotion"].strip(), f"line-{line}"
    if texts:
        yield whole()


CORPUS = Corpus(
    name="arabic_empathetic_dialogues",
    about=__doc__,
    read=read,
    folder="arabic_ed_soror_test",
    splits=("train", "valid", "test"),
    language="ar",
    downloads=(
        Download(
            "https://raw.githubusercontent.com/aub-mind/Arabic-Empathetic-Chatbot/master/"
            "arabic-empathetic-conversations.csv",
        ),
    ),
)
