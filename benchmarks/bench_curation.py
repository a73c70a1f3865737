"""Lines a second and core for reading, cutting and labelling subtitles; core-hours for 441M sentences; memory by films.

    python benchmarks/bench_curation.py [FOLDER OF SUBTITLES]

Without a folder it makes films of its own, which hold fewer odd things than real ones. Processor time counts, not the
clock, so other work beside it matters little.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from heartfelt.curation import dialogues, labelling, sources, turns
from heartfelt.curation.subtitle import Unreadable

SENTENCES = 441_000_000  # in the English part of OpenSubtitles 2018 (meed2, section 3.1)
LABELLED = 2_000  # turns; the encoder is by far the slowest part
WORDS = "apple river window candle garden letter winter bridge station market mirror engine".split()


def own_films(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for film in range(count):
        blocks = []
        for i in range(1_500):
            word, other = WORDS[(i * 7 + film) % len(WORDS)], WORDS[(i * 5 + i // 12 + film) % len(WORDS)]
            text = (
                f"Did you see the {word}?"
                if i % 3 == 0
                else f"I left number {i} at the {word}, near the {other}."
            )
            start = 4 * i + 8 * (i // 12)
            stamps = [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d},000" for s in (start, start + 3)]
            blocks.append(f"{i + 1}\n{stamps[0]} --> {stamps[1]}\n{text}\n")
        (folder / f"film{film:03d}.srt").write_text("\n".join(blocks))
    return folder


def timed(work: Callable[[], int]) -> tuple[int, float]:
    started = time.process_time()
    count = work()
    return count, time.process_time() - started


def peak(folder: Path, films: int) -> float:
    """MB that a process needs at the most to read and cut so many films, in shards of ten."""
    code = (
        "import sys, resource\nfrom pathlib import Path\nfrom heartfelt.curation import sources, stages\n"
        "from heartfelt.curation.shards import Work\nimport msgspec\n"
        "folder, out, films = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])\n"
        "found = sources.find([folder])\nfound = [found[i % len(found)] for i in range(films)]\n"
        "task = stages.Task(out, stages.Settings(files_a_shard=10), (films + 9) // 10)\n"
        "for i in range(task.shards):\n"
        "    task.work.finish('plan', i, msgspec.to_builtins(found[10 * i : 10 * i + 10]))\n"
        "    stages.read(task, i)\n"
        "    task.work.finish('choose', i, {source.name: source.name for source in found[10 * i : 10 * i + 10]})\n"
        "    task.work.finish('cut', i, stages.cut(task, i))\n"
        "stages.unique(task)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    with tempfile.TemporaryDirectory() as out:
        run = [sys.executable, "-c", code, str(folder), out, str(films)]
        return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments[0]) if arguments else own_films(Path(scratch) / "films", 20)
        listed = sources.find([folder])[:40]
        films = []

        def parse() -> int:
            for source in listed:
                try:
                    films.append((source.name, sources.read(source).lines))
                except Unreadable:
                    continue
            return sum(len(lines) for _, lines in films)

        made = []

        def segment() -> int:
            for name, lines in films:
                found = dialogues.of_film(name, name, lines, turns.shipped(), dialogues.Cleaning(), Counter())
                made.extend(found)
            return sum(len(lines) for _, lines in films)

        parsed, segmented = timed(parse), timed(segment)
        chosen, count = [], 0
        for dialogue in made:
            if count >= LABELLED:
                break
            chosen.append(dialogue)
            count += len(dialogue.turns)
        labelling.encoder()
        labelled = timed(lambda: sum(len(d.turns) for d in labelling.labelled(chosen)))
        share = sum(len(d.turns) for d in made) / max(1, parsed[0])  # turns to label a line that was read
        print(f"{'':<10}{'a second and core':>20}{'core-hours for 441M':>22}")
        for name, (done, seconds), times in (
            ("parse", parsed, 1),
            ("segment", segmented, 1),
            ("label", labelled, share),
        ):
            rate = done / max(1e-9, seconds)
            what = "turns" if name == "label" else "lines"
            print(f"{name:<10}{rate:>14,.0f} {what}{SENTENCES * times / rate / 3600:>22,.1f}")
        print(f"(a line read gives {share:.2f} turns to label)")
        few, many = peak(folder, 10), peak(folder, 200)
        print(
            f"peak memory, read to doubles: {few:.0f} MB for 10 films, {many:.0f} MB for 200: {many / few:.2f} times"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
