"""Every recipe of a model that writes replies, at cpu scale: it trains two steps, from what it says it starts from.

Sizes are the recipe's own; words, checkpoints and dialogues are small ones of ours.
"""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")

from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from heartfelt import corpora
from heartfelt.knowledge import extracted
from heartfelt.labels import EMOTIONS
from heartfelt.models import GENERATORS
from heartfelt.recipe import Prepend, Recipe, load
from tests.training.conftest import ANSWERS

RECIPES = {f"{path.parent.name}/{path.stem}": path for path in Path("recipes").glob("*/*.cpu.yaml")}
WRITE = sorted(name for name, path in RECIPES.items() if load(path).model in GENERATORS)


@pytest.fixture
def world(talks: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that recipes ask for: Reddit's pairs, labelled turns, and weights by name."""
    (talks / "reddit").mkdir()
    with gzip.open(talks / "reddit" / "reddit_pairs_2015.jsonl.gz", "wt") as file:
        for i in range(120):
            row = {"file": "f", "doc": "d", "q": f"my dog {i}", "aid": i, "a": f"good dog {i % 7}"}
            file.write(json.dumps(row) + "\n")
    labelled = talks / "empathetic_intents" / "empatheticdialogues_annotated"
    labelled.mkdir(parents=True)
    rows: dict[str, list[str]] = {emotion: [] for emotion in EMOTIONS}
    for split in ("train", "valid", "test"):
        for dialogue in corpora.load("empathetic_dialogues", split, data=talks):
            emotion = dialogue.emotion or ""
            for turn, actor, label in zip(
                dialogue.turns, ("speaker", "listener"), (emotion, "questioning"), strict=True
            ):
                rows[emotion].append(f'{dialogue.id},utterance,{actor},"{turn.text}",{label}\n')
    for emotion, lines in rows.items():
        (labelled / f"{emotion}.csv").write_text("Dialog_ID,Type,Actor,Text,Label\n" + "".join(lines))
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "minilm").symlink_to(tiny_bert)
    words = AutoTokenizer.from_pretrained(tiny_bert)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, tie_word_embeddings=True,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(weights / "smollm2")
    words.save_pretrained(weights / "smollm2")
    monkeypatch.setenv("HEARTFELT_WEIGHTS", str(weights))
    return talks


def trained(name: str, runs: Path, data: Path) -> Path:
    """A run of the recipe of that name, two steps long; what it builds on is made first."""
    from heartfelt.training import engine

    folder = runs / name
    if not folder.exists():
        recipe = load(RECIPES[name])
        short = replace(recipe.training, max_steps=2, evaluate_every=2, evaluate_on=10, batch_size=8)
        engine.train(_with_parts(replace(recipe, training=short), runs, data), folder, data)
    return folder


def _named(run: str) -> str:
    """The recipe whose run that is; one that others start from has a name of its own."""
    (found,) = [name for name in RECIPES if name.endswith(f"/{Path(run).name}")]
    return found


def _with_parts(recipe: Recipe, runs: Path, data: Path) -> Recipe:
    from heartfelt.training import engine

    settings: dict[str, Any] = dict(recipe.settings)
    if "max_tokens" in settings:
        settings["max_tokens"] = min(60, settings["max_tokens"])  # the small checkpoint has 64 places
    if "reader" in settings:
        settings["max_reply_tokens"] = min(60, settings["max_reply_tokens"])
        settings["concepts"] = min(20, settings.get("concepts", 0))
    if second := settings.get("second"):
        settings["second"] = str(trained(_named(second), runs, data))
        settings["max_tokens"] = settings["max_reply_tokens"] = 60
    recipe = replace(recipe, settings=settings)
    if recipe.start:
        recipe = replace(recipe, start=str(trained(_named(recipe.start), runs, data)))
    if recipe.prepend:  # any classifier's labels will do
        moods = runs / "moods"
        if not moods.exists():
            engine.train(Recipe("situations", "naive_bayes"), moods, data)
        recipe = replace(recipe, prepend=Prepend(str(moods), min(2, recipe.prepend.labels)))
    if recipe.concepts:
        recipe = replace(recipe, concepts=str(_concepts(runs / "concepts.jsonl", data)))
    return recipe


def _concepts(file: Path, data: Path) -> Path:
    from heartfelt.knowledge.ckece import Finding

    def found(text: str) -> tuple[Finding, ...]:
        return tuple(Finding(about, "IsA", "thing", 1, 1, 0, 0, 1) for about in ANSWERS if about in text)

    for split in ("train", "valid", "test"):
        contexts = extracted.contexts(corpora.load("empathetic_dialogues", split, data=data))
        extracted.extract(file, extracted.Header("none", "none"), contexts, found)
    return file


@pytest.mark.parametrize("name", WRITE)
def test_it_trains_and_scores(name: str, world: Path, tmp_path: Path) -> None:
    folder = trained(name, tmp_path / "runs", world)
    results = json.loads((folder / "results.json").read_text())
    low, high = results["scores"]["test"]["replies"]["ppl"][1:]
    assert 1 < low <= high
    if load(RECIPES[name]).settings.get("heads") or load(RECIPES[name]).model in ("moel", "joint_gru"):
        assert 0 <= results["scores"]["test"]["emotion"]["accuracy_1"][0] <= 1


def test_they_are_all_there() -> None:
    """Nothing is tested if nothing is found."""
    assert len(WRITE) >= 30
    papers = Path("recipes").glob("*/*.paper.yaml")
    paper = {f"{path.parent.name}/{path.stem.removesuffix('.paper')}" for path in papers}
    assert {name.removesuffix(".cpu") for name in WRITE} <= paper, "every row has a recipe at both scales"
