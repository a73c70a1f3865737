"""Every error that Heartfelt raises on purpose.

HeartfeltError            the root: `except heartfelt.HeartfeltError` catches them all
├── UnknownName           a name that is not in a registry; the message offers the nearest and lists the rest
├── InvalidValue          a value that cannot be what it claims (an empty turn, a label that does not exist)
├── MissingData           a corpus or file that is not where we looked
├── BadData               a file that is there, and is not what it should be
├── DownloadFailed        a download that could not be finished; what arrived is kept for the next try
└── MissingExtra          an optional dependency that is not installed; the message is the install line

A message is interface: one line that says what is wrong, what exists, and the command that mends it.
The command line prints it and exits with code 2; `--traceback` shows where it came from.
"""

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class HeartfeltError(Exception):
    """The root of all errors that Heartfelt raises on purpose."""


class Terminated(KeyboardInterrupt):
    """The system asks the program to end (SIGTERM). Ctrl-C may mean less: this reply, not the talk."""


class UnknownName(HeartfeltError):
    """A name that is not in a registry."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        super().__init__(f"There is no {kind} '{name}'.{hint} There is: {', '.join(names)}.")


class InvalidValue(HeartfeltError, ValueError):
    """A value that cannot be what it claims to be."""


class MissingData(HeartfeltError):
    """A corpus or file that is not where we looked."""


class BadData(HeartfeltError):
    """A file that is there, and is not what it should be."""


class DownloadFailed(HeartfeltError):
    """A download that could not be finished."""


class MissingExtra(HeartfeltError):
    """An optional dependency that is not installed."""


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(
            f"{purpose} needs '{module}', which is not installed: pip install 'heartfelt[{extra}]'"
        ) from None
