"""EPITOME: posts in search of support and answers, with levels of three empathy mechanisms (Sharma et al. 2020).

Source: https://github.com/behavioral-data/Empathy-Mental-Health (Reddit part)
Licence: users' content; for research only
Fields: two turns; meta keeps `emotional_reactions`, `explorations`, `interpretations`: each {level: 0 none,
1 weak, 2 strong; rationales: the words that show it}.
Known faults: holds self-harm content. 61 of 3,084 pairs repeat a (post, answer) id, so ids here count rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heartfelt.corpora.corpus import Corpus, Download, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults, csv_rows

MECHANISMS = ("emotional-reactions", "explorations", "interpretations")
_COLUMNS = ("sp_id", "rp_id", "seeker_post", "response_post", "level", "rationales")


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    paths = [folder / f"{mechanism}-reddit.csv" for mechanism in MECHANISMS]
    # The three files hold the same pairs in the same order. A row that one of them lost is skipped in all:
    # each side waits until the others have caught up with its key.
    others = [_ByKey(path, faults) for path in paths[1:]]
    for key, line, row in _keyed(paths[0], faults):
        rows = [row, *(other.take(key) for other in others)]
        texts = [row["seeker_post"].strip(), row["response_post"].strip()]
        if None in rows:
            missing = paths[rows.index(None)].name
            faults.add(paths[0], line, f"the pair {key} is not in {missing}, or cannot be read there")
        elif not all(texts):
            faults.add(paths[0], line, "an empty post or answer")
        else:
            meta = {name.replace("-", "_"): _judged(r) for name, r in zip(MECHANISMS, rows, strict=True) if r}
            yield Dialogue(key, alternating(texts), source=CORPUS.name, meta=meta)


def _keyed(path: Path, faults: Faults) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Rows with a key of their own: the ids of post and answer, and how often they came before."""
    times: dict[str, int] = {}
    for line, row in csv_rows(path, faults, _COLUMNS):
        key = f"{row['sp_id']}-{row['rp_id']}"
        if row["level"] not in ("0", "1", "2") or key == "-":
            faults.add(path, line, f"level '{row['level'][:20]}' is not 0, 1 or 2, or the ids are missing")
            continue
        times[key] = times.get(key, 0) + 1
        yield f"{key}-{times[key]}", line, row


class _ByKey:
    """Rows of one file, taken by key; those passed over are kept until asked for."""

    def __init__(self, path: Path, faults: Faults) -> None:
        self._rows = _keyed(path, faults)
        self._passed: dict[str, dict[str, str]] = {}

    def take(self, key: str) -> dict[str, str] | None:
        while key not in self._passed and (following := next(self._rows, None)):
            self._passed[following[0]] = following[2]
        return self._passed.pop(key, None)


def _judged(row: dict[str, str]) -> dict[str, Any]:
    rationales = [part.strip() for part in row["rationales"].split("|") if part.strip()]
    return {"level": int(row["level"]), "rationales": rationales}


_FILES = "https://raw.githubusercontent.com/behavioral-data/Empathy-Mental-Health/master/dataset"

CORPUS = Corpus(
    name="epitome",
    about=__doc__,
    read=read,
    folder="reddit/epitome",
    shows="*-reddit.csv",
    splits=("all",),
    downloads=tuple(Download(f"{_FILES}/{mechanism}-reddit.csv") for mechanism in MECHANISMS),
)
