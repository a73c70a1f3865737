"""The classifiers: by hand where numbers are small, and each one learns what can be learned."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import MissingExtra
from heartfelt.models import fasttext, majority, module_of, naive_bayes

TEXTS = ["good dog", "good cat", "bad dog"]
LABELS = [0, 0, 1]


def test_naive_bayes_by_hand(tmp_path: Path) -> None:
    model = naive_bayes.fit(naive_bayes.Settings(smoothing=1, pairs=False), TEXTS, LABELS, 2)
    # Class 0 has the words good good dog cat, class 1 bad dog; four words in all, one added to each count.
    good = (math.log((2 + 1) / 3 * (3 / 8)), math.log((1 + 1) / 3 * (1 / 6)))
    found = model.logits(["good unheard"])[0]
    assert found[0] - found[1] == pytest.approx(good[0] - good[1])
    model.save(tmp_path / "model")
    assert np.array_equal(naive_bayes.load(tmp_path / "model").logits(TEXTS), model.logits(TEXTS))


def test_majority_by_hand(tmp_path: Path) -> None:
    model = majority.fit(majority.Settings(), TEXTS, LABELS, 3)
    assert np.allclose(np.exp(model.logits(["anything"])), [[2.5, 1.5, 0.5]])
    model.save(tmp_path / "model")
    assert np.array_equal(majority.load(tmp_path / "model").logits(TEXTS), model.logits(TEXTS))


def test_fasttext_learns_and_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("floret", reason="needs fastText: pip install 'heartfelt[train]'")
    settings = fasttext.Settings(size=10, buckets=100, learning_rate=0.1)
    texts, labels = TEXTS * 20, LABELS * 20
    model = fasttext.fit(settings, texts, labels, 2)
    assert model.logits(TEXTS).argmax(-1).tolist() == LABELS
    assert np.allclose(np.exp(model.logits(TEXTS)).sum(-1), 1, atol=1e-3)
    assert np.array_equal(fasttext.fit(settings, texts, labels, 2).logits(TEXTS), model.logits(TEXTS))
    model.save(tmp_path / "model")
    assert np.allclose(fasttext.load(tmp_path / "model").logits(TEXTS), model.logits(TEXTS))
    # A class that training never had keeps its place.
    sparse = fasttext.fit(settings, texts, [2 * label for label in labels], 4)
    sparse.save(tmp_path / "sparse")
    assert np.allclose(fasttext.load(tmp_path / "sparse").logits(TEXTS), sparse.logits(TEXTS))
    assert sparse.logits(TEXTS).argmax(-1).tolist() == [0, 0, 2]


def test_the_loss_of_several_heads_by_hand() -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    from heartfelt.models.heads import Heads

    heads = Heads(4, {"a": 2, "b": 3})
    logits = torch.tensor([[0.0, math.log(3), 0.0, 0.0, 0.0], [0.0, 0.0, math.log(2), 0.0, 0.0]])
    labels = torch.tensor([[1, 0], [-100, 0]])
    # Head a: the first example only, -ln 3/4. Head b: -ln 1/3 and -ln 2/4. Summed, over two examples.
    expected = (-math.log(3 / 4) - math.log(1 / 3) - math.log(1 / 2)) / 2
    assert heads.loss(logits, labels).item() == pytest.approx(expected)
    # The mean over halves is the mean over the whole: what makes two processes equal one.
    halves = [heads.loss(logits[i : i + 1], labels[i : i + 1]).item() for i in (0, 1)]
    assert sum(halves) / 2 == pytest.approx(expected)


def test_attention_over_layers_by_hand() -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    from heartfelt.models.layer_attentive import attend

    states = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])  # two layers
    query = torch.tensor([[math.log(3), 0.0]])  # fits the first layer with ln 3, the second with 0
    assert attend(states, query).tolist()[0] == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize("attention", [False, True])
def test_a_bilstm_does_not_see_padding(attention: bool) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    from heartfelt.models.bilstm_classifier import BiLSTMClassifier, BiLSTMConfig

    torch.manual_seed(0)
    config = BiLSTMConfig(vocabulary=9, embedding=4, hidden=3, attention=attention, classes={"a": 2})
    model = BiLSTMClassifier(config).eval()
    short = torch.tensor([[5, 6, 7]])
    padded = torch.tensor([[5, 6, 7, 0, 0]])
    alone = model(short, torch.ones_like(short))["logits"]
    beside = model(padded, (padded > 0).long())["logits"]
    assert torch.allclose(alone, beside, atol=1e-6)


def test_a_word_tokenizer_keeps_the_frequent_words() -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'heartfelt[train]'")
    from heartfelt.models.words import word_tokenizer

    tokenizer = word_tokenizer(["Good dog, good!", "good dog"], size=7)
    assert tokenizer.convert_ids_to_tokens(tokenizer("GOOD cat")["input_ids"]) == [
        "<s>",
        "good",
        "<unk>",
        "</s>",
    ]
    assert len(tokenizer) == 6  # four special ones, good, dog; the comma and the mark occur once


def test_a_model_without_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "heartfelt.models.heads", raising=False)
    monkeypatch.delitem(sys.modules, "heartfelt.models.bilstm_classifier", raising=False)
    with pytest.raises(
        MissingExtra, match=r"bilstm_classifier needs 'torch'.*pip install 'heartfelt\[train\]'"
    ):
        module_of("bilstm_classifier")
    assert module_of("naive_bayes") is naive_bayes


def test_heads_keep_their_order_when_saved(tmp_path: Path) -> None:
    """transformers sorts the keys of a config; a head must not come back as another."""
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    from heartfelt.models.bilstm_classifier import BiLSTMClassifier, BiLSTMConfig

    config = BiLSTMConfig(vocabulary=10, classes={"plan": 3, "neutral": 2, "emotion": 4})
    model = BiLSTMClassifier(config).eval()
    ids, mask = torch.tensor([[1, 2, 3]]), torch.ones((1, 3), dtype=torch.long)
    model.save_pretrained(tmp_path)
    again = BiLSTMClassifier.from_pretrained(tmp_path).eval()
    assert list(again.heads.classes) == ["plan", "neutral", "emotion"]
    assert torch.equal(again(ids, mask)["logits"], model(ids, mask)["logits"])
