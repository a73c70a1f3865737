"""A recipe with `segment`: the model reads and says clitics, people read and say words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heartfelt.agent.answering import AnswererRun, Asked
from heartfelt.agent.generator import Decoding
from heartfelt.dialogue import Turn
from heartfelt.models.segmenting import FILE
from heartfelt.models.two_tokenizers import open_tokenizer
from heartfelt.recipe import BadRecipe, Recipe, Training, dump, parse
from heartfelt.training import engine, pairs
from heartfelt.training.pairs import Pair, PairTask

TALKS = {
    "فرحت بالكتاب الجديد.": "والكتاب جميل؟",
    "حزنت لأن كلبي مات.": "آسف لكلبك وللعائلة!",
    "خفت من الليل والمطر.": "لليل خوفه، وللمطر صوته.",
    "عندي امتحانات كثيرة.": "بالتوفيق في امتحاناتك.",
}
SETTINGS = {"embedding": 24, "hidden": 32, "dropout": 0.0}


@pytest.fixture
def arabic(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(split: str, data: Path | None) -> Iterator[Pair]:
        times = 6 if split == "train" else 1  # each word is to be known
        for i, (said, answered) in enumerate(TALKS.items()):
            for again in range(times):
                yield Pair(f"{split}-{i}-{again}", 1, (Turn("speaker", said),), answered, {})

    monkeypatch.setitem(pairs.PAIRS, "pairs", PairTask("pairs", "Arabic replies", read))


def recipe(**changes: str) -> Recipe:
    training = Training(60, batch_size=12, learning_rate=1e-2, evaluate_every=60, metric="ppl")
    return Recipe("pairs", "bilstm_seq2seq", SETTINGS, training, **changes)


def test_a_model_learns_clitics_and_says_words(arabic: None, tmp_path: Path) -> None:
    results = engine.train(recipe(segment="plain"), tmp_path / "run", None)
    assert results["scores"]["test"]["replies"]["ppl"][0] < 1.3
    tokenizer = open_tokenizer(tmp_path / "run" / "model")
    assert {"و+", "ال+", "+ات", "كتاب"} <= set(tokenizer.get_vocab())
    assert "والكتاب" not in tokenizer.get_vocab()
    assert (tmp_path / "run" / "model" / FILE).is_file()
    agent = AnswererRun(tmp_path / "run")
    asked = [Asked((Turn("speaker", said),)) for said in TALKS]
    greedy = Decoding(temperature=0.0, repeat_penalty=1.0)
    said = {place: found[0].text for place, found in agent.write(asked, greedy)}
    # What it says is spelled as people spell it, marks, لل and all.
    assert [said[i] for i in range(len(TALKS))] == list(TALKS.values())


def test_it_is_part_of_the_recipe_and_of_no_older_one(arabic: None, tmp_path: Path) -> None:
    assert parse(dump(recipe(segment="plain"))).segment == "plain"
    assert "segment" not in dump(recipe()), "hashes of runs that were made before must not change"
    assert recipe(segment="plain").hash() != recipe().hash()
    with pytest.raises(BadRecipe, match="segment: there is plain, farasa"):
        engine.train(recipe(segment="plane"), tmp_path / "run", None)
    with pytest.raises(BadRecipe, match="segment is for models that write replies"):
        engine.train(Recipe("situations", "naive_bayes", segment="plain"), tmp_path / "run", None)
