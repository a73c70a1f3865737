"""Models: one model, one file, top to bottom. Config, bricks, whole; shapes in comments.

A classifier's file has `Settings`, its part of a recipe, and either
    build(settings, classes, texts) → (model, tokenizer)    a PreTrainedModel that learns by gradient, or
    fit(settings, texts, labels, classes) → Fitted          one that is counted in one go
and `load(folder)` for what either has saved. `classes` is the number of labels (of each head); `texts` are those of
the train split.
"""

import importlib
from types import ModuleType

from heartfelt.errors import MissingExtra, UnknownName

# name in recipes → file
MODELS: dict[str, str] = {
    "majority": "heartfelt.models.majority",
    "naive_bayes": "heartfelt.models.naive_bayes",
    "fasttext": "heartfelt.models.fasttext",
    "encoder_classifier": "heartfelt.models.encoder_classifier",
    "layer_attentive": "heartfelt.models.layer_attentive",
    "bilstm_classifier": "heartfelt.models.bilstm_classifier",
}


def module_of(name: str) -> ModuleType:
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    try:
        return importlib.import_module(MODELS[name])
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"The model {name} needs '{missing.name}', which is not installed: pip install 'heartfelt[train]'"
        ) from None
