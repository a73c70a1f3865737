"""The folder of knowledge files: where it lies, how it is built, and how CKECE is opened from it.

conceptnet.sqlite    edges between concepts        from ConceptNet's assertions, or a cut of them
vad.words            valence, arousal, dominance   from the NRC VAD lexicon
vectors.words        word vectors                  from GloVe
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt.corpora import data_folder
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.files import Faults
from heartfelt.knowledge import indexing, vad, vectors, word_table
from heartfelt.knowledge.ckece import Extractor, Settings
from heartfelt.knowledge.conceptnet import ConceptNet
from heartfelt.knowledge.keywords import Embed, Keywords

CONCEPTNET, VAD, VECTORS = "conceptnet.sqlite", "vad.words", "vectors.words"
# Where the published files lie in a data folder; the first that is there counts, of ConceptNet all.
_GRAPHS = tuple(
    f"conceptnet/{name}"
    for name in ("*assertions*.csv.gz", "*assertions*.csv", "cn100k_train*", "*edges*.tsv")
)
_LEXICA = ("nrc_vad/*VAD*Lexicon*.txt", "nrc_vad/*.json")
_VECTORS = ("glove/wink-embeddings*.json", "glove/*.txt", "glove/*.gz")

Step = Callable[[str], None]


def knowledge_folder(chosen: Path | str | None = None) -> Path:
    """The argument, or $HEARTFELT_KNOWLEDGE, or the folder knowledge/ where the corpora lie."""
    if named := chosen or os.environ.get("HEARTFELT_KNOWLEDGE"):
        return Path(named).expanduser()
    return data_folder() / "knowledge"


@dataclass(frozen=True)
class Sources:
    """The published files that knowledge is built from; what is empty is left as it is."""

    conceptnet: tuple[Path, ...] = ()
    vad: Path | None = None
    vectors: Path | None = None


def found_sources(data: Path | str | None = None) -> Sources:
    """What a data folder has of them."""
    folder = data_folder(data)
    graphs = tuple(dict.fromkeys(_matching(folder, _GRAPHS)))
    return Sources(graphs, next(_matching(folder, _LEXICA), None), next(_matching(folder, _VECTORS), None))


def _matching(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    return (path for pattern in patterns for path in sorted(folder.glob(pattern)))


def build(folder: Path, sources: Sources, step: Step = lambda _: None) -> list[str]:
    """Build the files that there are sources for. Returns a line a file that says what it holds."""
    if sources == Sources():
        raise InvalidValue(
            "There is nothing to build from: name files (--conceptnet, --vad, --vectors), or point HEARTFELT_DATA (or "
            "--data) at a folder with conceptnet/, nrc_vad/ or glove/"
        )
    said = []
    if sources.vad:
        said.append(_table(folder / VAD, sources.vad, vad.read, step))
    if sources.vectors:
        said.append(_table(folder / VECTORS, sources.vectors, vectors.read, step))
    if sources.conceptnet:
        card = indexing.build(folder / CONCEPTNET, sources.conceptnet, step)
        said += [
            f"{source.name}: {source.lines:,} lines, {source.taken:,} taken, {source.broken:,} broken"
            for source in card.sources
        ]
        said.append(f"{CONCEPTNET}: {card.edges:,} edges")
    return said


def _table(
    path: Path, source: Path, read: Callable[[Path, Faults], Iterator[tuple[str, Any]]], step: Step
) -> str:
    if not source.is_file():
        raise MissingData(f"There is no file {source}")
    faults = Faults()

    def stepping() -> Iterator[tuple[str, Any]]:
        number = 0
        for number, row in enumerate(read(source, faults), 1):
            if number % 1000 == 0:
                step(f"{source.name}: {number:,} words")
            yield row
        if number == 0:
            raise BadData(f"No word with its numbers in {source}")

    count = word_table.write(path, stepping())
    broken = f", {faults.count:,} broken lines (first {faults.first[0]})" if faults.count else ""
    return f"{path.name}: {count:,} words from {source.name}{broken}"


@dataclass(frozen=True)
class Knowledge:
    """The files of a folder, opened."""

    conceptnet: ConceptNet
    vad: vad.Vad
    vectors: vectors.Vectors

    @property
    def fingerprint(self) -> str:
        """Another one, other knowledge: what was extracted with the two must not be mixed."""
        parts = (*self.conceptnet.card.sources, self.vad.table.sha256, self.vectors.table.sha256)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def extractor(self, embed: Embed, settings: Settings | None = None) -> Extractor:
        """CKECE over these files. embed: texts → vectors, for the keywords."""
        return Extractor(
            Keywords(embed), self.conceptnet, self.vad.intensity, self.vectors.similarity, settings
        )


def open_knowledge(folder: Path | None = None) -> Knowledge:
    folder = knowledge_folder(folder)
    missing = [name for name in (CONCEPTNET, VAD, VECTORS) if not (folder / name).is_file()]
    if missing:
        raise MissingData(
            f"There is no {', '.join(missing)} in {folder}: heartfelt knowledge build --to {folder}; or point "
            "HEARTFELT_KNOWLEDGE (or --knowledge) at a folder that it wrote"
        )
    return Knowledge(
        ConceptNet(folder / CONCEPTNET), vad.Vad(folder / VAD), vectors.Vectors(folder / VECTORS)
    )
