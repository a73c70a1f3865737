"""ConceptNet's index on made-up assertions in the official format: how fast it is built, how fast it answers.

One line in ten is English (a guess at ConceptNet's share); some words have very many edges; one line in 100,000 is
broken. `--lines 5000000` for more.
"""

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heartfelt.knowledge.assertions import raw_lines
from heartfelt.knowledge.conceptnet import ConceptNet
from heartfelt.knowledge.indexing import build

LOOKUPS = 10_000
STRONG = 1.9  # the weight from which CKECE takes edges
LANGUAGES = ("fr", "de", "es", "ja", "ru", "zh", "it", "la", "pt")
RELATIONS = (
    "RelatedTo",
    "IsA",
    "FormOf",
    "Synonym",
    "HasContext",
    "UsedFor",
    "CausesDesire",
    "dbpedia/genre",
)
SENSES = ("", "/n", "/v", "/n/wn/feeling")
PART = 100_000  # lines that are drawn at once
FACTS = (
    '{"dataset": "/d/wiktionary/fr", "license": "cc:by-sa/4.0", "sources": [{"contributor": '
    '"/s/resource/wiktionary/fr", "process": "/s/process/wikiparsec/2"}], "weight": %s}'
)


def made_up(count: int) -> Iterator[bytes]:
    draw = np.random.default_rng(0)
    for start in range(0, count, PART):
        size = min(PART, count - start)
        ends = ranks(draw.random((2, size))).tolist()
        weights = draw.choice([0.5, 1.0, 2.0, 2.828, 3.464, 6.0], size, p=[0.1, 0.7, 0.1, 0.05, 0.03, 0.02])
        kinds = draw.integers(0, 2**31, size).tolist()
        for one, other, weight, kind in zip(*ends, weights.tolist(), kinds, strict=True):
            language = LANGUAGES[kind // 10 % len(LANGUAGES)] if kind % 10 else "en"
            relation = f"/r/{RELATIONS[kind // 100 % len(RELATIONS)]}"
            first = f"/c/{language}/term_{one}{SENSES[kind // 1000 % len(SENSES)]}"
            second = f"/c/{language}/term_{other}{SENSES[kind // 10_000 % len(SENSES)]}"
            line = f"/a/[{relation}/,{first}/,{second}/]\t{relation}\t{first}\t{second}\t{FACTS % weight}\n"
            yield (line if kind % 100_000 else line[:40] + "\n").encode()


def ranks(chances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Zipf and Mandelbrot: the commonest of a million terms takes 1.6 % of all ends, as "person" does in CN-100K."""
    return (4.5 * (1_000_004.5 / 4.5) ** chances - 4.5).astype(np.int64)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of the processor: on a busy machine the first says little."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def measure(folder: Path, count: int) -> None:
    source, index = folder / "assertions.csv.gz", folder / "conceptnet.sqlite"
    with gzip.open(source, "wb", compresslevel=1) as file:
        file.writelines(made_up(count))
    print(f"{count:,} lines, {source.stat().st_size / 1e6:.0f} MB packed")
    _, plain = seconds(lambda: [None for _ in raw_lines(source)])
    clock, built = seconds(lambda: build(index, [source]))
    card = ConceptNet(index).card
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"built in {clock:.1f} s ({count / clock:,.0f} lines/s), {built:.1f} s of the processor "
          f"({count / built:,.0f} lines/s): {built / plain:.1f} times unpacking alone")  # fmt: skip
    print(f"{card.edges:,} edges, {card.sources[0].broken} broken lines, {index.stat().st_size / 1e6:.0f} MB, "
          f"memory {peak:.0f} MB at its peak")  # fmt: skip


def ask(index: Path) -> None:
    """In a process of its own, which has nothing of the index in its memory."""
    graph = ConceptNet(index)
    words = [f"term {rank}" for rank in ranks(np.random.default_rng(1).random(LOOKUPS)).tolist()]
    found = [0]

    def look_up(word: str) -> None:
        found[0] += len(graph.about(word, STRONG))

    for when in ("the first time", "again"):
        times = 1000 * np.array([seconds(partial(look_up, word)) for word in words])
        for what, row in zip(("clock", "processor"), times.T, strict=True):
            shown = "median {:.3f} ms, 99th {:.3f}, 99.9th {:.3f}, slowest {:.3f}"
            print(f"{when:>14}, {what:>9}: " + shown.format(*np.percentile(row, (50, 99, 99.9, 100))))
    print(f"words as often as they occur, {found[0] / 2 / LOOKUPS:.0f} edges each; term 0 has "
          f"{len(graph.about('term 0', STRONG)):,}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=500_000)
    parser.add_argument("--index", type=Path, help="ask an index that is there; for the second process")
    asked = parser.parse_args()
    if asked.index:
        ask(asked.index)
        return
    with tempfile.TemporaryDirectory() as scratch:
        measure(Path(scratch), asked.lines)
        index = Path(scratch) / "conceptnet.sqlite"
        subprocess.run([sys.executable, __file__, "--index", str(index)], check=True)


if __name__ == "__main__":
    main()
