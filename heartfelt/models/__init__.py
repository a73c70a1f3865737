"""Models: one model, one file, top to bottom. Config, bricks, whole; shapes in comments.

A classifier's file has `Settings` (its part of a recipe) and `build(settings, classes) → (model, tokenizer)`.
"""

import importlib
from types import ModuleType

from heartfelt.errors import UnknownName

# name in recipes → file
MODELS: dict[str, str] = {
    "encoder_classifier": "heartfelt.models.encoder_classifier",
}


def module_of(name: str) -> ModuleType:
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    return importlib.import_module(MODELS[name])
