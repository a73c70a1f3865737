"""Prints what the guard hears and misses: python -m tests.agent.crisis_figures [--data FOLDER] [--misses]."""

import argparse
import csv
from pathlib import Path

from heartfelt.agent.guard import Guard
from heartfelt.evaluation.human import Estimate, wilson
from heartfelt.training.crisis import speakers

FOLDER = Path(__file__).parent / "crisis"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def share(hits: int, n: int) -> tuple[str, Estimate]:
    found = wilson(hits, n)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return f"{hits}/{n} = {found.value:.4f} [{found.low:.4f}, {found.high:.4f}]", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the corpora, for false alarms on ED test")
    parser.add_argument(
        "--sets", default="dev,test,blind", help="files of tests/agent/crisis; the last by kind too"
    )
    parser.add_argument("--misses", action="store_true", help="of the last set: it is spent then")
    asked = parser.parse_args()
    sets = asked.sets.split(",")
    for what, guard in (("patterns and ear", Guard("US")), ("patterns alone", Guard("US", ear=False))):
        print(f"== {what}")
        for name in sets:
            for side, word in (("yes", "recall"), ("no", "false alarms")):
                for language in ("en", "ar", None):
                    chosen = [
                        row
                        for row in rows(name)
                        if row["crisis"] == side and language in (None, row["language"])
                    ]
                    if not chosen:
                        continue
                    hits = sum(bool(guard.crisis(row["text"])) for row in chosen)
                    print(f"{name} {word} {language or 'all'}: {share(hits, len(chosen))[0]}")
        kinds = sorted({row["kind"] for row in rows(sets[-1]) if row["crisis"] == "yes"})
        for kind in kinds:
            chosen = [row for row in rows(sets[-1]) if row["crisis"] == "yes" and row["kind"] == kind]
            hits = sum(bool(guard.crisis(row["text"])) for row in chosen)
            print(f"{sets[-1]} recall {kind}: {hits}/{len(chosen)}")
        if asked.data:
            said = [text for _, text in speakers("test", asked.data)]
            print(f"ED test: {share(sum(bool(guard.crisis(text)) for text in said), len(said))[0]}")
    if asked.misses:
        guard = Guard("US")
        for row in rows(sets[-1]):
            if bool(guard.crisis(row["text"])) != (row["crisis"] == "yes"):
                word = "missed" if row["crisis"] == "yes" else "false alarm"
                print(word, row["id"], row["kind"], row["text"])


if __name__ == "__main__":
    main()
