"""Finding a reply among 40,000 and among a million: latency, memory, and how often the approximate index is right.

Vectors are made up: clusters as an encoder makes them, of unit length. The ratio to one product with all vectors in
numpy says what the index gains. Needs faiss (pip install 'heartfelt[retrieve]'), 4 GB of disk, some minutes.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heartfelt.dialogue import Turn
from heartfelt.retrieval.index import Index, build
from heartfelt.retrieval.pool import Pool

SIZE, QUERIES = 384, 256


class MadeUp:
    """Encodes a number in words as a vector near one of some thousand centres."""

    name, fingerprint = "made up", "made up"

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self._centres = draw.normal(size=(4096, SIZE)).astype(np.float32)

    def replies(self, texts: Sequence[str]) -> np.ndarray:
        return self._near([int(text) for text in texts], 1.0)

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> np.ndarray:
        return self._near([int(talk[-1].text) for talk in talks], 1.5)

    def _near(self, numbers: Sequence[int], spread: float) -> np.ndarray:
        rows = []
        for number in numbers:
            draw = np.random.default_rng(number)
            centre = self._centres[draw.integers(len(self._centres))]
            rows.append(centre + spread * draw.normal(size=SIZE).astype(np.float32))
        found = np.array(rows, np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def seconds(run: object, times: int) -> float:
    run()  # type: ignore[operator]  # the first does not count
    started = time.perf_counter()
    for _ in range(times):
        run()  # type: ignore[operator]
    return (time.perf_counter() - started) / times


def measure(folder: Path, count: int) -> None:
    encoder = MadeUp()
    texts = tuple(str(number) for number in range(count))
    started = time.perf_counter()
    build(folder, Pool(texts, ("made up",), count, 0, 0, 0), encoder)
    print(f"built in {time.perf_counter() - started:.0f} s, of which most is making vectors up")


def ask(folder: Path, count: int) -> None:
    encoder = MadeUp()
    index = Index(folder, encoder)
    queries = encoder.contexts([[Turn("speaker", str(10**9 + number))] for number in range(QUERIES)])
    one = seconds(lambda: index.search(queries[:1], 1), 20)
    many = seconds(lambda: index.search(queries[:64], 1), 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _, found = index.search(queries, 1)
    vectors = np.array(np.memmap(folder / "vectors.f32", np.float32, "r").reshape(count, SIZE))
    plain = seconds(lambda: np.argmax(queries[:1] @ vectors.T), 5)
    right = np.concatenate(
        [np.argmax(queries[i : i + 32] @ vectors.T, axis=1) for i in range(0, QUERIES, 32)]
    )
    recall = (found[:, 0] == right).mean()
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    kind = f"{index.card.lists:,} lists" if index.card.lists else "exact"
    print(
        f"{count:>9,} replies, {kind}: one query {1000 * one:.1f} ms, {one / plain:.2f} times a product with all"
    )
    print(f"{'':9} 64 queries {1000 * many:.0f} ms ({1000 * many / 64:.1f} ms each); recall@1 {recall:.4f}")
    print(f"{'':9} memory {peak:.0f} MB at its peak, {size:.0f} MB on disk")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, help="only this many replies")
    parser.add_argument("--folder", type=Path, help="ask an index that is there; for the second process")
    asked = parser.parse_args()
    if asked.folder:
        ask(asked.folder, asked.count)
        return
    for count in [asked.count] if asked.count else [40_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "index"
            measure(folder, count)
            # In a process of its own, so that the memory is that of searching.
            subprocess.run(
                [sys.executable, __file__, "--count", str(count), "--folder", str(folder)], check=True
            )


if __name__ == "__main__":
    main()
