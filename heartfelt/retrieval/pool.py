"""Pools: where replies to choose from come from. Corpora by name, or a file of one's own with a reply a line.

rashkin2019's: empathetic_dialogues (listeners' turns of train), dailydialog (all turns of train), reddit (answers).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt import corpora
from heartfelt.corpora import CORPORA
from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, InvalidValue, MissingData, UnknownName
from heartfelt.files import Faults, lines
from heartfelt.text import readable, same_key

LONGEST = 500  # characters of a reply; ED's longest listener turns have about as many


@dataclass(frozen=True)
class Pool:
    texts: tuple[str, ...]
    sources: tuple[str, ...]  # where they come from, without folders
    read: int  # how many there were
    equal: int  # left out: another one is the same text
    long: int
    unfit: int  # what the guard keeps back


def read_pool(
    sources: Sequence[str],
    data: Path | None = None,
    fit: Callable[[str], bool] = lambda _: True,
    step: Callable[[str], None] = lambda _: None,
) -> Pool:
    """The distinct replies of all sources that are fit to send."""
    if not sources:
        raise InvalidValue("Name what to choose replies from: a corpus, or a file with a reply a line")
    kept: dict[str, str] = {}
    read = long = equal = unfit = 0
    for text in (text for source in sources for text in _texts(source, data)):
        read += 1
        if read % 1000 == 0:
            step(f"{read:,} read, {len(kept):,} kept")
        key = same_key(text)
        if key in kept:
            equal += 1
        elif len(text) > LONGEST:
            long += 1
        elif not fit(text):
            unfit += 1
        else:
            kept[key] = text
    if not kept:
        raise BadData(
            f"There is no reply in {', '.join(sources)}: of {read:,} read, {unfit:,} are not fit to send"
        )
    return Pool(tuple(kept.values()), tuple(Path(one).name for one in sources), read, equal, long, unfit)


def _texts(source: str, data: Path | None) -> Iterator[str]:
    if source in CORPORA:
        yield from _of_corpus(source, data)
        return
    path = Path(source)
    if not path.is_file():
        if path.suffix or "/" in source:
            raise MissingData(f"There is no file {source} to take replies from")
        raise UnknownName("corpus or file", source, CORPORA)
    yield from _of_file(path)


def _of_corpus(name: str, data: Path | None) -> Iterator[str]:
    split = "train" if "train" in CORPORA[name].splits else CORPORA[name].splits[0]
    dialogues: Iterable[Dialogue] = corpora.load(name, split, data=data, faults=Faults())
    for dialogue in dialogues:
        roles = dialogue.speaker == "speaker"
        for index, turn in enumerate(dialogue.turns):
            # Where there are roles, what listeners say; elsewhere whatever answers something.
            if turn.speaker != dialogue.speaker if roles else index > 0:
                yield readable(" ".join(turn.text.split()))


def _of_file(path: Path) -> Iterator[str]:
    """A user's own replies: none is left out silently because it is too long."""
    for number, line in lines(path, Faults(strict=True, hint="")):
        text = readable(" ".join(line.split()))
        if len(text) > LONGEST:
            raise BadData(
                f"{path}, line {number}: a reply of {len(text):,} characters; at most {LONGEST} make a reply"
            )
        if text:
            yield text
