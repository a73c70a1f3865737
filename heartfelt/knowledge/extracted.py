"""Concepts of many texts in a file, by text: made once, gone on with after an interrupt, read by whoever trains.

JSON lines: a header that says what made it (knowledge, encoder, settings), then a text and its concepts a line. Until
it is whole it is called FILE.part.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from heartfelt.dialogue import Dialogue, Value, examples
from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData
from heartfelt.files import writing
from heartfelt.knowledge.ckece import Finding, Settings, document

Concepts = tuple[Finding, ...]


class Header(Value, frozen=True):
    """What the concepts were made with."""

    knowledge: str  # fingerprint
    encoder: str  # that the keywords were found with
    settings: Settings = Settings()


class Line(Value, frozen=True):
    text: str
    concepts: Concepts


def contexts(dialogues: Iterable[Dialogue], window: int | None = None) -> Iterator[str]:
    """What concepts are extracted of: the context of every listener turn."""
    for dialogue in dialogues:
        for example in examples(dialogue, window):
            yield document(example.context)


def extract(
    path: Path,
    header: Header,
    texts: Iterable[str],
    extractor: Callable[[str], Concepts],
    step: Callable[[str], None] = lambda _: None,
) -> dict[str, Concepts]:
    """Extract what the file does not have yet, and add it; returns all that it has then."""
    part = path.with_name(path.name + ".part")
    known = _begun(part, header)
    if known is None:
        known = _known(path, header)
        with writing(part) as file:
            file.writelines(_lines(header, known))
    try:
        with part.open("a", encoding="utf-8") as file:
            for text in texts:
                if text not in known:
                    known[text] = extractor(text)
                    file.write(Line(text, known[text]).to_json() + "\n")
                    file.flush()
                step("")
    except OSError as problem:
        raise HeartfeltError(
            f"Could not write {part}: {problem.strerror}. What is in it is kept: the same command goes on"
        ) from None
    part.replace(path)
    return known


def read(path: Path) -> tuple[Header, dict[str, Concepts]]:
    """A whole file: what made it, and the concepts of each text."""
    try:
        first, *rest = path.read_text("utf-8").splitlines()
        lines = [Line.from_json(line) for line in rest]
        return Header.from_json(first), {line.text: line.concepts for line in lines}
    except FileNotFoundError:
        raise MissingData(f"There is no file {path}: heartfelt concepts --corpus NAME --to {path}") from None
    except ValueError as problem:
        raise BadData(f"{path} is not a file of concepts: {problem}") from None


def plain_of(found: Concepts) -> str:
    """As a decoder reads them, the best first."""
    return "; ".join(one.plain for one in found)


def _lines(header: Header, known: dict[str, Concepts]) -> Iterator[str]:
    yield header.to_json() + "\n"
    for text, concepts in known.items():
        yield Line(text, concepts).to_json() + "\n"


def _known(path: Path, header: Header) -> dict[str, Concepts]:
    """What a whole file has already."""
    if not path.exists():
        return {}
    made, known = read(path)
    if made != header:
        raise InvalidValue(
            f"{path} was made with other knowledge, another encoder or other settings; name another file, or remove it"
        )
    return known


def _begun(part: Path, header: Header) -> dict[str, Concepts] | None:
    """What an interrupted extraction has, if it was made with the same; its last line may be torn."""
    if not part.is_file():
        return None
    raw = part.read_bytes()
    with part.open("r+b") as file:
        file.truncate(raw.rfind(b"\n") + 1)
    try:
        made, known = read(part)
    except BadData:
        return None
    return known if made == header else None
