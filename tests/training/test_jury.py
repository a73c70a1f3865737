"""A jury: a language model reads as it would alone, and weights are found that put the right reply first."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import HeartfeltError
from heartfelt.recipe import BadRecipe, Recipe, Training
from heartfelt.training.run import Run
from tests.training.conftest import ANSWERS
from tests.training.test_matching import bert


@pytest.fixture
def speaks(tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a tiny language model that has learned the answers to `talks`."""
    from heartfelt.training import engine
    from heartfelt.training import talks as module

    def read(split: str, data: Path | None) -> Iterator[module.Talk]:
        for i in range(20 if split == "train" else 5):
            about = list(ANSWERS)[i % len(ANSWERS)]
            said = (Turn("speaker", f"i am so sad , my {about}"), Turn("listener", ANSWERS[about]))
            yield module.Talk(Dialogue(f"{split}{i}", said), (1,))

    monkeypatch.setitem(module.TALKS, "tiny", module.TalkTask("tiny", "", read))
    settings: dict[str, Any] = {"checkpoint": str(tiny_llama), "lora_rank": 8}
    training = Training(epochs=15, batch_size=5, learning_rate=5e-3, evaluate_every=60, metric="ppl")
    engine.train(Recipe("tiny", "listener_lm", settings, training), tmp_path / "speaks")
    return tmp_path / "speaks"


def test_a_language_model_reads_side_by_side_as_it_does_one_by_one(speaks: Path) -> None:
    import torch

    from heartfelt.models import listener_lm as lm
    from heartfelt.models.backbone import load_tokenizer
    from heartfelt.retrieval.likelihood import LikelihoodRun

    said = (Turn("speaker", "my dog died"), Turn("listener", "so sad"), Turn("speaker", "i am so sad today"))
    replies = ["what did you say ?", "so", "you won the game"]
    reader = LikelihoodRun(speaks)
    found = reader.read([(said, reply) for reply in replies])
    model: Any = lm.load(speaks / "model").eval()  # type: ignore[no-untyped-call]
    tokenizer = load_tokenizer(str(speaks / "model"))
    for row, reply in zip(found, replies, strict=True):
        for number, turns in ((0, said), (1, ())):
            whole = Dialogue("d", (*turns, Turn("listener", reply)))
            told = lm.encode_dialogue(lm.Settings(), tokenizer, whole, [len(turns)], lambda *_: (None, None))
            batch = {name: torch.tensor([values]) for name, values in told.items()}
            nats = model(**batch, attention_mask=torch.ones_like(batch["input_ids"]))["logits"][0, 0, 0]
            assert row[number] == pytest.approx(-nats.item(), rel=1e-4)
            assert row[2] == told["purpose"].count(lm.REPLY)
    # In another order, and with another context between: the same.
    mixed = [(said, replies[2]), (said[:1], replies[0]), (said, replies[0])]
    again = reader.read(mixed)
    assert np.allclose(again[[0, 2]], found[[2, 0]], rtol=1e-4)


def test_weights_are_those_of_a_softmax_regression() -> None:
    from heartfelt.training.jury import weigh

    draw = np.random.default_rng(0)
    numbers = draw.normal(size=(4000, 5, 3)) * [1.0, 10.0, 0.1]
    truth = np.array([2.0, -0.1, 0.0])
    chances = np.exp(numbers @ truth)
    chances /= chances.sum(1, keepdims=True)
    picked = np.array([draw.choice(5, p=row) for row in chances])
    right = np.arange(5) == picked[:, None]
    right[:50] = False  # not on the shortlist: teaches nothing
    found = weigh(numbers, right)
    assert found[0] == pytest.approx(2.0, abs=0.15)
    assert found[1] == pytest.approx(-0.1, abs=0.02)
    assert found[2] == pytest.approx(0.0, abs=0.5)  # on a tenth of the scale


def test_a_jury_beats_its_weakest_and_loads_again(
    tiny_bert: Path, talks: Path, speaks: Path, tmp_path: Path
) -> None:
    from heartfelt.retrieval.reranker import open_reranker
    from heartfelt.training import engine
    from heartfelt.training.jury import score
    from heartfelt.training.pairs import PAIRS

    weak = bert(tiny_bert, epochs=1, evaluate_every=3, learning_rate=0.0)
    weak = replace(weak, settings={**weak.settings, "pooling": "first"})
    engine.train(weak, tmp_path / "first", talks)
    settings: dict[str, Any] = {"shortlist": str(tmp_path / "first"), "readers": (str(speaks),), "first": 20}
    recipe = Recipe("pairs", "jury", settings)
    found = engine.train(recipe, tmp_path / "jury", talks)["scores"]["test"]
    assert found["shortlist"]["p_at_1"][0] < 70
    assert found["replies"]["p_at_1"][0] > 80, "the language model knows the answers"
    assert score(Run(tmp_path / "jury"), PAIRS["pairs"], "test", talks, lambda _: None) == found
    again = open_reranker(tmp_path / "jury")
    fits = again([([Turn("speaker", "i am so sad , my cat")], text) for text in ANSWERS.values()])
    assert list(ANSWERS)[int(fits.argmax())] == "cat"
    # Begun again, what was read is not read again.
    (tmp_path / "jury" / "results.json").unlink()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "jury" / "readings").iterdir()}
    engine.train(recipe, tmp_path / "jury", talks)
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "jury" / "readings").iterdir()}
    with pytest.raises(BadRecipe, match=r"settings\.shortlist is the folder of a retrieval run, not ''"):
        engine.train(replace(recipe, settings={}), tmp_path / "none", talks)
    with pytest.raises(HeartfeltError, match="is not a finished run"):
        open_reranker(tmp_path / "none")
