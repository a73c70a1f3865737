"""An index: a pool's replies and their vectors in a folder, tied to the encoder that made them.

index.json       what it is: how many, by which encoder, from which sources
texts.bin        the replies, one after the other, as UTF-8; offsets.npy: where each begins
vectors.f32      (replies, size), memory-mapped
lists.faiss      for large pools: which vectors lie near each other, so that not all are looked at

Small pools are searched exactly. In a large one faiss finds those that may fit, and they are scored exactly.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, HeartfeltError, MissingData, need
from heartfelt.files import writing
from heartfelt.retrieval.embedder import Embedder, Vectors
from heartfelt.retrieval.pool import Pool

APPROXIMATE_FROM = 100_000  # replies
PART = 1024  # replies encoded between two saves: what an interrupt loses
_BLOCK = 1 << 16  # vectors that are scored at once
_LOOKED_AT = 16  # one in so many lists
_SHORTLIST = 64  # that faiss finds for exact scoring, at least


class Card(msgspec.Struct, frozen=True):
    encoder: str
    fingerprint: str  # of the encoder
    size: int
    count: int
    sources: tuple[str, ...]
    pool: str  # hash of the texts
    lists: int = 0  # of faiss; 0: searched exactly
    run: str = (
        ""  # where the retrieval run that made it lies, as seen from the index; "": an exported encoder
    )


class Index:
    def __init__(self, folder: Path, embedder: Embedder) -> None:
        """Open an index; it must have been made by this very encoder."""
        self.card = read_card(folder)
        if self.card.fingerprint != embedder.fingerprint:
            other = (
                f"another encoder ({self.card.encoder}) than"
                if self.card.encoder != embedder.name
                else "another version of"
            )
            raise BadData(
                f"The index {folder} was made with {other} {embedder.name}: build it again (heartfelt index build)"
            )
        count, size = self.card.count, self.card.size
        try:
            offsets = np.load(folder / "offsets.npy", mmap_mode="r")
            self._vectors: Vectors = np.memmap(folder / "vectors.f32", np.float32, "r", shape=(count, size))
            self._texts = np.memmap(folder / "texts.bin", np.uint8, "r")
            if len(offsets) != count + 1 or offsets[-1] != len(self._texts):
                raise ValueError("texts and offsets disagree")
        except (OSError, ValueError) as problem:
            raise BadData(f"The index {folder} is not whole ({problem}): heartfelt index build") from None
        self._offsets = offsets
        self._lists = _read_lists(folder, self.card) if self.card.lists else None
        self.embedder = embedder

    def __len__(self) -> int:
        return self.card.count

    def text(self, place: int) -> str:
        start, end = int(self._offsets[place]), int(self._offsets[place + 1])
        return bytes(self._texts[start:end]).decode("utf-8")

    def search(self, contexts: Vectors, count: int) -> tuple[Vectors, NDArray[np.int64]]:
        """(contexts, count) scores and places of the replies that fit best, the best first."""
        count = min(count, len(self))
        if self._lists is None:
            return self._exact(contexts, count)
        _, near = self._lists.search(np.ascontiguousarray(contexts), max(_SHORTLIST, 4 * count))
        scores = np.full(near.shape, -np.inf, np.float32)
        for row, (places, context) in enumerate(zip(near, contexts, strict=True)):
            known = places >= 0  # -1: the lists that were looked at hold fewer
            scores[row, known] = self._vectors[places[known]] @ context
        enough = int((near >= 0).sum(1).min())
        return _best(scores, near.astype(np.int64), max(1, min(count, enough)))

    def _exact(self, contexts: Vectors, count: int) -> tuple[Vectors, NDArray[np.int64]]:
        scores = np.empty((len(contexts), 0), np.float32)
        places = np.empty((len(contexts), 0), np.int64)
        for start in range(0, len(self), _BLOCK):
            found = contexts @ self._vectors[start : start + _BLOCK].T
            here = np.broadcast_to(np.arange(start, start + found.shape[1]), found.shape)
            scores, places = _best(np.hstack([scores, found]), np.hstack([places, here]), count)
        return scores, places


def _best(scores: Vectors, places: NDArray[np.int64], count: int) -> tuple[Vectors, NDArray[np.int64]]:
    """The best of each row, the best first; of equal ones, the one that stands earlier in the pool."""
    if scores.shape[1] > count:
        chosen = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        scores, places = np.take_along_axis(scores, chosen, 1), np.take_along_axis(places, chosen, 1)
    order = np.lexsort((places, -scores), axis=1)
    return np.take_along_axis(scores, order, 1), np.take_along_axis(places, order, 1)


def read_card(folder: Path) -> Card:
    try:
        return msgspec.json.decode((folder / "index.json").read_bytes(), type=Card)
    except FileNotFoundError:
        raise MissingData(f"{folder} is not an index: heartfelt index build {folder} --from CORPUS") from None
    except (msgspec.MsgspecError, OSError) as problem:
        raise BadData(f"{folder / 'index.json'} is not an index's card: {problem}") from None


def build(
    folder: Path,
    pool: Pool,
    embedder: Embedder,
    step: Callable[[str], None] = lambda _: None,
    approximate_from: int = APPROXIMATE_FROM,
    run: str = "",
) -> Index:
    """Encode a pool into a folder. What was encoded before an interrupt is not encoded again.

    An index that is there already is replaced when the new one is whole.
    """
    if (
        folder.exists()
        and not (folder / "index.json").is_file()
        and (folder.is_file() or any(folder.iterdir()))
    ):
        raise HeartfeltError(f"{folder} is there and is not an index; choose another folder")
    folder = folder.resolve()
    begun = folder.with_name(f".{folder.name}.part")
    lists = _lists_for(len(pool.texts)) if len(pool.texts) >= approximate_from else 0
    if lists:
        _faiss(f"A pool of {approximate_from:,} replies or more")  # before the long work
    try:
        begun.mkdir(parents=True, exist_ok=True)
        size = _encode(begun, pool.texts, embedder, step)
        _write_texts(begun, pool.texts)
        if lists:
            step("sorting into lists")
            _write_lists(begun, size, lists)
        card = Card(
            embedder.name, embedder.fingerprint, size, len(pool.texts), pool.sources, _hash(pool.texts), lists, run
        )  # fmt: skip
        with writing(begun / "index.json", "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
        _put_in_place(begun, folder)
        (folder / "begun.json").unlink()
    except OSError as problem:
        raise HeartfeltError(
            f"The index {folder} could not be written: {problem.strerror or problem}. What was encoded is kept: the "
            "same command goes on with it"
        ) from None
    return Index(folder, embedder)


def _hash(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


def _encode(folder: Path, texts: Sequence[str], embedder: Embedder, step: Callable[[str], None]) -> int:
    """Append to vectors.f32 until all are there; returns their size."""
    record, vectors = folder / "begun.json", folder / "vectors.f32"
    wanted = {"fingerprint": embedder.fingerprint, "pool": _hash(texts)}
    done, size = _begun(record, wanted)
    if not vectors.is_file() or vectors.stat().st_size < done * size * 4:
        done = size = 0
    with vectors.open("ab") as file:
        file.truncate(
            done * size * 4
        )  # of what came after the last record we do not know whether it is whole
    while done < len(texts):
        part = np.ascontiguousarray(embedder.replies(texts[done : done + PART]), np.float32)
        size = part.shape[1]
        with vectors.open("ab") as file:
            file.write(part.tobytes())
            file.flush()
            os.fsync(file.fileno())  # before the record says that they are there
        done += len(part)
        with writing(record) as out:
            json.dump(wanted | {"done": done, "size": size}, out)
        step(f"{done:,} of {len(texts):,} encoded")
    return size


def _begun(record: Path, wanted: dict[str, str]) -> tuple[int, int]:
    """How many vectors of this pool by this encoder are there, and their size."""
    try:
        found: dict[str, Any] = json.loads(record.read_text())
        if all(found[name] == value for name, value in wanted.items()):
            return int(found["done"]), int(found["size"])
    except (FileNotFoundError, ValueError, KeyError):
        pass
    return 0, 0


def _write_texts(folder: Path, texts: Sequence[str]) -> None:
    encoded = [text.encode() for text in texts]
    with writing(folder / "texts.bin", "wb") as file:
        file.writelines(encoded)
    with writing(folder / "offsets.npy", "wb") as file:
        np.save(file, np.cumsum([0, *map(len, encoded)], dtype=np.int64))


def _put_in_place(begun: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    begun.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _lists_for(count: int) -> int:
    return int(4 * count**0.5)


def _faiss(purpose: str) -> Any:
    """faiss, kept from two ways of taking the whole process down."""
    faiss = need("faiss", "retrieve", purpose)
    # It believes the processor's flags; on machines that name AVX-512 and lack the permission its kernels die.
    level = getattr(faiss, "SIMDConfig", None)
    if level and level.is_simd_level_available(faiss.SIMDLevel_AVX2):
        level.set_level(faiss.SIMDLevel_AVX2)
    # torch brings an OpenMP of its own; faiss' threads crash beside it (facebookresearch/faiss#3401).
    if "torch" in sys.modules:
        faiss.omp_set_num_threads(1)
    return faiss


def _write_lists(folder: Path, size: int, lists: int) -> None:
    faiss = _faiss(f"A pool of {APPROXIMATE_FROM:,} replies or more")
    vectors = np.memmap(folder / "vectors.f32", np.float32, "r").reshape(-1, size)
    # Eight bits a number to look with; the exact numbers decide.
    index = faiss.index_factory(size, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    draw = np.random.default_rng(0)
    chosen = np.sort(draw.choice(len(vectors), min(len(vectors), 40 * lists), replace=False))
    index.train(np.ascontiguousarray(vectors[chosen]))
    for start in range(0, len(vectors), _BLOCK):
        index.add(np.ascontiguousarray(vectors[start : start + _BLOCK]))
    try:
        faiss.write_index(index, str(folder / "lists.faiss"))
    except RuntimeError as problem:  # faiss' word for a full disk
        raise OSError(str(problem).splitlines()[0]) from None


def _read_lists(folder: Path, card: Card) -> Any:
    faiss = _faiss(f"The index {folder}")
    try:
        index = faiss.read_index(str(folder / "lists.faiss"), faiss.IO_FLAG_MMAP)
    except RuntimeError:
        raise BadData(
            f"The index {folder} is not whole (lists.faiss cannot be read): heartfelt index build"
        ) from None
    index.nprobe = max(_LOOKED_AT, card.lists // _LOOKED_AT)
    return index
