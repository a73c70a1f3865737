"""The commands `heartfelt arabic segment | restore`."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from heartfelt.arabic.clitics import restore as restore_text
from heartfelt.arabic.clitics import segment as segment_text
from heartfelt.arabic.plain import count
from heartfelt.arabic.segmenters import SEGMENTERS, open_segmenter
from heartfelt.errors import InvalidValue
from heartfelt.files import Faults, lines, writing
from heartfelt.text import readable

_TO = click.option("--to", type=click.Path(path_type=Path), help="Write here instead of printing.")


@click.command()
@click.argument("what", required=False)
@click.option("--segmenter", default="plain", show_default=True, help=f"Who cuts: {', '.join(SEGMENTERS)}.")
@click.option("--words", type=click.Path(path_type=Path),
              help="A file of Arabic text whose words `plain` counts, to know more stems.")  # fmt: skip
@click.option("--alef", is_flag=True, help="Write all forms of alef as one. This cannot be undone.")
@_TO
def segment(what: str | None, segmenter: str, words: Path | None, alef: bool, to: Path | None) -> None:
    """Spell Arabic text one way and cut its words into clitics: والكتب becomes و+ ال+ كتب.

    WHAT is a text; or a file, a text a line; or - for standard input. Each line gives a line.
    """
    cut = open_segmenter(segmenter, count(_lines_of(words)) if words else None)
    _each(what, lambda line: segment_text(line, cut, alef), to)


@click.command()
@click.argument("what", required=False)
@_TO
def restore(what: str | None, to: Path | None) -> None:
    """Put segmented Arabic text together again, as people write it: و+ ال+ كتب becomes والكتب.

    WHAT is a text; or a file, a text a line; or - for standard input. Each line gives a line.
    """
    _each(what, restore_text, to)


def _each(what: str | None, change: Callable[[str], str], to: Path | None) -> None:
    """Every line, changed; one that is empty stays, so that lines of two files go together."""
    given = _texts(what)
    first = next(given, None)
    if first is None:
        raise InvalidValue("There is no text: give some, a file, or lines on standard input")
    if to is None:
        click.echo(change(first))
        for line in given:
            click.echo(change(line))
        return
    with writing(to) as file:
        file.write(change(first) + "\n")
        file.writelines(change(line) + "\n" for line in given)


def _texts(what: str | None) -> Iterator[str]:
    if what is None and sys.stdin.isatty():
        return
    if what in (None, "-"):
        # A line at a time, and what is not UTF-8 is shown as such: a pipe may go on for ever.
        for number, raw in enumerate(sys.stdin.buffer):
            encoding = "utf-8" if number else "utf-8-sig"
            yield raw.decode(encoding, errors="replace").rstrip("\r\n")
        return
    assert what is not None
    try:
        is_file = Path(what).is_file()
    except (OSError, ValueError):  # a text can be too long for a name, or hold what no name may
        is_file = False
    if is_file:
        yield from _lines_of(Path(what))
    elif what.strip():
        yield readable(what)


def _lines_of(path: Path) -> Iterator[str]:
    faults = Faults()
    yield from (line for _, line in lines(path, faults))
    if faults.count:
        print(f"Passed over {faults.count:,} lines, the first is {faults.first[0]}", file=sys.stderr)
