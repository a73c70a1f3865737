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


@pytest.mark.filterwarnings("ignore:TF32")  # told of whenever oneDNN's flags are touched
def test_half_the_bits_read_nearly_the_same(speaks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without oneDNN, whose bf16 products die on some processors."""
    import torch

    from heartfelt.retrieval.likelihood import LikelihoodRun

    said = (Turn("speaker", "i am so sad today"),)
    pairs = [(said, reply) for reply in ("what did you say ?", "so", "you won the game")]
    whole = LikelihoodRun(speaks).read(pairs)
    monkeypatch.setenv("HEARTFELT_PRECISION", "bf16")
    with torch.backends.mkldnn.flags(enabled=False):  # type: ignore[no-untyped-call]
        half = LikelihoodRun(speaks).read(pairs)
    assert not np.array_equal(whole, half)
    assert half == pytest.approx(whole, rel=0.05)


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


def test_what_was_not_read_is_no_rival() -> None:
    """Two replies of three were read, of which the one with the larger number is right three times in four."""
    from heartfelt.training.jury import weigh

    numbers = np.zeros((400, 3, 1))
    numbers[:, 0] = 1
    right = np.zeros((400, 3), bool)
    right[:300, 0] = right[300:, 1] = True
    read = np.array([[True, True, False]] * 400)
    numbers[:, 2] = 99  # of what was not read: never looked at
    assert weigh(numbers, right, read)[0] == pytest.approx(np.log(3), abs=0.02)


def test_only_what_may_still_win_is_read_again() -> None:
    from heartfelt.training.pairs import Pair
    from heartfelt.training.reranking import Shortlist

    fit = np.array([[0.5, 0.9, 0.8, 0.1], [0.0, 0.9, 0.3, 0.2], [0.6, 0.2, 0.6, 0.0], [0.1, 0.2, 0.25, 0.3]])
    pairs = [Pair(str(i), 1, (Turn("speaker", f"c{i}"),), f"r{i}", {}) for i in range(4)]

    class Fixed:
        def contexts(self, talks: Any) -> np.ndarray:
            return fit.astype(np.float32)

        def replies(self, texts: Any) -> np.ndarray:
            return np.eye(4, dtype=np.float32)

    def asked(within: float) -> tuple[Shortlist, list[tuple[str, str]]]:
        found = Shortlist(pairs, Fixed(), 3, lambda _: None, within)  # type: ignore[arg-type]
        return found, [(turns[0].text, reply) for turns, reply in found.asked]

    assert len(asked(np.inf)[1]) == 12
    near, read = asked(0.12)
    # c1 has a sure first one, which is right; c0's right reply is too far off to be read.
    assert sorted(read) == [("c0", "r1"), ("c0", "r2"), *(("c2", f"r{i}") for i in (0, 2)),
                            *(("c3", f"r{i}") for i in (1, 2, 3))]  # fmt: skip
    assert near.scored(np.zeros(7, np.float32))["shortlist"]["p_at_1"][0] == 62.5  # of two equal ones, half
    wanted = np.array([float(reply[1] == turn[1]) for turn, reply in read], np.float32)
    assert near.scored(wanted)["replies"]["p_at_1"][0] == 75
    assert near.scored(-wanted)["replies"]["p_at_1"][0] == 25, "what is sure stays"
    nothing, read = asked(1e-9)
    assert {turn for turn, _ in read} == {"c2"}, "equal ones are read"
    assert nothing.scored(np.zeros(2, np.float32))["replies"]["items"] == 4


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
