"""Heartfelt: the toolkit for empathetic dialogue."""

import importlib
from typing import Any

from heartfelt.dialogue import Dialogue, Example, Reply, Turn, examples
from heartfelt.errors import HeartfeltError

__version__ = "0.1.0"
__all__ = ["Dialogue", "Example", "HeartfeltError", "Reply", "Turn", "corpora", "examples"]

_ROOMS = ("corpora",)


def __getattr__(name: str) -> Any:
    """`heartfelt.corpora` works without an import of its own, and costs nothing until it is used."""
    if name in _ROOMS:
        return importlib.import_module(f"heartfelt.{name}")
    raise AttributeError(f"module 'heartfelt' has no attribute '{name}'")
