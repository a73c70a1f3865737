"""Heartfelt: the toolkit for empathetic dialogue."""

import importlib
from typing import Any

from heartfelt.dialogue import Dialogue, Example, Reply, Turn, examples
from heartfelt.errors import HeartfeltError

__version__ = "0.1.0"
__all__ = [
    "Dialogue",
    "Example",
    "HeartfeltError",
    "Reply",
    "Turn",
    "corpora",
    "emotions",
    "examples",
    "load",
]

# Named here, imported on use: what costs time to load costs nothing until then.
_ROOMS = ("corpora",)
_FUNCTIONS = {"emotions": "heartfelt.agent.listen", "load": "heartfelt.agent.load"}


def __getattr__(name: str) -> Any:
    """`heartfelt.corpora` works without an import of its own, and costs nothing until it is used."""
    if name in _ROOMS:
        return importlib.import_module(f"heartfelt.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'heartfelt' has no attribute '{name}'")
