"""How items become tensors: as one text, or as the model's file says."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from heartfelt.dialogue import Turn
from heartfelt.errors import UnknownName
from heartfelt.models import module_of
from heartfelt.training import tasks
from heartfelt.training.tasks import Item


def test_a_long_text_is_cut_at_the_models_own_limit_and_keeps_its_end() -> None:
    from heartfelt.models.words import word_tokenizer
    from heartfelt.training.gradient import encoder

    module = module_of("bilstm_classifier")
    tokenizer = word_tokenizer(["far near", "far near"], size=9)
    encode = encoder(module, module.Settings(), tokenizer, tasks.find("situations"))  # no limit in the recipe
    tokens = encode(Item("d", 0, ("far " * 100 + "near",), {"emotion": "angry"}))["input_ids"]
    assert len(tokens) == module.Settings().max_tokens == 80
    assert tokenizer.convert_ids_to_tokens(tokens)[-3:] == ["far", "near", "</s>"]


def test_a_models_file_may_say_how_turns_become_tokens() -> None:
    from heartfelt.training.gradient import encoder

    def lengths(settings: Any, tokenizer: Any, turns: Sequence[Turn]) -> dict[str, list[int]]:
        return {"input_ids": [len(turn.text) for turn in turns]}

    encode = encoder(SimpleNamespace(encode=lengths), None, None, tasks.find("plans"))
    assert encode(Item("d", 3, ("oh", "yes"), {"plan": "angry"})) == {"input_ids": [2, 3], "labels": [1]}


def test_every_list_is_padded_and_the_mask_knows_what_is_real() -> None:
    from heartfelt.training.batches import padded

    examples = [
        {"input_ids": [7], "segments": [1], "labels": [0]},
        {"input_ids": [8, 9], "segments": [1, 2], "labels": [3]},
    ]
    batch = padded(examples, pad_id=5)
    assert {name: tensor.tolist() for name, tensor in batch.items()} == {
        "input_ids": [[7, 5], [8, 9]],
        "segments": [[1, 0], [1, 2]],
        "attention_mask": [[1, 0], [1, 1]],
        "labels": [[0], [3]],
    }


def test_half_precision_only_where_it_is_asked_for_and_then_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from heartfelt.models.precision import precision
    from heartfelt.training.run import environment

    monkeypatch.delenv("HEARTFELT_PRECISION", raising=False)
    assert precision() == "fp32" and "precision" not in environment()
    monkeypatch.setenv("HEARTFELT_PRECISION", "bf16")
    assert environment()["precision"] == "bf16"
    monkeypatch.setenv("HEARTFELT_PRECISION", "fp8")
    with pytest.raises(UnknownName, match="fp8"):
        precision()
