"""The encoder that ships: small, whole, sensible on messages that we wrote ourselves."""

import csv
from pathlib import Path

import pytest

import heartfelt
from heartfelt.agent.listen import HEADS, SHIPPED, as_dialogue, shipped
from heartfelt.labels import EMOTIONS

FOLDER = SHIPPED / "encoder"


def fifty() -> list[dict[str, str]]:
    with (Path(__file__).parent / "fifty_messages.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_is_small_and_has_its_card() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 26e6
    assert "EmpatheticDialogues" in (FOLDER / "README.md").read_text(encoding="utf-8")
    card = shipped()._encoder.card
    assert set(HEADS) <= set(card.heads)
    assert 0 < card.thresholds["crisis"] < 1


def test_it_hears_how_people_feel() -> None:
    """A floor well below what it does (docs/agent.md): a wrong file, or labels in another order, would fall through."""
    rows = fifty()
    heard = shipped()([as_dialogue(row["message"]) for row in rows])
    felt = [
        (row["fits"].split("|"), one.emotion) for row, one in zip(rows, heard, strict=True) if row["fits"]
    ]
    right = sum(max(emotion, key=lambda name: emotion[name]) in fits for fits, emotion in felt)
    assert right >= 0.4 * len(felt)
    gate = sum((one.neutral > 0.5) == (row["gate"] == "plain") for row, one in zip(rows, heard, strict=True))
    assert gate >= 0.8 * len(rows)


@pytest.mark.parametrize("text", ["a", "?", "😀", "so " * 50_000, "\x00\n\t x", "é" * 300])
def test_odd_messages_do_no_harm(text: str) -> None:
    heard = heartfelt.emotions(text)
    assert set(heard.emotion) == set(EMOTIONS)
    assert sum(heard.emotion.values()) == pytest.approx(1, abs=1e-4)
