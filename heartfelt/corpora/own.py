"""Dialogues in our own format: JSON lines (one Dialogue a line, also .gz or .zst) or Parquet.

Source: `heartfelt corpora export`, your own files, or a collection study
Licence: that of where the dialogues come from
Fields: those of Dialogue, see heartfelt/dialogue.py.
Known faults: none; a line that is not a Dialogue is reported with the field that is wrong.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from heartfelt.corpora.corpus import Corpus, SeenIds
from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, InvalidValue, MissingData, need
from heartfelt.files import Faults, lines, writing

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
_ROWS = 1000  # how many rows of a Parquet file are in memory at a time


def corpus_at(path: Path) -> Corpus:
    """The corpus in a file, or in a folder with a file a split (train.jsonl, valid.jsonl …)."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    by_split = {_split_of(file): file for file in files if file.name.endswith(ENDINGS)}
    if path.is_file() and not by_split:
        raise BadData(f"{path.name} is not a corpus of ours: its name should end in {', '.join(ENDINGS)}")
    if not by_split:
        raise MissingData(f"There is no corpus at {path}: no file there ends in {', '.join(ENDINGS)}")
    if path.is_file():
        by_split = {"all": path}

    def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
        file = by_split[split]
        yield from read_parquet(file, faults) if file.suffix == ".parquet" else read_jsonl(file, faults)

    return Corpus(
        name=path.name, about=__doc__, read=read, folder=str(path), splits=tuple(sorted(by_split, key=_order))
    )


def _split_of(path: Path) -> str:
    return path.name.split(".", 1)[0]


def _order(split: str) -> tuple[int, str]:
    usual = ("train", "valid", "validation", "test")
    return (usual.index(split) if split in usual else len(usual), split)


def read_jsonl(path: Path, faults: Faults) -> Iterator[Dialogue]:
    seen = SeenIds()
    for number, line in lines(path, faults):
        if not line.strip():
            continue
        try:
            dialogue = Dialogue.from_json(line)
        except InvalidValue as problem:
            faults.add(path, number, str(problem))
            continue
        if seen.again(dialogue.id):
            faults.add(path, number, f"dialogue '{dialogue.id[:60]}' came before")
        else:
            yield dialogue


def read_parquet(path: Path, faults: Faults) -> Iterator[Dialogue]:
    parquet = need("pyarrow.parquet", "curate", "Reading Parquet")
    arrow_error = need("pyarrow", "curate", "Reading Parquet").ArrowException
    if path.is_dir():
        faults.add(path, 1, "is a folder, not a file")
        return
    seen = SeenIds()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for number, row in enumerate(batch.to_pylist(), start=number + 1):  # noqa: B020
                    try:
                        dialogue = _from_row(row)
                    except InvalidValue as problem:
                        faults.add(path, number, str(problem))
                        continue
                    if seen.again(dialogue.id):
                        faults.add(path, number, f"dialogue '{dialogue.id[:60]}' came before")
                    else:
                        yield dialogue
    except FileNotFoundError:
        raise MissingData(f"There is no file {path}") from None
    except (arrow_error, OSError) as problem:
        # The "line" of a Parquet file is the count of its rows.
        faults.add(path, number + 1, f"not Parquet, or cut off here ({' '.join(str(problem).split())[:120]})")


def _from_row(row: dict[str, Any]) -> Dialogue:
    fields = {name: value for name, value in row.items() if value is not None}
    for turn in fields.get("turns") or []:
        if isinstance(turn, dict) and turn.get("label", "") is None:
            del turn["label"]
    try:
        fields["meta"] = json.loads(fields.get("meta") or "{}")
    except (ValueError, TypeError) as problem:
        raise InvalidValue(f"meta is not JSON: {problem}") from None
    return Dialogue.from_dict(fields)


def write_jsonl(dialogues: Iterable[Dialogue], path: Path) -> int:
    count = 0
    with writing(path) as file:
        for dialogue in dialogues:
            file.write(dialogue.to_json() + "\n")
            count += 1
    return count


def write_parquet(dialogues: Iterable[Dialogue], path: Path) -> int:
    """Columns as the fields of Dialogue, `meta` as JSON text, since every corpus has its own."""
    arrow = need("pyarrow", "curate", "Writing Parquet")
    parquet = need("pyarrow.parquet", "curate", "Writing Parquet")
    text = arrow.string()
    turn = arrow.struct([("speaker", text), ("text", text), ("label", text)])
    names = ("emotion", "situation", "language", "source", "meta")
    schema = arrow.schema([("id", text), ("turns", arrow.list_(turn)), *((name, text) for name in names)])
    count = 0
    with writing(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        rows: list[dict[str, Any]] = []

        def flush() -> None:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            rows.clear()

        for dialogue in dialogues:
            fields = {"language": dialogue.language, **dialogue.to_dict()}
            rows.append({**fields, "meta": json.dumps(dialogue.meta, ensure_ascii=False)})
            count += 1
            if len(rows) == _ROWS:
                flush()
        flush()
    return count
