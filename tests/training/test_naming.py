"""Messages beside titles of situations: the right one, and near ones that are wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.agent.situations import Known
from heartfelt.dialogue import Turn
from heartfelt.training.naming import RIVALS, named

TOLD = """@ {emotion} | {name}
> {name} first
> {name} second
> {name} third
~ {name} fourth
~ {name} fifth
= [neutral] well , {name}
"""


class Letters:
    """A matcher by which texts with the same letters are alike."""

    fingerprint = "letters"

    def contexts(self, contexts: Sequence[Sequence[Turn]]) -> Any:
        return np.stack([_counts(" ".join(turn.text for turn in turns)) for turns in contexts])

    def replies(self, texts: Sequence[str]) -> Any:
        return np.stack([_counts(text) for text in texts])


def _counts(text: str) -> Any:
    found = np.array([text.count(chr(ord("a") + i)) for i in range(26)], np.float32)
    return found / np.linalg.norm(found)


@pytest.fixture
def known(tmp_path: Path) -> Known:
    names = ["dog", "god", "cat", "act", "tea", "eat", "rain", "iran", "nest"]
    blocks = [TOLD.format(emotion="sad" if i % 2 else "-", name=name) for i, name in enumerate(names)]
    (tmp_path / "own.txt").write_text("\n".join(blocks))
    return Known(Letters(), tmp_path)  # type: ignore[arg-type]


def test_every_message_is_in_one_split_with_its_title_and_rivals(known: Known) -> None:
    splits = {split: list(named(split, known)) for split in ("train", "valid", "test")}
    said = {split: {one.turns[0] for one in found} for split, found in splits.items()}
    assert said["valid"] == {f"{one.name} third" for one in known.situations}
    assert said["test"] == {f"{one.name} fifth" for one in known.situations}
    assert len(said["train"]) == 3 * len(known.situations) and not said["train"] & (
        said["valid"] | said["test"]
    )
    for found in splits.values():
        assert len({(one.situation, one.place) for one in found}) == len(found)
        assert sum(one.right for one in found) * (1 + RIVALS) == len(found)
        for one in found:
            assert (one.turns[-1] == known.situations[one.situation].title) == one.right


def test_rivals_are_near_and_the_same_each_time(known: Known) -> None:
    assert [one.name for one in known.nearest([[Turn("speaker", "dog")]], 2)[0]] in (
        ["dog", "god"],
        ["god", "dog"],
    )
    assert list(named("train", known)) == list(named("train", known))
