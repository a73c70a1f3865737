"""The label sets, against what the papers and the published files say."""

import pytest

from heartfelt import labels
from heartfelt.errors import UnknownName


def test_ids_are_the_published_ones() -> None:
    # EmpatheticIntents' train_data/labels.txt, with neutral as the data have it.
    published = {
        "afraid": 0, "furious": 16, "trusting": 31, "agreeing": 32, "acknowledging": 33, "encouraging": 34,
        "consoling": 35, "sympathizing": 36, "suggesting": 37, "questioning": 38, "wishing": 39, "neutral": 40,
    }  # fmt: skip
    assert {name: labels.label_id(name) for name in published} == published
    assert len(labels.LABELS) == len(set(labels.LABELS)) == 41
    assert list(labels.EMOTIONS) == sorted(labels.EMOTIONS)


def test_the_published_file_agrees_but_for_its_known_bug(data) -> None:  # type: ignore[no-untyped-def]
    lines = (data / "empathetic_intents/train_data/labels.txt").read_text().lower().split()
    published = {name: int(id_) for name, id_ in (line.split(",") for line in lines)}
    assert published.pop("neutral") == 38
    assert published == {name: labels.label_id(name) for name in labels.LABELS if name != "neutral"}


def test_every_emotion_is_in_one_of_parrotts_groups() -> None:
    grouped = [emotion for emotions in labels.GROUPS.values() for emotion in emotions]
    assert sorted(grouped) == list(labels.EMOTIONS)
    # naous2021, Table 2.
    assert {g: len(e) for g, e in labels.GROUPS.items()} == {
        "joy": 9, "love": 5, "surprise": 2, "sadness": 7, "anger": 5, "fear": 4,
    }  # fmt: skip
    assert labels.group_of("anticipating") == "joy"
    assert labels.group_of("nostalgic") == "love"
    assert labels.group_of("ashamed") == "sadness"
    assert labels.group_of("jealous") == "anger"


def test_an_unknown_label_answers_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'sympathizing'"):
        labels.label_id("sympathising")
    with pytest.raises(UnknownName, match="no emotion 'hungry'"):
        labels.group_of("hungry")
