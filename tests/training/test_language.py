"""A tiny language model learns to answer, to heed its prefix, and to recognise by it."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import InvalidValue
from heartfelt.labels import EMOTIONS
from heartfelt.recipe import BadRecipe, Recipe, Training
from heartfelt.training import engine
from heartfelt.training.run import Run


def talk(mood: str, plan: str, answer: str) -> Dialogue:
    cause = "happy" if mood == "joyful" else "sad"
    return Dialogue("d", (Turn("speaker", f"i am so {cause}"), Turn("listener", answer, plan)), emotion=mood)


def tokenizer_of(folder: Path) -> Any:
    from heartfelt.models.backbone import load_tokenizer

    return load_tokenizer(str(folder))


def test_what_each_token_is_for(tiny_llama: Path) -> None:
    from heartfelt.models import listener_lm as lm

    tokenizer = tokenizer_of(tiny_llama)

    def shown(emotion: str | None, plan: str | None) -> list[tuple[str, int]]:
        found = lm.encode_dialogue(
            lm.Settings(), tokenizer, talk("sad", "questioning", "what did you say ?"), (1,),
            lambda dialogue, index: (emotion, plan),
        )  # fmt: skip
        words = tokenizer.convert_ids_to_tokens(found["input_ids"])
        return [(word.replace("Ġ", " "), what) for word, what in zip(words, found["purpose"], strict=True)]

    reply = [(" what", 1), (" did", 1), (" you", 1), (" say", 1), (" ?", 1), ("<|im_end|>", 1), ("Ċ", 0)]
    assert shown("sad", "questioning")[-12:] == [
        ("[", 0),
        ("sad", 2),
        (" |", 0),
        (" questioning", 2),
        ("]", 0),
        *reply,
    ]
    assert shown(None, "questioning")[-12:-7] == [
        ("[", 0),
        ("any", 0),
        (" |", 0),
        (" questioning", 2),
        ("]", 0),
    ]
    assert shown(None, None)[-11:-7] == [("any", 0), (" |", 0), (" any", 0), ("]", 0)]
    assert {what for _, what in shown("sad", "questioning")[:-12]} == {0}


def test_no_message_can_pass_for_a_mark_between_turns(tiny_llama: Path) -> None:
    from heartfelt.models import listener_lm as lm

    tokenizer = tokenizer_of(tiny_llama)
    sly = Dialogue("d", (Turn("speaker", "so <|im_end|> sad"), Turn("listener", "what")))
    found = lm.encode_dialogue(lm.Settings(), tokenizer, sly, (1,))
    assert found["input_ids"].count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2


def test_loss_counts_replies_and_weighs_prefixes(tiny_llama: Path) -> None:
    import torch

    from heartfelt.models import listener_lm as lm
    from heartfelt.training.batches import padded

    settings = lm.Settings(str(tiny_llama), lora_rank=4, prefix_weight=0.5)
    model, tokenizer = lm.build(settings)
    dialogues = [talk("sad", "questioning", "what did you say ?"), talk("joyful", "wishing", "so happy")]
    encoded = [lm.encode_dialogue(settings, tokenizer, d, (1,)) for d in dialogues]
    batch = padded(encoded, 0)
    found = model.eval()(**batch)
    # By hand, a token at a time, over the whole vocabulary.
    assert found["logits"].shape == (2, lm.SLOTS, 2)
    for (row, *others), example in zip(found["logits"], encoded, strict=True):
        assert not any(other.any() for other in others)
        ids = torch.tensor([example["input_ids"]])
        with torch.no_grad():
            states = model.encoder(input_ids=ids).last_hidden_state
            chances = torch.log_softmax(states @ model.encoder.get_input_embeddings().weight.T, -1)[0]
        for kind, nats in ((lm.REPLY, row[0]), (lm.PREFIX, row[1])):
            places = [i for i, what in enumerate(example["purpose"]) if what == kind]
            assert nats.item() == pytest.approx(
                -sum(chances[i - 1, ids[0, i]].item() for i in places), rel=1e-4
            )
    sums = found["logits"].sum((0, 1))
    assert found["loss"].item() == pytest.approx(
        (sums[0] + 0.5 * sums[1]).item() / 2 / lm.TOKENS_A_REPLY, rel=1e-5
    )
    learned = [name for name, p in model.named_parameters() if p.requires_grad]
    assert learned
    assert all("lora_" in name for name in learned)


def test_replies_together_score_as_they_do_alone(tiny_llama: Path) -> None:
    from heartfelt.models import listener_lm as lm
    from heartfelt.training.batches import padded
    from heartfelt.training.likelihood import encoder, left_open, likelihoods, whole
    from heartfelt.training.talks import Talk

    settings = lm.Settings(str(tiny_llama), lora_rank=4)
    model, tokenizer = lm.build(settings)
    said = [Turn("speaker", "my dog died"), Turn("listener", "so sad", "wishing"),
            Turn("speaker", "i am so sad"), Turn("listener", "what", "questioning")]  # fmt: skip
    long = Dialogue("long", tuple(said * 3), emotion="sad")
    apart = [Talk(long, (reply,)) for reply in range(1, 12, 2)]
    apart.append(Talk(talk("sad", "questioning", "what did you say ?"), (1,)))
    encode = encoder(lm, settings, tokenizer, left_open({}))
    together = whole(apart, encode, 320)
    assert [talk.replies for talk in together] == [(1, 3, 5, 7), (9, 11), (1,)]
    scored = []
    for talks in (apart, together):
        batch = padded([encode(one) for one in talks], 0)
        nats = model.eval()(**{name: batch[name] for name in batch if name != "labels"})["logits"]
        scored.append(likelihoods(talks, nats.detach().numpy(), encode))
    for name in ("ppl", "ppl_word", "bits_per_byte"):
        assert scored[0][name] == pytest.approx(scored[1][name], rel=1e-4)
    assert scored[0]["items"] == scored[1]["items"] == 7
    # One that would be cut at the front stands alone.
    short = lm.Settings(str(tiny_llama), max_tokens=60)
    assert len(whole(apart, encoder(lm, short, tokenizer, left_open({})), 60)) > 3


def test_what_is_left_open_does_not_change(tiny_llama: Path) -> None:
    from heartfelt.training.likelihood import left_open

    told = left_open({"emotion": 0.3, "plan": 0.3})
    given = [
        told(Dialogue(f"d{i}", talk("sad", "wishing", "so").turns, emotion="sad"), 1) for i in range(2000)
    ]
    again = [
        told(Dialogue(f"d{i}", talk("sad", "wishing", "so").turns, emotion="sad"), 1) for i in range(2000)
    ]
    assert given == again
    for part in (0, 1):
        assert sum(one[part] is None for one in given) == pytest.approx(600, abs=60)
    assert set(given) == {(None, None), (None, "wishing"), ("sad", None), ("sad", "wishing")}


@pytest.fixture
def talks(monkeypatch: pytest.MonkeyPatch) -> None:
    from heartfelt.training import talks as module

    answers = {("joyful", "questioning"): "what did you say ?", ("joyful", "wishing"): "so happy",
               ("sad", "questioning"): "what did you say ?", ("sad", "wishing"): "a new dog"}  # fmt: skip

    def read(split: str, data: Path | None) -> Any:
        for i in range({"train": 64, "valid": 8, "test": 8}[split]):
            (mood, plan), answer = list(answers.items())[i % 4]
            found = talk(mood, plan, answer)
            yield module.Talk(Dialogue(f"{split}{i}", found.turns, emotion=mood), (1,))

    monkeypatch.setitem(module.TALKS, "tiny", module.TalkTask("tiny", "", read))


@pytest.mark.parametrize("rank", [0, 8])
def test_it_learns_to_heed_its_prefix_and_loads_again(
    tiny_llama: Path, talks: None, tmp_path: Path, rank: int
) -> None:
    import torch

    from heartfelt.models import listener_lm as lm

    settings: dict[str, Any] = {"checkpoint": str(tiny_llama), "lora_rank": rank}
    training = Training(epochs=25, batch_size=8, learning_rate=5e-3, evaluate_every=100, metric="ppl")
    results = engine.train(Recipe("tiny", "listener_lm", settings, training), tmp_path / "run")
    test = results["scores"]["test"]
    assert test["gold prefix"]["ppl"][0] < 1.2
    _scores_by_prefix(Run(tmp_path / "run"), test["gold prefix"])
    _tells_feelings_apart(tmp_path / "run")
    model = lm.load(tmp_path / "run" / "model").eval()
    encoded = lm.encode_dialogue(
        lm.Settings(), tokenizer_of(tmp_path / "run" / "model"), talk("sad", "wishing", "a new dog"), (1,)
    )
    batch = {name: torch.tensor([numbers]) for name, numbers in encoded.items()}
    nats = model(**batch, attention_mask=torch.ones_like(batch["input_ids"]))["logits"][0, 0, 0].item()
    assert math.exp(nats / 4) < 1.3
    _says_what_it_learned(tmp_path / "run")
    # It learns on from there: without a step, it scores the same.
    still = Training(max_steps=1, batch_size=8, learning_rate=0.0, evaluate_every=1, metric="ppl")
    on = Recipe("tiny", "listener_lm", settings, still, start=str(tmp_path / "run"))
    assert engine.train(on, tmp_path / "on")["scores"]["test"] == test


def _scores_by_prefix(run: Run, gold: dict[str, Any]) -> None:
    from heartfelt.errors import UnknownName
    from heartfelt.training.likelihood import score

    again = score(run, "gold prefix")
    assert again["ppl"] == pytest.approx(gold["ppl"], rel=1e-3)
    # Half of the answers depend on the plan alone: without it, a coin decides between two.
    assert score(run, "no prefix")["ppl"][0] > score(run, "emotion only")["ppl"][0] > gold["ppl"][0]
    assert score(run, "gold prefix", base=True)["ppl"][0] > 2 * gold["ppl"][0]
    # What the shipped encoder plans (hardly ever wishing) is sometimes what was said, and tells less.
    assert score(run, "predicted prefix")["ppl"][0] > gold["ppl"][0]
    with pytest.raises(UnknownName, match="no prefix 'silver'"):
        score(run, "silver")


def _tells_feelings_apart(folder: Path) -> None:
    import torch

    from heartfelt.models import listener_lm as lm
    from heartfelt.training import by_prefix, predict
    from heartfelt.training.tasks import Item

    items = [Item(mood, 0, (f"i am so {mood}",), {}) for mood in ("happy", "sad")]
    found = predict.answers(folder, items)["emotion"]
    assert [EMOTIONS[i] for i in found.argmax(-1)] == ["joyful", "sad"]
    assert np.exp(found).sum(-1) == pytest.approx(1)
    # Names that begin alike, by hand: each token after those before it.
    model, tokenizer = lm.load(folder / "model").eval(), tokenizer_of(folder / "model")
    names = [
        tokenizer.convert_tokens_to_ids(list(name)) for name in (["so", "sad"], ["so", "happy"], ["dog"])
    ]
    start = by_prefix.start_of_prefix(items[0], tokenizer)
    assert tokenizer.convert_ids_to_tokens(start)[-3:] == ["assistant", "Ċ", "["]
    words = model.encoder.get_input_embeddings().weight

    def after(ids: list[int], token: int, others: list[int]) -> float:
        with torch.no_grad():
            logits = model.encoder(input_ids=torch.tensor([ids])).last_hidden_state[0, -1] @ words.T
        return torch.log_softmax(logits[others], -1)[others.index(token)].item()

    so, dog = names[0][0], names[2][0]
    second = [names[0][1], names[1][1]]
    first = after(start, so, [so, dog])
    by_hand = [first + after([*start, so], token, second) for token in second] + [
        after(start, dog, [so, dog])
    ]
    whole = by_prefix.chances_of(model, [start], names)[0]
    rare = np.exp(first) <= 0.01
    assert whole == pytest.approx([first - np.log(2)] * 2 + by_hand[2:] if rare else by_hand, abs=1e-4)


def _says_what_it_learned(folder: Path) -> None:
    from heartfelt.agent.generator import Decoding, Wish
    from heartfelt.agent.run_folder import RunFolder

    model = RunFolder(folder)
    asked = Dialogue("d", talk("sad", "wishing", "a new dog").turns[:1])
    cold = Decoding(temperature=0, repeat_penalty=1.0, max_tokens=8)
    (said,) = model.say(asked, Wish("sad", "wishing"), 1, cold)
    assert said.text == "a new dog"
    assert -0.5 < said.scores["likelihood"] <= 0
    pieces: list[str] = []
    assert model.stream(asked, Wish("sad", "questioning"), pieces.append, cold) == "what did you say ?"
    assert len(pieces) > 2
    warm = Decoding(temperature=1.0, seed=3, max_tokens=8)
    assert len(model.say(asked, Wish(), 3, warm)) == 3
    assert model.say(asked, Wish(), 3, warm) == model.say(asked, Wish(), 3, warm)
    long = Dialogue("d", (Turn("speaker", "my dog died " * 2_000),))
    assert model.say(long, Wish(), 1, cold)
    _says_the_same_to_many_at_once(model, cold)


def _says_the_same_to_many_at_once(model: Any, cold: Any) -> None:
    """Prompts of other lengths beside it, and waiting, change nothing."""
    from heartfelt.agent.generator import Wish

    asked = [Dialogue("d", (Turn("speaker", "my dog died " * i),)) for i in range(1, 9)]
    plans = ("wishing", "questioning")
    alone = [model.say(one, Wish("sad", plans[i % 2]), 1, cold)[0] for i, one in enumerate(asked)]
    sizes: list[int] = []
    answer = model._answer
    model._answer = lambda together: (sizes.append(len(together)), answer(together))
    with model._one_at_a_time, ThreadPoolExecutor(8) as pool:
        futures = [
            pool.submit(model.say, one, Wish("sad", plans[i % 2]), 1, cold) for i, one in enumerate(asked)
        ]
        while len(model._waiting) < len(asked):
            time.sleep(0.01)
        model._one_at_a_time.release()
        together = [future.result()[0] for future in futures]
        model._one_at_a_time.acquire()
    assert sizes == [8]
    assert [one.text for one in together] == [one.text for one in alone]
    for one, other in zip(alone, together, strict=True):
        assert one.scores["likelihood"] == pytest.approx(other.scores["likelihood"], abs=1e-4)


def test_words_are_left_as_transformers_leaves_them() -> None:
    import torch
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    from heartfelt.agent.generator import Decoding
    from heartfelt.agent.run_folder import _Likeliest

    scores = torch.randn(5, 200, generator=torch.Generator().manual_seed(1)) * 3
    theirs = scores
    for warp in (TemperatureLogitsWarper(0.8), TopKLogitsWarper(40), TopPLogitsWarper(0.9)):
        theirs = warp(None, theirs)
    assert torch.allclose(_Likeliest(Decoding(temperature=0.8))(None, scores), theirs)


def test_a_folder_that_cannot_speak_is_refused(tmp_path: Path, moods: Path) -> None:
    from heartfelt.agent.run_folder import RunFolder
    from heartfelt.errors import MissingData

    with pytest.raises(MissingData, match="not a finished run"):
        RunFolder(tmp_path)
    engine.train(Recipe("situations", "majority"), tmp_path / "run", moods)
    with pytest.raises(InvalidValue, match="does not write replies"):
        RunFolder(tmp_path / "run")


def test_a_recipe_that_does_not_fit_says_all(talks: None, tmp_path: Path) -> None:
    training = Training(metric="emotion_accuracy")
    with pytest.raises(BadRecipe, match=r"does not speak.*metric is loss or ppl"):
        engine.train(Recipe("tiny", "bilstm_classifier", {}, training), tmp_path / "run")
    # What it would not heed, it refuses.
    smooth = Recipe("tiny", "listener_lm", {}, Training(label_smoothing=0.1), extra=("intent_seeds",))
    with pytest.raises(BadRecipe, match=r"not from extra turns.*label_smoothing is for classifiers"):
        engine.train(smooth, tmp_path / "run")
    with pytest.raises(BadRecipe, match=r"learns what to say, as in replies.*and situations has labels"):
        engine.train(Recipe("situations", "listener_lm"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_with_an_output_layer_of_its_own_is_refused(tiny_llama: Path, tmp_path: Path) -> None:
    from transformers import AutoModel

    from heartfelt.models import listener_lm as lm

    model = AutoModel.from_pretrained(tiny_llama)
    model.config.tie_word_embeddings = False
    model.save_pretrained(tmp_path)
    with pytest.raises(InvalidValue, match="says words by one table"):
        lm.build(lm.Settings(str(tmp_path)))


def test_what_engines_are_given_is_what_was_learned(tiny_llama: Path) -> None:
    from heartfelt.models import listener_lm as lm
    from heartfelt.models.prompt import prompt

    tokenizer = tokenizer_of(tiny_llama)
    talked = (*talk("sad", "questioning", "what did you say ?").turns, Turn("speaker", "my dog died"))
    whole = Dialogue("d", (*talked, Turn("listener", "so sad", "sympathizing")), emotion="sad")
    given = tokenizer(prompt(Dialogue("d", talked, emotion="sad"), "sad", "sympathizing"))["input_ids"]
    learned = lm.encode_dialogue(lm.Settings(), tokenizer, whole, (3,))
    assert learned["input_ids"][: len(given)] == given
    assert learned["purpose"][len(given) :] == [lm.REPLY, lm.REPLY, lm.REPLY, lm.CONTEXT]
