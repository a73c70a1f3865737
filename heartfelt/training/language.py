"""Training language models: dialogues in, perplexity of human replies out; the rest is the engine's."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from transformers import set_seed

from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.finish import finish, results_of, save_model
from heartfelt.training.gradient import Learner
from heartfelt.training.likelihood import PREFIXES, encoder, left_open, likelihoods, perplexity, whole
from heartfelt.training.run import Run, open_run
from heartfelt.training.start import start_from, wrong_with_start
from heartfelt.training.talks import TALKS, Talk


def train_language(
    recipe: Recipe, module: ModuleType, folder: Path, data: Path | None, watch: Any = None
) -> dict[str, Any]:
    task = TALKS[recipe.task]
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    if not hasattr(module, "encode_dialogue"):
        problems.append(f"{recipe.model} does not speak, and {task.name} is about what to say")
    if recipe.training.metric not in ("loss", "ppl"):
        problems.append(f"training.metric is loss or ppl, not {recipe.training.metric}")
    if recipe.teacher:
        problems.append("a language model learns from dialogues, not from a teacher")
    if recipe.extra:
        problems.append("a language model learns from dialogues, not from extra turns")
    if recipe.prepend:
        problems.append("prepend: a language model is told emotion and plan by its own prefix")
    if recipe.training.label_smoothing:
        problems.append("training.label_smoothing is for classifiers")
    if recipe.start:
        problems += wrong_with_start(recipe)
    if problems or settings is None:
        raise BadRecipe("; ".join(problems))
    open_run(folder, recipe)
    splits = {split: list(task.read(split, data)) for split in ("train", "valid", "test")}
    set_seed(recipe.training.seed)
    model, tokenizer = module.build(settings)
    if recipe.start:
        start_from(Run(Path(recipe.start)), model, tokenizer, {})
    encodes = {
        name: encoder(module, settings, tokenizer, left_open(PREFIXES[name]))
        for name in ("gold prefix", "no prefix")
    }
    learning = left_open({"emotion": settings.open_share, "plan": settings.open_share})
    gold = encodes["gold prefix"]
    learner = Learner(
        folder, recipe, model, tokenizer, gold, perplexity, encoder(module, settings, tokenizer, learning)
    )
    learner.learn(splits["train"], whole(splits["valid"], gold, settings.max_tokens), watch)
    talks = whole(splits["test"], gold, settings.max_tokens)
    scores = {
        "test": {
            name: likelihoods(talks, learner.logits(talks, encode), encode)
            for name, encode in encodes.items()
        }
    }
    save_model(learner)
    learned = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return finish(learner, task.what, results_of(learner, scores, splits, data_hash(splits), learned=learned))


def data_hash(splits: Mapping[str, Sequence[Talk]]) -> str:
    digest = hashlib.sha256()
    for split, talks in splits.items():
        for talk in talks:
            digest.update(f"{split}{talk.replies}{talk.dialogue.to_json()}".encode())
    return digest.hexdigest()[:12]
