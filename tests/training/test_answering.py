"""Models that write replies, trained by recipes: what they learn, say, and are refused."""

import gzip
import json
import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heartfelt.cli import app
from heartfelt.recipe import BadRecipe, Prepend, Recipe, Training
from tests.training.conftest import ANSWERS

SIZES: dict[str, Any] = {"size": 24, "attention_heads": 2, "inner": 32, "dropout": 0.0, "max_tokens": 24}
SETTINGS: dict[str, dict[str, Any]] = {
    "transformer_generator": {**SIZES, "layers": 1},
    "bilstm_seq2seq": {"embedding": 24, "hidden": 32, "dropout": 0.0},
    "moel": {**SIZES, "oracle_steps": 20},
    "joint_gru": {"listener": "bilstm_attention", "embedding": 24, "hidden": 32, "dropout": 0.0},
    "meed2": {**SIZES, "layers": 1, "labelled": False},
}


def recipe(model: str, **changes: Any) -> Recipe:
    rate = 1e-2 if model in ("bilstm_seq2seq", "joint_gru") else 3e-3
    epochs = 20 if model == "moel" else 60  # it has 32 listeners
    training = Training(epochs, batch_size=10, learning_rate=rate, evaluate_every=120, metric="ppl")
    return Recipe("pairs", model, SETTINGS[model] | changes.pop("settings", {}), training, **changes)


def run(*arguments: Any) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("model", SETTINGS)
def test_it_learns_what_is_answered(model: str, talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    results = engine.train(recipe(model), tmp_path / "run", talks)
    found = results["scores"]["test"]["replies"]
    value, low, high = found["ppl"]
    assert low <= value <= high
    assert value < 1.6, "five kinds of replies, told apart by one word"
    assert {"ppl_word", "bits_per_byte", "ppl_reply_mean"} < set(found)
    if model in ("moel", "joint_gru"):
        assert results["scores"]["test"]["emotion"]["accuracy_1"][0] > 0.9
    told = run("generate", tmp_path / "run", "--data", talks, "--to", tmp_path / "outputs.jsonl")
    assert "20 replies" in told
    header, *rows = [json.loads(line) for line in (tmp_path / "outputs.jsonl").read_text().splitlines()]
    assert header["system"] == "run"
    # What it was asked about, it names; and likelihoods are those that training has measured.
    named = sum(
        any(about in row["reply"].lower() for about in ANSWERS if about in row["context"][-1]) for row in rows
    )
    assert named >= 18
    nats, tokens = (sum(row[name] for row in rows) for name in ("log_likelihood", "tokens"))
    assert math.exp(-nats / tokens) == pytest.approx(value, rel=1e-3)


def test_a_run_talks(talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    engine.train(recipe("transformer_generator"), tmp_path / "run", talks)
    said = run("reply", "i am so happy , my dog", "--model", tmp_path / "run", "--json", "--no-guard")
    reply = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]  # transformers may warn after it
    assert "dog" in reply["text"]
    assert reply["model"] == "run"
    assert all(one["scores"]["likelihood"] <= 0 for one in reply["candidates"])


def test_ways_of_decoding(talks: Path, tmp_path: Path) -> None:
    from heartfelt.agent.answering import AnswererRun, Asked
    from heartfelt.agent.generator import Decoding
    from heartfelt.dialogue import Turn
    from heartfelt.training import engine

    engine.train(recipe("transformer_generator"), tmp_path / "run", talks)
    model = AnswererRun(tmp_path / "run")
    asked = [Asked([Turn("speaker", f"i am sad , my {about}")]) for about in ANSWERS]
    greedy = {"temperature": 0.0, "repeat_penalty": 1.0}

    def texts(count: int = 1, **how: Any) -> list[list[str]]:
        found = dict(model.write(asked, Decoding(**{**greedy, **how}), count))
        return [[one.text for one in found[place]] for place in range(len(asked))]

    likeliest = texts()
    assert [one[0].lower().replace(" ", "")[:8] for one in likeliest] == [
        answer.replace(" ", "")[:8] for answer in ANSWERS.values()
    ]
    assert texts(beams=3) == likeliest
    assert all(len(set(row)) == 3 for row in texts(3, beams=6, groups=3, diversity=20.0))
    warm = {"temperature": 3.0, "top_k": 0, "top_p": 1.0}
    assert texts(4, seed=1, **warm) == texts(4, seed=1, **warm) != texts(4, seed=2, **warm)
    assert all(len(row[0].split()) <= 2 for row in texts(max_tokens=2))


def test_prepended_labels_come_along(talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    engine.train(Recipe("situations", "naive_bayes"), tmp_path / "moods", talks)
    told = recipe("bilstm_seq2seq", prepend=Prepend(str(tmp_path / "moods"), 1))
    engine.train(told, tmp_path / "run", talks)
    (tmp_path / "moods").rename(tmp_path / "gone")  # the run has what it needs
    assert "20 replies" in run("generate", tmp_path / "run", "--data", talks)
    with pytest.raises(BadRecipe, match="meed2 is told of each turn in its own way"):
        engine.train(replace(told, model="meed2", settings=SETTINGS["meed2"]), tmp_path / "other", talks)


def test_pre_train_then_fine_tune(talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    (talks / "reddit").mkdir()
    pairs = [
        {"file": "f", "doc": "d", "q": f"my dog {i}", "aid": i, "a": f"good dog {i % 7}"} for i in range(200)
    ]
    with gzip.open(talks / "reddit" / "reddit_pairs_2015.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in pairs)
    short = Training(max_steps=5, batch_size=10, evaluate_every=5, metric="ppl")
    first = replace(recipe("transformer_generator"), task="reddit_pairs", training=short)
    engine.train(first, tmp_path / "reddit", talks)
    tuned = replace(first, task="pairs", start=str(tmp_path / "reddit"))
    assert engine.train(tuned, tmp_path / "tuned", talks)["start"]["run"] == "reddit"
    multitask = replace(tuned, settings={**SETTINGS["transformer_generator"], "heads": ["emotion"]})
    assert "emotion" in engine.train(multitask, tmp_path / "both", talks)["scores"]["test"]


def test_a_pretrained_listener_and_a_second_encoder(tiny_bert: Path, talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    settings = {"listener": "bert", "checkpoint": str(tiny_bert), "embedding": 24, "max_tokens": 32}
    short = Training(max_steps=5, batch_size=10, evaluate_every=5, metric="ppl")
    joint = Recipe("pairs", "joint_gru", {**settings, "hidden": 32}, short)
    assert engine.train(joint, tmp_path / "joint", talks)["scores"]["test"]["emotion"]
    classifier = Recipe(
        "situations", "encoder_classifier", {"checkpoint": str(tiny_bert)}, replace(short, metric="loss")
    )
    engine.train(classifier, tmp_path / "moods", talks)
    both = {
        **SETTINGS["transformer_generator"],
        "tokenizer": str(tiny_bert),
        "second": str(tmp_path / "moods"),
    }
    engine.train(Recipe("pairs", "transformer_generator", both, short), tmp_path / "ensemble", talks)
    assert "20 replies" in run("generate", tmp_path / "ensemble", "--data", talks)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"training": Training(metric="p_at_1")}, "training.metric is loss or ppl"),
        ({"training": Training(metric="ppl", label_smoothing=0.1)}, "label_smoothing is for classifiers"),
        ({"settings": {"heads": ["plan"]}}, "settings.heads: pairs has emotion, not plan"),
        ({"start": "nowhere"}, "start: nowhere is not a run folder"),
        ({"extra": ("a.jsonl",)}, "learns from pairs, not from extra turns"),
        ({"task": "situations", "training": Training()}, "transformer_generator writes replies"),
    ],
)
def test_what_cannot_be_trained_is_said(
    changes: dict[str, Any], problem: str, talks: Path, tmp_path: Path
) -> None:
    from heartfelt.training import engine

    with pytest.raises(BadRecipe, match=problem):
        engine.train(replace(recipe("transformer_generator"), **changes), tmp_path / "run", talks)
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_decoded_is_said(talks: Path, tmp_path: Path) -> None:
    from heartfelt.training import engine

    short = replace(recipe("bilstm_seq2seq"), training=Training(max_steps=2, evaluate_every=2, metric="ppl"))
    engine.train(short, tmp_path / "run", talks)
    for asked, problem in (
        (("--decode", "beems=3"), "no way of decoding 'beems'"),
        (("--decode", "beams=many"), "--decode: Expected `int`"),
        (("--decode", "beams=4", "--decode", "groups=3"), "4 beams cannot be parted into 3 groups"),
        (("--decode", "beams=4", "--decode", "temperature=1"), "beams follow the likeliest words"),
        (("--plan", "shouting"), "no plan 'shouting'"),
    ):
        done = CliRunner().invoke(app, ["generate", str(tmp_path / "run"), "--data", str(talks), *asked])
        assert done.exit_code != 0
        assert problem in str(done.exception or done.output) or problem in done.output, done.exception
    assert not (tmp_path / "run" / "outputs.jsonl").exists()


def test_concepts_stand_before_the_reply(talks: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """A file of concepts joins training and writing; a context that it lacks is told before anything is trained."""
    from heartfelt import corpora
    from heartfelt.knowledge import extracted
    from heartfelt.knowledge.ckece import Finding
    from heartfelt.training import engine

    file = tmp_path / "concepts.jsonl"
    header = extracted.Header("none", "none")

    def found(text: str) -> tuple[Finding, ...]:
        about = next(about for about in ANSWERS if about in text)
        return (Finding(about, "IsA", "thing", 1.0, 0.5, 0.5, 0.0, 1.0),)

    settings = {
        "reader": str(tiny_bert), "writer": str(tiny_bert), "max_tokens": 32, "max_reply_tokens": 32, "concepts": 24,
        "dropout": 0.0,
    }  # fmt: skip
    training = Training(2, batch_size=10, learning_rate=3e-3, evaluate_every=120, metric="ppl")
    asked = Recipe("pairs", "encoder_decoder", settings, training, concepts=str(file))
    train = corpora.load("empathetic_dialogues", "train", data=talks)
    extracted.extract(file, header, islice(extracted.contexts(train), 3), found)
    with pytest.raises(BadRecipe, match=r"concepts\.jsonl lacks \d+ contexts: heartfelt concepts --corpus"):
        engine.train(asked, tmp_path / "run", talks)
    for split in ("train", "valid", "test"):
        dialogues = corpora.load("empathetic_dialogues", split, data=talks)
        extracted.extract(file, header, extracted.contexts(dialogues), found)
    results = engine.train(asked, tmp_path / "run2", talks)
    value = results["scores"]["test"]["replies"]["ppl"][0]
    run("generate", tmp_path / "run2", "--data", talks, "--to", tmp_path / "outputs.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "outputs.jsonl").read_text().splitlines()[1:]]
    nats, tokens = (sum(row[name] for row in rows) for name in ("log_likelihood", "tokens"))
    assert math.exp(-nats / tokens) == pytest.approx(value, rel=1e-3)  # it read the same concepts
    with pytest.raises(BadRecipe, match=r"goes with settings\.concepts"):
        engine.train(replace(asked, concepts=""), tmp_path / "run3", talks)
