"""EDOS labelled dialogues: film talk with a label of 41 (Welivita, Xie & Pu 2021).

Source: https://github.com/anuradha1992/EDOS
Licence: CC BY 4.0
Fields: the label of the last turn is the dialogue's, one of 41; meta keeps `votes` and `agreed` (mturk),
`confidence` (self_labeled), `similarity` (similar…). Splits are its four parts: mturk (three raters),
similar, self_labeled, similar_self_labeled.
Known faults: tokenised with spaces (mostly undone here, see heartfelt.text.detokenized); turns are lines, their
speakers taken to alternate. In mturk, 1,332 of 8,745 rows have no majority ("-"), one has a label outside the 41,
and 33 dialogue ids occur twice, so ids here count rows.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heartfelt.corpora.corpus import Corpus, Download, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults, csv_rows
from heartfelt.labels import LABELS
from heartfelt.text import detokenized

_DASHES = re.compile(r"^(?:-\s+)+")


class _Part(NamedTuple):
    file: str
    published_as: str
    id_column: str
    text_column: str
    label_column: str
    score_column: str = ""
    score_name: str = ""


_PARTS = {
    "mturk": _Part(
        "mturk_labels.csv", "1. MTurk_groundtruth_labels_9K.csv",
        "DialogID", "Dialog", "Agreed emotion (2/3 vote)",
    ),
    "similar": _Part(
        "similar_dialogs.csv", "2. Similar_dialogs_3K.csv",
        "os_dialog_id", "os_dialog", "emotion", "cos_sim", "similarity",
    ),
    "self_labeled": _Part(
        "self_labeled_dialogs.csv", "3. Self-labeled_dialogs_4K.csv",
        "os_dialog_id", "os_dialog", "emotion", "confidence", "confidence",
    ),
    "similar_self_labeled": _Part(
        "similar_self_labeled_dialogs.csv", "4. Similar_self-labeled_dialogs_2K.csv",
        "os_dialog_id", "os_dialog", "emotion", "cos_sim", "similarity",
    ),
}  # fmt: skip
_VOTES = tuple(f"Worker {n} answer" for n in (1, 2, 3))


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    part = _PARTS[split]
    path = folder / part.published_as
    path = path if path.exists() else folder / part.file
    columns = [part.id_column, part.text_column, part.label_column]
    columns += [part.score_column] if part.score_column else list(_VOTES)
    for count, (line, row) in enumerate(csv_rows(path, faults, columns), start=1):
        texts = [detokenized(_DASHES.sub("", text.strip())) for text in row[part.text_column].split("\n")]
        texts = [text for text in texts if text]
        if not texts:
            faults.add(path, line, "a dialogue without text")
            continue
        agreed = row[part.label_column].strip().lower().removesuffix(" (other)")
        label = agreed if agreed in LABELS else None
        if label is None and agreed != "-" and not part.score_column:
            faults.add(
                path, line, f"'{agreed[:40]}' is not one of the 41 labels; the dialogue is kept without it"
            )
        meta: dict[str, Any] = {}
        if part.score_column:
            if label is None:
                faults.add(path, line, f"unknown label '{agreed[:40]}'")
                continue
            try:
                meta[part.score_name] = float(row[part.score_column])
            except ValueError:
                faults.add(path, line, f"'{row[part.score_column][:20]}' is not a number")
                continue
        else:
            meta["agreed"] = agreed
            meta["votes"] = [row[name].strip().lower() for name in _VOTES]
        turns = alternating(texts, [None] * (len(texts) - 1) + [label])
        id_ = f"{split}-{count}-{row[part.id_column].strip()}"
        yield Dialogue(id_, turns, source=CORPUS.name, meta=meta)


CORPUS = Corpus(
    name="edos",
    about=__doc__,
    read=read,
    folder="edos_mturk",
    shows="*.csv",
    splits=tuple(_PARTS),
    labels=LABELS,
    downloads=(
        Download(
            "https://github.com/anuradha1992/EDOS/archive/refs/heads/main.tar.gz",
            inside="EDOS-main/Data/Training data for the dialogue emotion classifier",
        ),
    ),
)
