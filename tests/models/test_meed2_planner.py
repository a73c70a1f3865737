"""meed2's planner reads words, labels and speakers of turns, and never the padding."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.labels import label_id
from heartfelt.models import module_of

TALK = (Turn("ann", "my dog died", "sad"), Turn("bo", "oh no", "sympathizing"), Turn("ann", "yes", "lonely"))
TEXTS = ["my dog died", "oh no", "yes"] * 2


@pytest.fixture(autouse=True)
def torch_is_here() -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")


def small(**settings: Any) -> tuple[Any, Any, Any]:
    """Settings, tokenizer, and a model that has not learned, in eval mode."""
    from transformers import set_seed

    set_seed(0)
    module = module_of("meed2_planner")
    sizes = {"size": 12, "layers": 2, "attention_heads": 2, "inner": 16, "max_tokens": 16}
    chosen = module.Settings(**{**sizes, **settings})
    model, tokenizer = module.build(chosen, {"plan": 3}, TEXTS)
    for weights in model.parameters():
        weights.data.normal_(std=0.5)  # far from zero, so that what counts is seen to count
    return chosen, tokenizer, model.eval()


def inputs(settings: Any, tokenizer: Any, *talks: tuple[Turn, ...]) -> dict[str, Any]:
    from heartfelt.models.meed2_planner import encode
    from heartfelt.training.batches import padded

    return padded([encode(settings, tokenizer, turns) for turns in talks], tokenizer.pad_token_id)


def test_each_token_has_the_label_and_the_speaker_of_its_turn() -> None:
    from heartfelt.models.meed2_planner import UNLABELLED_TURN, encode

    settings, tokenizer, _ = small()
    found = encode(settings, tokenizer, (*TALK[:2], Turn("ann", "yes")))
    words = "<s> my dog died </s> <s> oh no </s> <s> yes </s>".split()
    assert tokenizer.convert_ids_to_tokens(found["input_ids"]) == words
    labels = [label_id("sad"), label_id("sympathizing"), UNLABELLED_TURN]
    assert found["emotions"] == [labels[0]] * 5 + [labels[1]] * 4 + [labels[2]] * 3
    assert found["segments"] == [0] * 5 + [1] * 4 + [0] * 3
    with pytest.raises(UnknownName, match="'happiness'"):
        encode(settings, tokenizer, (Turn("ann", "yes", "happiness"),))


def test_of_a_long_conversation_the_end_is_kept() -> None:
    from heartfelt.models.meed2_planner import encode

    settings, tokenizer, _ = small()
    whole = encode(settings, tokenizer, TALK)
    cut = encode(small(max_tokens=5)[0], tokenizer, TALK)
    assert cut == {name: numbers[-5:] for name, numbers in whole.items()}
    long = encode(settings, tokenizer, (Turn("ann", "dog " * 99 + "died"),))
    assert len(long["input_ids"]) == settings.max_tokens
    assert tokenizer.convert_ids_to_tokens(long["input_ids"])[-2:] == ["died", "</s>"]


@pytest.mark.parametrize(
    "learning", [True, False]
)  # torch computes a layer in another way when nothing learns
def test_padding_changes_nothing_and_weights_add_up_over_real_tokens(learning: bool) -> None:
    import torch

    settings, tokenizer, model = small()
    with torch.set_grad_enabled(learning):
        alone = model(**inputs(settings, tokenizer, TALK[:1]))["logits"]
        batch = inputs(settings, tokenizer, TALK[:1], TALK)
        assert batch["attention_mask"].sum(1).tolist() == [5, 12]
        assert torch.allclose(model(**batch)["logits"][0], alone[0], atol=1e-5)
        for name in ("input_ids", "emotions", "segments"):
            batch[name][0, 5:] = 1  # whatever stands there
        assert torch.allclose(model(**batch)["logits"][0], alone[0], atol=1e-5)
        weights = model.weights(model.states(**batch), batch["attention_mask"])
    assert torch.allclose(weights.sum(1), torch.ones(2))
    assert (weights > 0).tolist() == batch["attention_mask"].bool().tolist()


def test_words_labels_and_speakers_all_count() -> None:
    import torch

    settings, tokenizer, model = small()
    _, *later = TALK
    talks = (
        TALK,
        (Turn("ann", "my dog no", "sad"), *later),
        (Turn("ann", "my dog died", "angry"), *later),
        (Turn("ann", "my dog died"), *later),
        (Turn("bo", "my dog died", "sad"), *later),
    )
    logits = model(**inputs(settings, tokenizer, *talks))["logits"]
    for one, other in itertools.combinations(logits, 2):
        assert not torch.allclose(one, other, atol=1e-3)


def test_pooling_by_hand() -> None:
    import torch

    _, _, model = small(size=2, attention_heads=1)
    model.v.weight.data = torch.tensor([[1.0, 0.0]])
    states = torch.tensor([[[0.0, 5.0], [math.log(3), 7.0], [9.0, 9.0]]])  # the last one is padding
    # exp(vᵀr) is 1 and 3.
    weights = model.weights(states, torch.tensor([[1, 1, 0]]))
    assert weights.tolist()[0] == pytest.approx([0.25, 0.75, 0.0])


def test_it_learns_a_rule_of_turn_labels_alone() -> None:
    import torch

    settings, tokenizer, model = small(dropout=0.0)
    # The words are always the same; the label of the last turn is the answer, that of the first is a decoy.
    moods = ("sad", "joyful", "angry")
    pairs = list(itertools.product(range(3), repeat=2))
    talks = [(Turn("ann", "yes", moods[a]), Turn("bo", "oh"), Turn("ann", "yes", moods[b])) for a, b in pairs]
    batch = inputs(settings, tokenizer, *talks)
    answers = torch.tensor([[b] for _, b in pairs])
    assert len({tuple(row) for row in batch["input_ids"].tolist()}) == 1
    optimizer = torch.optim.Adam(model.train().parameters(), 1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch, labels=answers)["loss"].backward()
        optimizer.step()
    assert model.eval()(**batch)["logits"].argmax(-1).tolist() == answers[:, 0].tolist()


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    from heartfelt.models.meed2_planner import Meed2Planner

    settings, tokenizer, model = small()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = Meed2Planner.from_pretrained(tmp_path).eval()
    batch = inputs(settings, AutoTokenizer.from_pretrained(tmp_path), TALK[:1], TALK)
    assert torch.equal(
        again(**batch)["logits"], model(**inputs(settings, tokenizer, TALK[:1], TALK))["logits"]
    )


def test_the_papers_sizes_are_the_defaults() -> None:
    module = module_of("meed2_planner")
    model, _ = module.build(module.Settings(), {"plan": 41}, TEXTS)
    layer = (
        4 * (300 * 300 + 300) + 2 * 300 * 1200 + 1200 + 300 + 4 * 300
    )  # attention, feed-forward, two norms
    assert sum(p.numel() for p in model.layers.parameters()) == 4 * layer
    assert model.layers[0].self_attn.num_heads == 6
    with pytest.raises(InvalidValue, match="size 300 does not divide by 7 heads"):
        module.Settings(attention_heads=7)
    with pytest.raises(InvalidValue, match="does not divide by 0 heads"):
        module.Settings(attention_heads=0)
