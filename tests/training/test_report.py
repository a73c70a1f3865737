"""The report on a run: what is confused with what by hand, and the page as a browser would see it."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from heartfelt.labels import EMOTIONS
from heartfelt.recipe import Recipe
from heartfelt.training import engine, report
from heartfelt.training.predictions import Head
from heartfelt.training.run import Run
from heartfelt.training.tasks import Item


def head(labels: tuple[str, ...], pairs: list[tuple[str, str]], sure: float = 0.8) -> Head:
    """Items of which each is truly the first label and called the second, with this chance."""
    rest = (1 - sure) / (len(labels) - 1)
    logits = np.log([[sure if label == said else rest for label in labels] for _, said in pairs])
    items = tuple(Item(f"d{i}", 0, (f"text {i}",), {"emotion": true}) for i, (true, _) in enumerate(pairs))
    return Head("emotion", labels, items, logits, np.array([labels.index(true) for true, _ in pairs]))


PAIRS = [
    *[("angry", "furious")] * 3, ("furious", "angry"), *[("angry", "angry")] * 4, *[("furious", "furious")] * 2,
    ("joyful", "sad"), ("joyful", "joyful"),
]  # fmt: skip


def test_confused_pairs_by_hand() -> None:
    found = report.of_head(head(EMOTIONS, PAIRS), 1.0, [False] * 12, 20)
    first, second = found.pairs
    assert (first.a, first.b, first.a_as_b, first.b_as_a, first.together) == ("angry", "furious", 3, 1, 4)
    assert first.share == 4 / 10  # of seven angry and three furious items
    assert (second.a, second.b, second.together) == ("joyful", "sad", 1)
    assert second.share == 1 / 2
    assert found.accuracy == 7 / 12


def test_labels_stand_by_parrotts_groups_and_only_those_that_occur() -> None:
    found = report.of_head(head(EMOTIONS, PAIRS), 1.0, [False] * 12, 20)
    assert found.order == ("joyful", "sad", "angry", "furious")
    assert found.blocks == (("joy", 1), ("sadness", 1), ("anger", 2))
    cells = {(found.order[c.row], found.order[c.column]): (c.count, c.share) for c in found.cells}
    assert cells["angry", "furious"] == (3, 3 / 7)
    assert ("sad", "sad") not in cells
    by_name = {label.name: label for label in found.labels}
    assert (by_name["angry"].items, by_name["angry"].accuracy, by_name["angry"].precision) == (
        7,
        4 / 7,
        4 / 5,
    )
    assert (by_name["angry"].taken_for, by_name["angry"].mistakes) == ("furious", 3)
    assert (by_name["sad"].accuracy, by_name["sad"].precision, by_name["sad"].taken_for) == (None, 0.0, "")


def test_other_labels_stand_beside_those_that_they_are_taken_for() -> None:
    labels = ("a1", "b1", "c1", "a2", "b2", "c2")
    counts = 10 * np.eye(6, dtype=np.int64)
    for i in range(3):
        counts[i, i + 3] = counts[i + 3, i] = 5
    ((_, order),) = report.in_blocks(labels, counts)
    assert {frozenset(order[i : i + 2]) for i in (0, 2, 4)} == {
        frozenset(("a1", "a2")), frozenset(("b1", "b2")), frozenset(("c1", "c2")),
    }  # fmt: skip


def test_calibration_by_hand() -> None:
    # Chance .8 and right 7 times of 12: off by .8 - 7/12, all in one bin.
    given = head(EMOTIONS, PAIRS)
    before = report.reliability(given, 1.0, 20)
    assert before.ece.value == pytest.approx(0.8 - 7 / 12, abs=1e-6)
    (dot,) = before.dots
    assert (dot.chance, dot.accuracy, dot.items) == (pytest.approx(0.8, abs=1e-6), pytest.approx(7 / 12), 12)
    # A temperature that takes the chance of the label that was said to 7/12 takes the error away.
    rest = 0.2 / 31
    temperature = np.log(0.8 / rest) / np.log((7 / 12) / ((5 / 12) / 31))
    assert report.reliability(given, float(temperature), 20).ece.value == pytest.approx(0, abs=1e-6)


def test_the_mistakes_it_is_surest_of_come_first() -> None:
    labels = ("joyful", "sad", "angry")
    logits = np.log([[0.7, 0.2, 0.1], [0.1, 0.9, 0.0001], [0.5, 0.3, 0.2], [0.05, 0.05, 0.9]])
    items = tuple(Item(f"d{i}", 0, (f"text {i}",), {"emotion": "sad"}) for i in range(4))
    found = report.mistakes(Head("emotion", labels, items, logits, np.array([1, 1, 1, 1])), 1.0)
    assert [(m.turns, m.gold, m.said, round(m.chance, 2)) for m in found] == [
        (("text 3",), "sad", "angry", 0.9), (("text 0",), "sad", "joyful", 0.7), (("text 2",), "sad", "joyful", 0.5),
    ]  # fmt: skip


def test_items_that_training_had_stand_apart() -> None:
    again = [i in (0, 4) for i in range(12)]  # a wrong one and a right one
    found = report.of_head(head(EMOTIONS, PAIRS), 1.0, again, 20).seen
    assert (found.items, found.accuracy, found.others, found.accuracy_of_others) == (2, 0.5, 10, 0.6)


class Page(HTMLParser):
    """What a page asks a browser to fetch or run, its texts, and pictures without a name."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[str] = []
        self.tags: list[str] = []
        self.unnamed = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.wanted += [f"{tag} {name}={given[name]}" for name in ("src", "href") if name in given]
        self.unnamed += tag == "svg" and not (given.get("role") == "img" and given.get("aria-label"))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page(intents: Path, tmp_path: Path) -> None:
    rows = intents / "empathetic_intents" / "train_data" / "test.txt"
    rows.write_text(rows.read_text() + "27 <SEP> what happened to my <b>cat</b>\n")
    recipe = Recipe(
        "utterances", "naive_bayes", note="from /home/someone/notes/a.txt, see https://example.org/a/b"
    )
    engine.train(recipe, tmp_path / "nb", intents)
    made = report.report(Run(tmp_path / "nb"), intents, 20)
    report.write(tmp_path / "page.html", made)
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(source)
    assert page.wanted == []  # nothing is fetched
    assert "script" not in page.tags
    assert (page.tags.count("svg"), page.unnamed) == (2, 0)
    assert "what happened to my <b>cat</b>" in page.text
    assert "<b>cat</b>" not in source
    pair = made.heads[0].pairs[0]
    said = f"{pair.a} taken for {pair.b}: {pair.a_as_b}"
    for part in ("Most confused", "What is taken for what", "Label by label", said):
        assert part in page.text
    assert "1 of them have the text of a training item" in " ".join(page.text.split())
    assert "someone" not in source  # a page is handed on: no paths of this machine
    assert "https://example.org/a/b" in source
