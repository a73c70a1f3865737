"""EmpatheticIntents: EmpatheticDialogues with a label of 41 on every turn (Welivita & Pu 2020).

Source: https://github.com/anuradha1992/EmpatheticIntents
Licence: none stated (the text is EmpatheticDialogues': CC BY-NC 4.0)
Fields: each turn's label is one of 41 (32 emotions, 8 intents, neutral); emotion and situation as in
EmpatheticDialogues, whose ids and splits these are: that corpus must be at hand too.
Known faults: the labels are a classifier's, not people's. Nine ids end in " (1)": copies, skipped. One
training dialogue (hit:12424_conv:24849) is missing. The file labels.txt says neutral = 38, the data say 40.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from heartfelt.corpora import empathetic_dialogues
from heartfelt.corpora.corpus import Corpus, Download, SeenIds
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import MissingData
from heartfelt.files import Faults, Row, csv_rows, lines
from heartfelt.labels import EMOTIONS, LABELS

_COLUMNS = ("Dialog_ID", "Type", "Actor", "Text", "Label")


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    annotated = folder / "empatheticdialogues_annotated"
    original = folder.parent / empathetic_dialogues.CORPUS.folder
    if not original.is_dir():
        raise MissingData(
            f"The splits of {CORPUS.name} are EmpatheticDialogues', which is not at {original}: "
            "heartfelt corpora pull empathetic_dialogues"
        )
    split_of = empathetic_dialogues.split_of_ids(original, faults)
    seen = SeenIds()
    for emotion in EMOTIONS:
        path = annotated / f"{emotion}.csv"
        for id_, group in groupby(csv_rows(path, faults, _COLUMNS), key=lambda row: row.fields["Dialog_ID"]):
            rows = list(group)
            where = split_of.get(id_)
            if where not in (split, None):
                continue
            if where is None:
                faults.add(path, rows[0].line, f"'{id_[:60]}' is not an id of EmpatheticDialogues")
                continue
            if seen.again(id_):
                faults.add(path, rows[0].line, f"dialogue '{id_}' came before; its rows here are skipped")
                continue
            if dialogue := _dialogue(id_, emotion, rows, path, faults):
                yield dialogue


def _dialogue(id_: str, emotion: str, rows: list[Row], path: Path, faults: Faults) -> Dialogue | None:
    situation: str | None = None
    turns: list[Turn] = []
    for line, row in rows:
        text = row["Text"].strip()
        if not text:
            faults.add(path, line, "an empty text; the dialogue is kept up to here")
            break
        if row["Type"] == "situation":
            situation = text
        elif row["Type"] == "utterance" and row["Actor"] in (SPEAKER, LISTENER):
            if row["Label"] not in LABELS:
                faults.add(
                    path, line, f"unknown label '{row['Label'][:40]}'; the dialogue is kept up to here"
                )
                break
            turns.append(Turn(row["Actor"], text, row["Label"]))
        else:
            kind = f"{row['Type']}/{row['Actor']}"[:40]
            faults.add(path, line, f"'{kind}' is neither a situation nor an utterance of speaker or listener")
            break
    if not turns:
        faults.add(path, rows[0].line, f"dialogue '{id_[:60]}' has no turn that can be read")
        return None
    return Dialogue(id_, tuple(turns), emotion=emotion, situation=situation, source=CORPUS.name)


CORPUS = Corpus(
    name="empathetic_intents",
    about=__doc__,
    read=read,
    folder="empathetic_intents",
    shows="empatheticdialogues_annotated/*.csv",
    splits=("train", "valid", "test"),
    labels=LABELS,
    downloads=(
        Download(
            "https://github.com/anuradha1992/EmpatheticIntents/archive/refs/heads/master.tar.gz",
            inside="EmpatheticIntents-master/datasets",
        ),
    ),
)


_UTTERANCES = """EmpatheticIntents' classifier sets: single utterances with one of 41 labels.

Source: https://github.com/anuradha1992/EmpatheticIntents (train_data)
Licence: none stated (the text is EmpatheticDialogues': CC BY-NC 4.0)
Fields: one turn a dialogue; its label is one of 41. Emotion rows are situations, intent rows sentences of
listeners' turns, both of EmpatheticDialogues' own splits.
Known faults: short sentences are said in every split. Of the 5,490 intent rows in train, 455 are, but for case and
punctuation, also a listener turn of EmpatheticDialogues' test split; of the 702 in test, 145 are also in train.
Report with and without them: docs/training.md says how.
"""

_NGRAMS = """EmpatheticIntents' intents extended by frequent n-grams: single listener turns with one of 9 labels.

Source: https://github.com/anuradha1992/EmpatheticIntents (lexically_extended_intent_data)
Licence: none stated (the text is EmpatheticDialogues': CC BY-NC 4.0)
Fields: one turn a dialogue; its label is one of the 8 intents or neutral.
Known faults: found by n-gram, so the labels are noisy ("better safe than sorry" counts as sympathizing). One
file name is misspelt (acknowleding).
"""

_SEEDS = """EmpatheticIntents' hand-labelled listener turns, the seeds of its intents.

Source: https://github.com/anuradha1992/EmpatheticIntents (manual_annotations)
Licence: none stated (the text is EmpatheticDialogues': CC BY-NC 4.0)
Fields: one turn a dialogue; its label is one of 15 intents, of which eight became the published ones.
Known faults: the paper says 521 sentences, the files have 506. Seven labels are outside the 41. They are drawn from
all of EmpatheticDialogues: 103 are listener turns of its test split, 66 of these of no training dialogue.
"""

_SEED_LABELS = (
    "acknowledging", "advising", "agreeing", "appreciating", "consoling", "disapproving", "encouraging",
    "expressing_care_concern", "expressing_relief", "questioning", "sharing_experience", "sharing_opinions",
    "suggesting", "sympathizing", "wishing",
)  # fmt: skip


def _numbered_utterances(path: Path, prefix: str, source: str, faults: Faults) -> Iterator[Dialogue]:
    """Lines of the form `38 <SEP> what happened?`."""
    for number, line in lines(path, faults):
        id_, separator, text = line.partition(" <SEP> ")
        if not separator or not text.strip():
            faults.add(path, number, "not of the form: label id <SEP> text")
        elif not re.fullmatch(r"\s*\d{1,2}\s*", id_, re.ASCII) or int(id_) >= len(LABELS):
            faults.add(path, number, f"'{id_[:20]}' is not a label id from 0 to {len(LABELS) - 1}")
        else:
            label = LABELS[int(id_)]
            turn = Turn(SPEAKER if label in EMOTIONS else LISTENER, text.strip(), label)
            emotion = label if label in EMOTIONS else None
            yield Dialogue(f"{prefix}-{number}", (turn,), emotion=emotion, source=source)


def read_utterances(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    yield from _numbered_utterances(folder / "train_data" / f"{split}.txt", split, UTTERANCES.name, faults)


def read_ngrams(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    below = folder / "lexically_extended_intent_data" / split
    paths = sorted(below.glob("*.txt"))
    if not paths:
        raise MissingData(f"There are no .txt files in {below}")
    for path in paths:
        yield from _numbered_utterances(path, f"{split}-{path.stem}", NGRAMS.name, faults)


def read_seeds(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    for label in _SEED_LABELS:
        for number, line in lines(folder / "manual_annotations" / f"{label}.txt", faults):
            if line.strip():
                yield Dialogue(f"{label}-{number}", (Turn(LISTENER, line.strip(), label),), source=SEEDS.name)


UTTERANCES = Corpus(
    name="intent_utterances",
    about=_UTTERANCES,
    read=read_utterances,
    folder=CORPUS.folder,
    shows="train_data/*.txt",
    splits=("train", "valid", "test"),
    labels=LABELS,
    downloads=CORPUS.downloads,
)
NGRAMS = Corpus(
    name="intent_ngrams",
    about=_NGRAMS,
    read=read_ngrams,
    folder=CORPUS.folder,
    shows="lexically_extended_intent_data/*/*.txt",
    splits=("train", "validation", "test"),
    labels=LABELS[len(EMOTIONS) :],
    downloads=CORPUS.downloads,
)
SEEDS = Corpus(
    name="intent_seeds",
    about=_SEEDS,
    read=read_seeds,
    folder=CORPUS.folder,
    shows="manual_annotations/*.txt",
    splits=("all",),
    labels=_SEED_LABELS,
    downloads=CORPUS.downloads,
)
