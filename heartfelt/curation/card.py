"""The dataset card of a curated corpus: what each step removed and why, meed2's tables, where it comes from."""

from typing import Any

from heartfelt.labels import LABELS
from heartfelt.terminal import bar

Counts = dict[str, Any]

# meed2, Tables 1 and 2: dialogues, turns, tokens.
MEED2 = {"all": (4_010_009, 18_849_440, 312_574_468), "emotional": (1_000_000, 3_488_300, 66_447_274)}


def page(run: Counts, stages: dict[str, Counts], statistics: dict[str, Counts]) -> str:
    return "\n\n".join(
        (
            "# Emotional dialogues from subtitles",
            "Dialogues cut from subtitle files by `heartfelt curate subtitles`, as meed2 (Xie & Pu 2021, section 3) "
            "describes it: lines → turns → dialogues → cleaned → labelled with 41 emotions and intents → the most "
            "emotional ones. Here (train, valid, test by film) are those; the others are in `others/`. `heartfelt "
            "corpora describe FOLDER` reads both.",
            "**Provenance.** " + _provenance(run),
            "**Licence.** That of the subtitles: film owners hold rights in the text. Use it where the law lets you "
            "(research, text and data mining), and quote nothing at length.",
            "**Not gold.** Who speaks was guessed (see the segmenter's card), speakers A and B only follow each other, "
            "and labels are a classifier's. `audit.csv` is a sample for people to check.",
            "## What each step kept\n\n" + funnel(stages),
            "## What was removed, and why\n\n" + removed(stages),
            "## Statistics\n\n" + tables(statistics),
            "## What the last turn expresses (meed2's Figure 2)\n\n" + figure(statistics["emotional"]),
        )
    ) + "\n"  # fmt: skip


def _provenance(run: Counts) -> str:
    settings = run["settings"]
    cleaning = ", ".join(f"{name} {value}" for name, value in settings["cleaning"].items())
    rest = ", ".join(
        f"{name} {value}" for name, value in settings.items() if name != "cleaning" and value != ""
    )
    return (
        f"{run['files']:,} files in {run['shards']:,} shards; heartfelt {run['heartfelt']}, segmenter "
        f"{run['segmenter'][:12]}, encoder {run['encoder'][:12]}. Settings: {rest}; cleaning: {cleaning}. "
        "`choices.tsv` says which subtitle of a film was taken and why, `quarantine.tsv` what could not be read, "
        "`manifest.json` every count and the hash of each file."
    )


def funnel(stages: dict[str, Counts]) -> str:
    read, choose, cut = stages["read"], stages["choose"], stages["cut"]
    rows = (
        ("files", read.get("files", 0)),
        ("readable files", read.get("readable files", 0)),
        ("films (one subtitle each)", choose.get("taken", 0)),
        ("lines of those", cut.get("lines", 0)),
        ("turns", cut.get("turns", 0)),
        ("dialogues", cut.get("dialogues", 0)),
        ("clean dialogues", cut.get("clean dialogues", 0)),
        ("turns in them", cut.get("clean turns", 0)),
        ("without doubles", stages["label"].get("dialogues", 0)),
        ("emotional", stages["select"].get("emotional", 0)),
    )
    return _table(("step", "count"), [(name, f"{count:,}") for name, count in rows])


def removed(stages: dict[str, Counts]) -> str:
    rows = [
        (f"text: {name.removeprefix('removed: ')}", count)
        for name, count in stages["read"].items()
        if ":" in name
    ]
    choose = stages["choose"]
    rows += [
        (f"files: {name}", choose[name])
        for name in ("not English", "fragments", "rivals left")
        if choose.get(name)
    ]
    rows += [(name, count) for name, count in stages["cut"].items() if ":" in name or name == "turns masked"]
    rows += [
        (f"dialogues: {name}", count) for name, count in stages["unique"].items() if name.startswith("again")
    ]
    return _table(("what and why", "how many"), [(name, f"{count:,}") for name, count in rows])


def tables(statistics: dict[str, Counts]) -> str:
    """meed2's Tables 1 and 2, beside meed2's figures; tokens are words and marks, meed2 does not say what it counts."""
    heads = ("", "all clean", "meed2, Table 1", "emotional", "meed2, Table 2")
    columns = [
        numbers
        for which in ("all", "emotional")
        for numbers in (
            tuple(statistics[which].get(n, 0) for n in ("dialogues", "turns", "tokens")),
            MEED2[which],
        )
    ]
    rows: list[tuple[str, ...]] = [
        (name, *(f"{numbers[i]:,}" for numbers in columns))
        for i, name in enumerate(("dialogues", "turns", "tokens"))
    ]
    for name, over, under in (
        ("turns a dialogue", 1, 0),
        ("tokens a turn", 2, 1),
        ("tokens a dialogue", 2, 0),
    ):
        rows.append((name, *(f"{numbers[over] / max(1, numbers[under]):.2f}" for numbers in columns)))
    mean = [
        s.get("thousandths of emotionality", 0) / 1000 / max(1, s.get("dialogues", 0))
        for s in statistics.values()
    ]
    rows.append(("mean emotionality", f"{mean[0]:.3f}", "", f"{mean[1]:.3f}", ""))
    return _table(heads, rows)


def figure(statistics: Counts) -> str:
    counts = {label: statistics.get(f"last: {label}", 0) for label in LABELS}
    total = max(1, sum(counts.values()))
    most = max(1, *counts.values())
    ranked = sorted(LABELS, key=lambda label: (-counts[label], LABELS.index(label)))
    lines = [
        f"{label:<14}{counts[label] / total:>6.1%} {bar(counts[label] / most)}".rstrip() for label in ranked
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
