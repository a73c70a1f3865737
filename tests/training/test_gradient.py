"""How items become tensors."""

from heartfelt.training import tasks
from heartfelt.training.tasks import Item


def test_a_long_text_is_cut_at_the_models_own_limit_and_keeps_its_end() -> None:
    from heartfelt.models.bilstm_classifier import Settings
    from heartfelt.models.words import word_tokenizer
    from heartfelt.training.gradient import encoder

    tokenizer = word_tokenizer(["far near", "far near"], size=9)
    encode = encoder(Settings(), tokenizer, tasks.find("situations"))  # a recipe that names no limit
    tokens = encode(Item("d", 0, ("far " * 100 + "near",), {"emotion": "angry"}))["input_ids"]
    assert len(tokens) == Settings().max_tokens == 80
    assert tokenizer.convert_ids_to_tokens(tokens)[-3:] == ["far", "near", "</s>"]
