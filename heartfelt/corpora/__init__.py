"""Where dialogues come from: one reader a file, one line a corpus.

    >>> from heartfelt import corpora
    >>> for dialogue in corpora.load("empathetic_dialogues", "train"): ...

To add a corpus: a file with a docstring (source, licence, fields, known faults) and a `read` function that
yields Dialogues, a line in CORPORA, and a golden fixture in tests/corpora/fixtures.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from heartfelt.corpora import (
    arabic,
    chitchat,
    cornell,
    dailydialog,
    edos,
    emotone,
    empathetic_dialogues,
    empathetic_intents,
    epitome,
    heartfelt_situations,
    heartfelt_talks,
    newsgroups,
    own,
    reddit,
    reddit_dumps,
)
from heartfelt.corpora.corpus import Corpus
from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, MissingData, UnknownName
from heartfelt.files import Faults, cache_folder

CORPORA: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        empathetic_dialogues.CORPUS,
        empathetic_intents.CORPUS,
        empathetic_intents.UTTERANCES,
        empathetic_intents.NGRAMS,
        empathetic_intents.SEEDS,
        edos.CORPUS,
        dailydialog.CORPUS,
        reddit.CORPUS,
        reddit_dumps.CORPUS,
        cornell.CORPUS,
        newsgroups.CORPUS,
        chitchat.CORPUS,
        arabic.CORPUS,
        arabic.TRANSLATED_TEST,
        emotone.CORPUS,
        epitome.CORPUS,
        heartfelt_talks.CORPUS,
        heartfelt_situations.CORPUS,
    )
}


def data_folder(data: Path | str | None = None) -> Path:
    """Where the corpora lie: the argument, or $HEARTFELT_DATA, or the user's cache, where `pull` puts them."""
    if chosen := data or os.environ.get("HEARTFELT_DATA"):
        return Path(chosen).expanduser()
    return cache_folder() / "data"


def find(name: str) -> Corpus:
    """A corpus by its name, or by the path of a file or folder in our own format."""
    if name in CORPORA:
        return CORPORA[name]
    path = Path(name).expanduser()
    try:
        if path.exists():
            return own.corpus_at(path)
    except OSError as problem:
        raise MissingData(f"{name[:80]} cannot be opened: {problem.strerror}") from None
    if name.endswith(own.ENDINGS) or "/" in name or os.sep in name:
        raise MissingData(f"There is no file or folder {name}")
    raise UnknownName("corpus", name, CORPORA)


def load(
    name: str,
    split: str | None = None,
    *,
    data: Path | str | None = None,
    strict: bool = False,
    faults: Faults | None = None,
) -> Iterator[Dialogue]:
    """Read a corpus, one dialogue at a time; memory does not grow with the file.

    name: a name in CORPORA, or the path of a JSONL or Parquet file of ours.
    split: one of its splits; all of them, one after the other, if left out.
    data: the folder where corpora lie; see data_folder.
    strict: refuse the first fault instead of skipping and counting it.
    faults: gathers what was skipped, for you to tell. Without it, a line on standard error says how much it was,
        and it is an error if nothing could be read.
    """
    corpus = find(name)
    if split is not None and split not in corpus.splits:
        raise UnknownName(f"split of {name}", split, corpus.splits)
    folder = corpus.place(data_folder(data))
    if not folder.exists():
        way = f"heartfelt corpora pull {name}" if corpus.downloads else "bring its files"
        raise MissingData(
            f"The corpus {name} is not at {folder}: {way}, "
            "or point HEARTFELT_DATA (or --data) at the folder that holds it"
        )
    return _read(corpus, name, folder, (split,) if split else corpus.splits, strict, faults)


def _read(
    corpus: Corpus, name: str, folder: Path, splits: tuple[str, ...], strict: bool, told: Faults | None
) -> Iterator[Dialogue]:
    faults = told if told is not None else Faults()
    faults.strict |= strict
    count = 0
    for split in splits:
        for dialogue in corpus.read(folder, split, faults):
            count += 1
            yield dialogue
    if faults.count and told is None:
        if not count:
            raise nothing_readable(name, faults)
        print(skipped(name, faults), file=sys.stderr)


def nothing_readable(name: str, faults: Faults) -> BadData:
    return BadData(f"Nothing could be read of {name}: {faults.first[0]}")


def skipped(name: str, faults: Faults) -> str:
    """One line that says how much could not be read, the first of it, and how to see the rest."""
    what = "1 fault" if faults.count == 1 else f"{faults.count:,} faults"
    return f"{name}: passed over {what}, first {faults.first[0]} (all: heartfelt corpora check {name})"
