"""Reading ED train: ours, which gives checked Dialogues, beside pandas, which gives a table. Time and memory.

Needs the real corpus (HEARTFELT_DATA, or ../shared/data) and pandas. Each reader runs in a process of its own, so
that peak memory is its own; the best of five counts, and the ratio of the two is the result.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

NAMED = os.environ.get("HEARTFELT_DATA")
DATA = Path(NAMED) if NAMED else Path(__file__).parent.parent.parent / "shared" / "data"

COMMON = """
import json, resource, sys, time
data = sys.argv[1]
{imports}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
best = min(once() for once in [once] * 5)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({{"seconds": best, "mib": (after - before) / 1024}}))
"""

OURS = """
from heartfelt import corpora
def once():
    start = time.perf_counter()
    count = sum(len(d.turns) for d in corpora.load("empathetic_dialogues", "train", data=data))
    assert count == 84169
    return time.perf_counter() - start
"""

PANDAS = """
import csv, pandas
def once():
    start = time.perf_counter()
    table = pandas.read_csv(f"{data}/empathetic_dialogues/train.csv", quoting=csv.QUOTE_NONE)
    assert len(table) == 84169
    {more}
    return time.perf_counter() - start
"""

# What it takes to have in pandas what our reader gives: commas back, turns grouped in order.
GROUPED = """
    for column in ("prompt", "utterance"):
        table[column] = table[column].str.replace("_comma_", ",")
    groups = [(id_, rows["utterance"].tolist()) for id_, rows in table.groupby("conv_id", sort=False)]
    assert len(groups) == 19533
"""


def run(imports: str) -> dict[str, float]:
    code = COMMON.format(imports=imports)
    done = subprocess.run([sys.executable, "-c", code, str(DATA)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    if not (DATA / "empathetic_dialogues" / "train.csv").exists():
        print("skipped: the real corpus is not here (set HEARTFELT_DATA)")
        return
    ours = run(OURS)
    table = run(PANDAS.replace("{more}", ""))
    grouped = run(PANDAS.replace("{more}", GROUPED.strip()))
    print(f"{'':<34}{'seconds':>9}{'MiB more':>10}")
    for name, r in (
        ("heartfelt, Dialogues", ours),
        ("pandas, table", table),
        ("pandas, grouped dialogues", grouped),
    ):
        print(f"{name:<34}{r['seconds']:>9.3f}{r['mib']:>10.1f}")
    print(f"time, ours / pandas table: {ours['seconds'] / table['seconds']:.2f}")
    print(f"time, ours / pandas grouped: {ours['seconds'] / grouped['seconds']:.2f}")
    print(f"memory, ours / pandas table: {ours['mib'] / table['mib']:.2f}")


if __name__ == "__main__":
    main()
