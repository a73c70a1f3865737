"""Dialogues in our own format: JSON lines (one Dialogue a line, also .gz or .zst) or Parquet.

Source: `heartfelt corpora export`, your own files, or a collection study
Licence: that of where the dialogues come from
Fields: those of Dialogue, see heartfelt/dialogue.py.
Known faults: none; a line that is not a Dialogue is reported with the field that is wrong.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from heartfelt.corpora.corpus import Corpus, SeenIds
from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, InvalidValue, need
from heartfelt.files import Faults, lines

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
_PART = re.compile(r"-\d{5}-of-\d{5}$")  # one of several files that are a split together
_ROWS = 1000  # how many rows of a Parquet file are in memory at a time


def corpus_at(path: Path) -> Corpus:
    """The corpus in a file, or in a folder with a file a split (train.jsonl, valid.jsonl …), or with numbered parts of
    each (train-00000-of-00003.parquet …)."""
    path = path.absolute()
    files = [
        file for file in (sorted(path.iterdir()) if path.is_dir() else [path]) if file.name.endswith(ENDINGS)
    ]
    if not files:
        what = "its name should end" if path.is_file() else "no file there ends"
        raise BadData(f"There is no corpus of ours at {path}: {what} in {', '.join(ENDINGS)}")
    by_split: dict[str, list[Path]] = {}
    for file in files:
        split = _split_of(file) if path.is_dir() else "all"
        others = by_split.setdefault(split, [])
        if others and not (_PART.search(_stem(file)) and _PART.search(_stem(others[0]))):
            raise BadData(f"{others[0].name} and {file.name} in {path} are both the split '{split}'")
        others.append(file)
    seen = SeenIds()  # over all splits: no dialogue is in two of them

    def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
        for file in by_split[split]:
            rows = _parquet_rows(file, faults) if file.suffix == ".parquet" else _jsonl_rows(file, faults)
            for number, dialogue in rows:
                if seen.again(dialogue.id):
                    faults.add(file, number, f"dialogue '{dialogue.id[:60]}' came before")
                else:
                    yield dialogue

    splits = tuple(sorted(by_split, key=_order))
    return Corpus(name=path.name, about=__doc__, read=read, folder=str(path), shows="*", splits=splits)


def _stem(path: Path) -> str:
    return path.name.split(".", 1)[0]


def _split_of(path: Path) -> str:
    return _PART.sub("", _stem(path))


def _order(split: str) -> tuple[int, str]:
    usual = ("train", "valid", "validation", "test")
    return (usual.index(split) if split in usual else len(usual), split)


def _jsonl_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Dialogue]]:
    if path.stat().st_size == 0:  # a split without dialogues
        return
    for number, line in lines(path, faults):
        if line.strip():
            try:
                yield number, Dialogue.from_json(line)
            except InvalidValue as problem:
                faults.add(path, number, str(problem))


def _parquet_rows(path: Path, faults: Faults) -> Iterator[tuple[int, Dialogue]]:
    parquet = need("pyarrow.parquet", "curate", "Reading Parquet")
    arrow_error = need("pyarrow", "curate", "Reading Parquet").ArrowException
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for number, row in enumerate(batch.to_pylist(), start=number + 1):  # noqa: B020
                    try:
                        yield number, _from_row(row)
                    except InvalidValue as problem:
                        faults.add(path, number, str(problem))
    except (arrow_error, OSError) as problem:
        # The "line" of a Parquet file is the count of its rows.
        faults.add(path, number + 1, f"not Parquet, or cut off here ({problem})")


def _from_row(row: dict[str, Any]) -> Dialogue:
    fields = {name: value for name, value in row.items() if value is not None}
    for turn in fields.get("turns") or []:
        if isinstance(turn, dict) and turn.get("label", "") is None:
            del turn["label"]
    try:
        fields["meta"] = msgspec.json.decode(fields.get("meta") or "{}")
    except (msgspec.MsgspecError, TypeError, RecursionError) as problem:
        raise InvalidValue(f"meta is not JSON: {problem}") from None
    return Dialogue.from_dict(fields)


def write(dialogues: Iterable[Dialogue], file: IO[bytes], ending: str) -> int:
    """Write dialogues to an open file, as ".jsonl" or ".parquet"; returns how many there were."""
    return _write_parquet(dialogues, file) if ending == ".parquet" else _write_jsonl(dialogues, file)


def _write_jsonl(dialogues: Iterable[Dialogue], file: IO[bytes]) -> int:
    count = 0
    for dialogue in dialogues:
        file.write(dialogue.to_json().encode() + b"\n")
        count += 1
    return count


def _write_parquet(dialogues: Iterable[Dialogue], file: IO[bytes]) -> int:
    """Columns as the fields of Dialogue, `meta` as JSON text, since every corpus has its own."""
    arrow = need("pyarrow", "curate", "Writing Parquet")
    parquet = need("pyarrow.parquet", "curate", "Writing Parquet")
    text = arrow.string()
    turn = arrow.struct([("speaker", text), ("text", text), ("label", text)])
    names = ("emotion", "situation", "language", "source", "meta")
    schema = arrow.schema([("id", text), ("turns", arrow.list_(turn)), *((name, text) for name in names)])
    count = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for rows in _batches(dialogues):
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _batches(dialogues: Iterable[Dialogue]) -> Iterator[list[dict[str, Any]]]:
    source = iter(dialogues)
    while batch := list(islice(source, _ROWS)):
        yield [
            {"language": d.language, **d.to_dict(), "meta": msgspec.json.encode(d.meta).decode()}
            for d in batch
        ]
