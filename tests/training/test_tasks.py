"""Tasks give what they promise, and nothing of what is to be learned."""

from pathlib import Path

from heartfelt.dialogue import Turn
from heartfelt.training.engine import data_hash
from heartfelt.training.tasks import Item, plans


def test_a_plan_comes_with_the_turns_before_it_and_with_no_label_of_its_own(replies: Path) -> None:
    found = [item for item in plans("train", replies) if item.dialogue == "train2"]  # joyful first, then sad
    text = "i am so so"
    assert found == [
        Item("train2", 1, (text,), {"plan": "wishing"}, ("speaker",), ("joyful",)),
        Item(
            "train2",
            3,
            (text, text, text),
            {"plan": "sympathizing"},
            ("speaker", "listener", "speaker"),
            ("joyful", "wishing", "sad"),
        ),
    ]
    assert found[1].context[1:] == (Turn("listener", text, "wishing"), Turn("speaker", text, "sad"))


def test_where_a_task_does_not_tell_one_person_speaks() -> None:
    assert Item("d", 0, ("a", "b"), {}).context == (Turn("speaker", "a"), Turn("speaker", "b"))


def test_the_hash_of_the_data_tells_speakers_and_turn_labels_apart() -> None:
    item = Item("d1", 1, ("hello", "hi"), {"plan": "sad", "label": "joyful"})
    told = item._replace(speakers=("speaker", "listener"), turn_labels=("sad", "wishing"))
    others = (told._replace(speakers=("listener", "speaker")), told._replace(turn_labels=("sad", "neutral")))
    hashes = [data_hash({"train": [one], "test": []}) for one in (item, told, *others)]
    assert len(set(hashes)) == 4
    assert hashes[0] == "de5002db6151"  # as it was before items had either: results of old stay comparable
