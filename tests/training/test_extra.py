"""Extra turns join train and nothing else; a clean task keeps what ED's test listeners say out of training."""

import json
from pathlib import Path

import pytest

from heartfelt import Dialogue, Turn
from heartfelt.errors import BadData
from heartfelt.recipe import BadRecipe, Recipe
from heartfelt.text import same_key
from heartfelt.training import engine, extra, tasks
from heartfelt.training.run import Run


def write(path: Path, *pairs: tuple[str, str | None]) -> str:
    made = (Dialogue(f"x{i}", (Turn("listener", *pair),)) for i, pair in enumerate(pairs))
    path.write_text("".join(f"{dialogue.to_json()}\n" for dialogue in made))
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(
        tmp_path / "extra.jsonl",
        ("take care", "wishing"),
        ("Good luck, then!", "wishing"),  # of valid
        ("WHAT HAPPENED", "questioning"),  # of test
        ("What did you say?!", "questioning"),  # of valid, and what ED's listeners say
        ("i like tea", "sharing_opinions"),  # not among the 41
        ("no label", None),
    )


def test_extra_turns_join_train_and_those_of_valid_and_test_do_not(
    file: str, intents: Path, tmp_path: Path
) -> None:
    results = engine.train(Recipe("utterances", "naive_bayes", extra=(file,)), tmp_path / "run", intents)
    assert results["extra"] == {"items": 1, "leaked": 3, "foreign": 1}
    assert results["items"] == {"train": 6, "valid": 4, "test": 4}
    vocabulary = json.loads((tmp_path / "run" / "model" / "vocabulary.json").read_text())["words"]
    assert "take care" in vocabulary
    assert "then" not in vocabulary  # stands only in valid, and in the extra turn that was dropped
    plain = engine.train(Recipe("utterances", "naive_bayes"), tmp_path / "plain", intents)
    assert "extra" not in plain
    assert plain["data"] != results["data"]
    assert Run(tmp_path / "run").recipe.extra == (file,)


def test_of_a_corpus_with_splits_the_train_split(intents: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder / "train.jsonl", ("take care", "wishing"))
    write(folder / "test.jsonl", ("so long", "wishing"))
    task = tasks.find("utterances")
    found = extra.read([str(folder)], task, {"train": [], "valid": [], "test": []}, intents)
    assert [item.text for item in found.items] == ["take care"]


def test_a_recipe_that_cannot_use_them_is_refused_before_anything_is_written(
    file: str, moods: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        BadRecipe, match=r"head label, and the task situations has only emotion; .* utterances,"
    ):
        engine.train(Recipe("situations", "naive_bayes", extra=(file,)), tmp_path / "run", moods)
    with pytest.raises(
        BadRecipe, match=r"extra: There is no file or folder .*nowhere.jsonl; extra: There is no corpus"
    ):
        names = (str(tmp_path / "nowhere.jsonl"), "nope")
        engine.train(Recipe("utterances", "naive_bayes", extra=names), tmp_path / "run", moods)
    assert not (tmp_path / "run").exists()


def test_nothing_left_to_learn_from(intents: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", ("what happened", "questioning"), ("tea", "sharing_opinions"))
    with pytest.raises(
        BadData, match="1 are in valid or test and 1 have a label that utterances does not know"
    ):
        engine.train(Recipe("utterances", "naive_bayes", extra=(file,)), tmp_path / "run", intents)


def test_a_clean_task_trains_without_what_test_listeners_say(
    file: str, intents: Path, tmp_path: Path
) -> None:
    every, clean = tasks.find("utterances"), tasks.find("utterances_clean")
    kept = [item.text for item in clean.read("train", intents)]
    assert [i.text for i in every.read("train", intents) if i.text not in kept] == ["What did you say?"]
    for split in ("valid", "test"):  # the published sets, so that figures compare
        assert list(clean.read(split, intents)) == list(every.read(split, intents))
    # Extra turns do not bring it back.
    none = {"train": [], "valid": [], "test": []}
    found = extra.read([file], clean, none, intents)
    assert "What did you say?!" not in [item.text for item in found.items]
    assert found.leaked == 1


def test_the_published_rows(data: Path) -> None:
    """The counts that docs/training.md gives."""
    every, clean = tasks.find("utterances"), tasks.find("utterances_clean")
    train, test = list(every.read("train", data)), list(every.read("test", data))
    assert len(train) - len(list(clean.read("train", data))) == 455
    texts = {same_key(item.text) for item in train}
    again = [item for item in test if same_key(item.text) in texts]
    assert len(again) == 148
    assert sum(item.labels["label"] in tasks.REPLY_LABELS for item in again) == 145


def test_the_published_intent_rows_are_sentences_of_their_own_split(data: Path) -> None:
    from heartfelt import corpora
    from heartfelt.text import normalized

    for split in tasks.SPLITS:
        turns = "\n".join(
            f" {normalized(turn.text)} "
            for dialogue in corpora.load("empathetic_dialogues", split, data=data)
            for turn in dialogue.turns
            if turn.speaker != dialogue.speaker
        )
        rows = [i for i in tasks.utterances(split, data) if i.labels["label"] in tasks.REPLY_LABELS]
        outside = [item.text for item in rows if f" {normalized(item.text)} " not in turns]
        assert outside == ([] if split != "test" else ["?"])
