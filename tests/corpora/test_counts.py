"""The real corpora: how many rows each has, and that no dialogue is in two splits."""

from collections import Counter
from pathlib import Path

import pytest

from heartfelt import corpora, examples
from heartfelt.files import Faults

# (dialogues by split, faults in all), for the copies that ../shared/DATA.md describes.
COUNTS = {
    "empathetic_dialogues": ({"train": 19_533, "valid": 2_769, "test": 2_546}, 0),
    "empathetic_intents": ({"train": 19_532, "valid": 2_769, "test": 2_546}, 9),  # 9 copies "(1)"
    "intent_utterances": ({"train": 25_023, "valid": 3_544, "test": 3_225}, 0),
    "intent_ngrams": ({"train": 35_612, "validation": 5_179, "test": 4_675}, 0),
    "intent_seeds": ({"all": 506}, 0),
    "edos": ({"mturk": 8_745, "similar": 3_196, "self_labeled": 4_100, "similar_self_labeled": 2_118}, 1),
    "dailydialog": ({"train": 11_118, "validation": 1_000, "test": 1_000}, 1),  # one misaligned
    "reddit": ({"all": 352_570 - 6}, 6),  # 6 have an empty side
    "cornell": ({"all": 62_449 - 9}, 193 + 9),  # 193 lines without text, 9 conversations of only those
    "20news": ({"train": 18_846, "test": 0}, 0),  # this copy keeps all under train
    "chitchat": ({"chatterbot_english": 2_025, "chatterbot_arabic": 574, "personality_chat": 9_796}, 1 + 4),
    "arabic_ed_test": ({"train": 2_287, "valid": 126, "test": 128}, 2),  # 2 rows hold raw CSV
    "emotone": ({"all": 10_065 - 1}, 1),  # one tweet is empty
    "epitome": ({"all": 3_084}, 0),
    "heartfelt_talks": ({"train": 5_632, "valid": 623}, 0),
    "heartfelt_situations": ({"train": 12_868, "valid": 1_528}, 0),
}


def test_every_corpus_is_counted() -> None:
    absent = {
        "reddit_dumps",
        "arabic_empathetic_dialogues",
    }  # not at hand here; their fixtures speak for them
    assert set(COUNTS) | absent == set(corpora.CORPORA)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_splits(name: str, data: Path) -> None:
    dialogues, faults = COUNTS[name]
    told = Faults()
    counts: dict[str, int] = {}
    split_of: dict[str, str] = {}
    for split in corpora.CORPORA[name].splits:
        counts[split] = 0
        for dialogue in corpora.load(name, split, data=data, faults=told):
            counts[split] += 1
            assert split_of.setdefault(dialogue.id, split) == split, f"{dialogue.id} is in two splits"
    assert counts == dialogues
    assert told.count == faults
    assert len(split_of) == sum(counts.values()), "an id occurs twice"


def test_empathetic_dialogues_turns(data: Path) -> None:
    train = list(corpora.load("empathetic_dialogues", "train", data=data))
    assert sum(len(dialogue.turns) for dialogue in train) == 84_169
    assert sum('"' in turn.text for d in train for turn in d.turns) > 400  # unescaped quotes are kept
    test = list(corpora.load("empathetic_dialogues", "test", data=data))
    assert sum(1 for d in test for _ in examples(d)) == 5_257  # the MoEL line scores 5,255 of them


def test_intent_rows(data: Path) -> None:
    told = Faults()
    dialogues = list(corpora.load("empathetic_intents", data=data, faults=told))
    rows = sum(1 + len(dialogue.turns) for dialogue in dialogues)
    assert rows == 132_103 - 48  # the rows of the 9 copies
    originals = {d.id: d for d in corpora.load("empathetic_dialogues", data=data)}
    same = sum(d.turns[0].text == originals[d.id].turns[0].text for d in dialogues)
    assert same > 0.99 * len(dialogues)


def test_edos_agreement(data: Path) -> None:
    votes = Counter(d.meta["agreed"] != "-" for d in corpora.load("edos", "mturk", data=data))
    assert votes[True] == 7_413


def test_arabic_rows_are_the_listeners_turns(data: Path) -> None:
    dialogues = list(corpora.load("arabic_ed_test", data=data, faults=Faults()))
    assert sum(1 for d in dialogues for _ in examples(d, window=None)) == 5_247 - 2
    assert all(d.turns[-1].speaker == "listener" for d in dialogues)
