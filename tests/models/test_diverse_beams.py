"""Diverse beams on models whose next words are known: one group is beam search, several groups differ."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")

from heartfelt.models.diverse_beams import diverse_beams
from tests.models.test_generators import made, read


def say(model: Any, batch: dict[str, Any], **how: Any) -> Any:
    understood = read(model, batch)
    return model.generate(
        encoder_outputs=understood, attention_mask=understood.mask, max_new_tokens=8, **how
    ).tolist()


@pytest.mark.parametrize("name", ["transformer", "bilstm"])
def test_one_group_is_beam_search(name: str) -> None:
    model, _, batch = made(name)
    model.eval()
    beams = {"num_beams": 4, "num_return_sequences": 4}
    plain = say(model, batch, **beams)
    ours = say(model, batch, **beams, custom_generate=diverse_beams, groups=1, diversity=0.5)
    assert len(ours) == len(plain) == 32
    longest = max(len(row) for row in (*ours, *plain))
    same = [
        a + [0] * (longest - len(a)) == b + [0] * (longest - len(b)) for a, b in zip(ours, plain, strict=True)
    ]
    assert sum(same) >= 30  # two that are about as likely may change places


def test_what_is_kept_between_tokens_changes_nothing() -> None:
    model, _, batch = made("transformer")
    model.eval()
    how = {"num_beams": 4, "num_return_sequences": 4, "groups": 2, "diversity": 1.0}
    kept, again = (
        say(model, batch, **how, custom_generate=diverse_beams, use_cache=cache) for cache in (True, False)
    )
    assert kept == again


class Toy(torch.nn.Module):
    """A model of four words and an end: `a` is likeliest first, then `b`; whoever has said a word ends."""

    A, B, C, END = 1, 2, 3, 4
    first = torch.tensor([0.0, 0.5, 0.3, 0.19, 0.01])
    then = torch.tensor([0.0, 0.05, 0.05, 0.1, 0.8])

    config = SimpleNamespace(is_encoder_decoder=True)

    def prepare_inputs_for_generation(self, ids: Any, next_sequence_length: Any = None, **others: Any) -> Any:
        return {"ids": ids}

    def _update_model_kwargs_for_generation(self, said: Any, others: Any, is_encoder_decoder: bool) -> Any:
        return others

    def forward(self, ids: Any, return_dict: bool) -> Any:
        chances = torch.stack([self.first if len(row) == 1 else self.then for row in ids])
        return SimpleNamespace(logits=chances.log()[:, None])


def groups_of(diversity: float) -> list[list[int]]:
    config = SimpleNamespace(
        num_beams=2, num_return_sequences=2, eos_token_id=4, pad_token_id=0, max_length=6
    )
    start = torch.zeros((2, 1), dtype=torch.long)
    found = diverse_beams(Toy(), start, lambda _, logits: logits, None, config, groups=2, diversity=diversity)
    return found.tolist()


def test_a_group_shuns_what_an_earlier_one_has_chosen() -> None:
    a, b, end = Toy.A, Toy.B, Toy.END
    assert groups_of(0.0) == [[0, a, end], [0, a, end]]
    # ln .5 − 1 < ln .3: the second group takes b; the end then costs both alike, and nothing else comes near it.
    assert groups_of(1.0) == [[0, a, end], [0, b, end]]


def test_words_in_a_row_are_not_said_twice() -> None:
    model, _, batch = made("transformer")
    with torch.no_grad():
        model.words.weight.normal_(std=2.0)  # so that it likes to say one thing again and again
    model.eval()
    blocked = say(model, batch, num_beams=2, no_repeat_ngram_size=2, min_new_tokens=8)
    free = say(model, batch, num_beams=2, min_new_tokens=8)

    def repeats(row: list[int]) -> bool:
        pairs = list(pairwise(row[1:]))
        return len(set(pairs)) < len(pairs)

    assert not any(repeats(row) for row in blocked)
    assert any(repeats(row) for row in free)
