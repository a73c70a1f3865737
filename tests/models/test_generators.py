"""Models that write replies: each learns by heart, survives the disk, and does what its file's first lines say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")

from heartfelt.dialogue import Turn
from heartfelt.models import bilstm_seq2seq, joint_gru, meed2, moel, transformer_generator
from heartfelt.models.answerer import Answerer, Read, encode_pair, in_batch
from heartfelt.models.luong import LuongDecoder

SAID = (
    "i am so sad my dog died", "i won the game", "my cat is ill", "we got a new house", "they took my car",
    "i failed the test", "she said yes", "nobody came to my party",
)  # fmt: skip
ANSWERED = (
    "oh no what was his name", "well done you", "i hope it gets well soon", "how nice where is it",
    "did you call the police", "you can try again", "how lovely for you both", "that must have hurt",
)  # fmt: skip
SIZES: dict[str, Any] = {"size": 24, "attention_heads": 2, "inner": 48, "dropout": 0.0, "max_tokens": 20}
RECURRENT: dict[str, Any] = {"embedding": 24, "hidden": 32, "dropout": 0.0}
EMOTION = {"emotion": 4}

MODELS: dict[str, tuple[Any, Any, dict[str, int]]] = {
    "bilstm": (bilstm_seq2seq, bilstm_seq2seq.Settings(**RECURRENT), {}),
    "transformer": (transformer_generator, transformer_generator.Settings(**SIZES, layers=2), {}),
    "multitask": (
        transformer_generator,
        transformer_generator.Settings(**SIZES, layers=1, heads=("emotion",)),
        EMOTION,
    ),
    "moel": (moel, moel.Settings(**SIZES, oracle_steps=10), EMOTION),
    "joint bilstm": (
        joint_gru,
        joint_gru.Settings("bilstm", **RECURRENT, head_dropout=0.0),
        EMOTION,
    ),
    "joint attention": (
        joint_gru,
        joint_gru.Settings("bilstm_attention", **RECURRENT, head_dropout=0.0),
        EMOTION,
    ),
    "meed2": (meed2, meed2.Settings(**SIZES, layers=1), {}),
}


def made(name: str) -> tuple[Answerer, Any, dict[str, Any]]:
    """A model, its tokenizer, and eight pairs as a batch."""
    module, settings, classes = MODELS[name]
    torch.manual_seed(0)
    model, tokenizer = module.build(settings, classes, [*SAID, *ANSWERED] * 2)
    model.begin_with(tokenizer)
    examples = []
    for i, (said, answered) in enumerate(zip(SAID, ANSWERED, strict=True)):
        context = [Turn("speaker", said, "sad" if i % 2 else None)]
        one = encode_pair(
            module, settings, tokenizer, context, answered, "", "questioning" if i % 3 else None
        )
        examples.append({**one, "labels": [len(one["reply_ids"]) - 1, *([i % 4] if classes else [])]})
    return model, tokenizer, in_batch(examples, pad_id=0)


def read(model: Answerer, batch: dict[str, Any]) -> Read:
    return model.read(**{name: rows for name, rows in batch.items() if name not in ("reply_ids", "labels")})


@pytest.mark.parametrize("name", MODELS)
def test_it_learns_eight_pairs_by_heart_and_survives_the_disk(name: str, tmp_path: Path) -> None:
    model, tokenizer, batch = made(name)
    rate = 2e-2 if "joint" in name or name == "bilstm" else 1e-2
    optimizer = torch.optim.Adam(model.parameters(), rate)
    model.train()
    for _ in range(80):
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        found = model(**batch)["logits"]
        assert (found[:, 0] / batch["labels"][:, 0]).exp().max() < 1.5, "perplexity of what it has learned"
        if model.labelling is not None:
            assert (found[:, 1:].argmax(1) == batch["labels"][:, 1]).all()
        model.save_pretrained(tmp_path)
        again = MODELS[name][0].load(tmp_path).eval()
        assert torch.equal(again(**batch)["logits"], found)
        for how in ({}, {"num_beams": 3}):
            understood = read(again, batch)
            said = again.generate(
                encoder_outputs=understood, attention_mask=understood.mask, max_new_tokens=12, **how
            )
            texts = [tokenizer.decode(row, skip_special_tokens=True) for row in said]
            assert texts == list(ANSWERED), how


@pytest.mark.parametrize("name", ["transformer", "bilstm", "moel", "meed2"])
def test_a_pair_is_as_likely_alone_as_in_a_batch(name: str) -> None:
    model, _, batch = made(name)
    model.eval()
    with torch.no_grad():
        together = model(**batch)["logits"][:, 0]
        for row in range(2):
            context, reply = (int(batch[mask][row].sum()) for mask in ("attention_mask", "reply_mask"))
            alone = {name: rows[row : row + 1] for name, rows in batch.items()}
            for name in ("input_ids", "attention_mask", "emotions", "segments", "reply_ids", "reply_mask"):
                if name in alone:
                    alone[name] = alone[name][:, : reply if name.startswith("reply") else context]
            assert torch.allclose(model(**alone)["logits"][:, 0], together[row], atol=1e-4)


def test_perplexity_is_the_exponent_of_the_summed_likelihoods() -> None:
    """Token by token, each from all before it: the sum is what the model says of the whole."""
    model, _, batch = made("transformer")
    model.eval()
    with torch.no_grad():
        whole = model(**batch)["logits"][:, 0]
        understood = read(model, batch)
        summed = torch.zeros(len(whole))
        for place in range(1, batch["reply_ids"].shape[1]):
            logits = model.speak(model.say(batch["reply_ids"][:, :place], understood)[:, -1])
            said = torch.log_softmax(logits, -1).gather(1, batch["reply_ids"][:, place : place + 1])[:, 0]
            summed += -said * batch["reply_mask"][:, place]
    assert torch.allclose(whole, summed, atol=1e-4)


def test_attention_and_input_feeding_are_luongs() -> None:
    torch.manual_seed(1)
    decoder = LuongDecoder("gru", embedding=3, size=4, seen=5, dropout=0.0)
    words, start, states = torch.randn(1, 3, 3), torch.randn(1, 4), torch.randn(1, 6, 5)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    found = decoder(words, start, states, mask)
    # The equations again, one number at a time.
    hidden, fed, expected = start[0], torch.zeros(4), []
    for step in range(3):
        hidden = decoder.cell(torch.cat([words[0, step], fed])[None], hidden[None])[0]
        fits = torch.stack([states[0, i] @ (decoder.score.weight @ hidden) for i in range(4)])
        weights = fits.exp() / fits.exp().sum()
        context = sum((weights[i] * states[0, i] for i in range(4)), torch.zeros(5))
        fed = torch.tanh(decoder.combine.weight @ torch.cat([hidden, context]))
        expected.append(fed)
    assert torch.allclose(found[0], torch.stack(expected), atol=1e-6)


def test_listeners_who_are_sure_of_one_emotion_are_that_listener_alone() -> None:
    said = torch.randn(2, 4, 5, 3)
    sure = torch.eye(4)[[2, 0]]
    assert torch.equal(moel.combine(sure, said), torch.stack([said[0, 2], said[1, 0]]))
    half = moel.combine(torch.tensor([[0.5, 0.5, 0.0, 0.0]] * 2), said)
    assert torch.allclose(half, (said[:, 0] + said[:, 1]) / 2)


def test_moel_combines_by_the_true_emotion_at_first_and_by_its_own_later() -> None:
    model, _, batch = made("moel")
    model.train()
    labels = batch["labels"][:, 1:]
    true = torch.nn.functional.one_hot(labels[:, 0], 4).float()
    first = model.read(batch["input_ids"], batch["attention_mask"], labels=labels).vector
    assert torch.equal(first, true)
    model.steps.fill_(10_000)
    later = model.read(batch["input_ids"], batch["attention_mask"], labels=labels)
    assert torch.allclose(later.vector, later.told.softmax(-1))


def test_meed2_says_another_thing_for_another_label() -> None:
    model, _, batch = made("meed2")
    model.eval()
    with torch.no_grad():
        first = model(**batch)["logits"]
        other = model(**{**batch, "reply_label": torch.full_like(batch["reply_label"], 3)})["logits"]
    assert not torch.allclose(first, other)


def test_joint_starts_from_the_mean_of_what_was_felt_and_said() -> None:
    model, _, batch = made("joint attention")
    model.eval()
    with torch.no_grad():
        understood = read(model, batch)
        felt = model.listener.vector(batch["input_ids"], batch["attention_mask"])
        _, last = bilstm_seq2seq.read_both_ways(
            model.reader, model.words(batch["input_ids"]), batch["attention_mask"]
        )
    assert torch.allclose(understood.vector, (felt + last) / 2, atol=1e-6)


def test_what_cannot_be_built_is_said() -> None:
    from heartfelt.errors import InvalidValue

    with pytest.raises(InvalidValue, match="does not divide"):
        transformer_generator.Settings(size=25, attention_heads=2)
    with pytest.raises(InvalidValue, match=r"settings\.tokenizer names it"):
        transformer_generator.Settings(second="runs/x")
    with pytest.raises(InvalidValue, match="a listener for each emotion"):
        moel.Settings(heads=())
    with pytest.raises(InvalidValue, match="or it is bilstm_seq2seq"):
        replace(joint_gru.Settings(), heads=())
