"""What lies between the stages: Parquet shards, their counts, and which of them are done.

A shard is done when its counts (NNNNN.json) are there: they are written last, and nothing appears half-written. So a
run that was killed goes on with the shards that are not, and since a shard depends on its input alone, its bytes are
the same.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from heartfelt.corpora import own
from heartfelt.curation.rivals import Rival
from heartfelt.curation.subtitle import Line
from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, need
from heartfelt.files import Faults, writing


class File(msgspec.Struct, frozen=True):
    """A readable subtitle between the first stage and the third."""

    rival: Rival
    language: str
    lines: tuple[Line, ...]


class Work:
    """The folder in which a run keeps what its stages hand on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, stage: str, shard: int, ending: str) -> Path:
        return self.folder / stage / f"{shard:05d}{ending}"

    def done(self, stage: str, shard: int) -> bool:
        return self.path(stage, shard, ".json").exists()

    def counts(self, stage: str, shard: int) -> dict[str, Any]:
        found: dict[str, Any] = read_json(self.path(stage, shard, ".json"))
        return found

    def finish(self, stage: str, shard: int, counts: dict[str, Any]) -> None:
        write_json(self.path(stage, shard, ".json"), counts)

    def write_array(self, stage: str, shard: int, array: np.ndarray) -> None:
        with writing(self.path(stage, shard, ".npy"), "wb") as file:
            buffer = io.BytesIO()
            np.save(buffer, array)
            file.write(buffer.getvalue())

    def array(self, stage: str, shard: int) -> np.ndarray:
        return np.asarray(np.load(self.path(stage, shard, ".npy")))

    def write_dialogues(self, stage: str, shard: int, dialogues: Sequence[Dialogue]) -> None:
        with writing(self.path(stage, shard, ".parquet"), "wb") as file:
            own.write(dialogues, file, ".parquet")

    def dialogues(self, stage: str, shard: int) -> Iterator[Dialogue]:
        """A shard's dialogues; one that we wrote and cannot read is an error, not a fault to pass over."""
        path = self.path(stage, shard, ".parquet")
        return own.corpus_at(path).read(path, "all", Faults(strict=True, hint=""))

    def write_files(self, shard: int, files: Sequence[File]) -> None:
        arrow = need("pyarrow", "curate", "Curation")
        parquet = need("pyarrow.parquet", "curate", "Curation")
        rows = [
            {
                "name": file.rival.name,
                "language": file.language,
                "rival": msgspec.json.encode(file.rival).decode(),
                "lines": msgspec.to_builtins(file.lines),
            }
            for file in files
        ]
        with writing(self.path("read", shard, ".parquet"), "wb") as out:
            parquet.write_table(arrow.Table.from_pylist(rows, schema=_schema(arrow)), out, compression="zstd")

    def rivals(self, shard: int) -> list[tuple[Rival, str]]:
        """The files of a shard for the choice among them, without their lines: (file, its language)."""
        parquet = need("pyarrow.parquet", "curate", "Curation")
        table = parquet.read_table(self.path("read", shard, ".parquet"), columns=["rival", "language"])
        return [(msgspec.json.decode(row["rival"], type=Rival), row["language"]) for row in table.to_pylist()]

    def lines(self, shard: int) -> Iterator[tuple[str, tuple[Line, ...]]]:
        """(name, lines) of a shard's files, a few at a time."""
        parquet = need("pyarrow.parquet", "curate", "Curation")
        with parquet.ParquetFile(self.path("read", shard, ".parquet")) as file:
            for batch in file.iter_batches(batch_size=8, columns=["name", "lines"]):
                for row in batch.to_pylist():
                    yield row["name"], msgspec.convert(row["lines"], tuple[Line, ...])


def _schema(arrow: Any) -> Any:
    text, number = arrow.string(), arrow.float64()
    line = arrow.struct(
        [("text", text), ("start", number), ("end", number), ("first", arrow.int32()), ("last", arrow.int32()),
         ("dash", arrow.bool_()), ("name", text), ("italic", arrow.bool_())]
    )  # fmt: skip
    return arrow.schema([("name", text), ("language", text), ("rival", text), ("lines", arrow.list_(line))])


def read_json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as problem:
        raise BadData(f"{path} cannot be read: {problem}; delete the folder and run again") from None


def write_json(path: Path, value: Any) -> None:
    with writing(path, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
