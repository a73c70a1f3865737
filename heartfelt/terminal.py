"""What the commands share on a terminal: tables, bars, a line that counts. Nothing here trusts the data it shows."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

PIPED_WIDTH = 160  # characters of a table when the output is no terminal


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # which is no error: see cli


def console() -> Console:
    """Standard output, where text is text: no markup, no emoji codes, no guessed highlights."""
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return _Console(width=width, markup=False, emoji=False, highlight=False)


def printable(text: str) -> str:
    """A text that cannot move the cursor: control characters become spaces."""
    return "".join(char if char.isprintable() else " " for char in text)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A plain table; the first column, the one that people copy from, is never cut."""
    made = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        made.add_column(
            name, justify="right" if name in right else "left", no_wrap=index == 0, overflow="fold"
        )
    return made


def bar(share: float, width: int = 24) -> str:
    """A bar of text, to an eighth of a character."""
    eighths = round(8 * width * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


@contextmanager
def counting(what: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that counts while something is read; silent when that is no terminal."""
    bars = Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), MofNCompleteColumn(), transient=True,
        console=Console(stderr=True), disable=not sys.stderr.isatty(),
    )  # fmt: skip
    with bars:
        task = bars.add_task(what, total=None)

        def step(part: str) -> None:
            bars.update(task, advance=1, description=f"{what} {part}")

        yield step
