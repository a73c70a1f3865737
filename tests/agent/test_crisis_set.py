"""The crisis messages are sound: nothing twice, nothing in both files, enough of each side."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from heartfelt.text import language_of, normalized

FOLDER = Path(__file__).parent / "crisis"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "least"),
    [("dev.csv", 120), ("test.csv", 200), ("blind.csv", 380), ("second.csv", 380), ("third.csv", 380)],
)
def test_both_sides_are_there_and_languages_are_as_said(name: str, least: int) -> None:
    found = rows(name)
    assert len(found) >= least
    sides = Counter(row["crisis"] for row in found)
    assert set(sides) == {"yes", "no"}
    assert abs(sides["yes"] - sides["no"]) < 0.05 * len(found)
    other = [row["id"] for row in found if language_of(row["text"]) != row["language"]]
    assert len(other) <= (name == "blind.csv")  # which has one in Arabic with Latin letters


def test_no_message_occurs_twice() -> None:
    names = ("dev.csv", "test.csv", "blind.csv", "second.csv", "third.csv")
    texts = [normalized(row["text"]) for name in names for row in rows(name)]
    assert len(set(texts)) == len(texts)
