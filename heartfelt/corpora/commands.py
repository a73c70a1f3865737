"""The commands `heartfelt corpora …`: arguments in, functions called, results printed."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from heartfelt import corpora
from heartfelt.corpora import own
from heartfelt.corpora import pull as pulling
from heartfelt.corpora.corpus import Corpus
from heartfelt.corpora.describe import LONGEST, Description
from heartfelt.corpora.describe import describe as describe_corpus
from heartfelt.corpora.near_duplicates import NEAR, Openings
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue
from heartfelt.files import Fault, Faults, writing
from heartfelt.report import write_page
from heartfelt.terminal import bar, console, counting, printable, table

_NARROW = 110  # columns; below it, tables show less

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder that holds the corpora (default: $HEARTFELT_DATA, or the cache where `pull` puts them).",
)
strict_option = click.option(
    "--strict", is_flag=True, help="Refuse the first fault instead of passing over it."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("list")
@data_option
@click.option("--long", is_flag=True, help="Show source, fields and known faults of each.")
@json_option
def list_(data: Path | None, long: bool, as_json: bool) -> None:
    """List the corpora that Heartfelt reads, and which of them are here."""
    folder = corpora.data_folder(data)
    entries = [(corpus, corpus.is_in(folder)) for corpus in corpora.CORPORA.values()]
    if as_json:
        click.echo(
            json.dumps([_facts(corpus, here) for corpus, here in entries], indent=2, ensure_ascii=False)
        )
        return
    if long:
        for corpus, here in entries:
            click.echo(f"{corpus.name}{'' if here else ' (not here)'}\n{corpus.about.strip()}\n")
        return
    out = console()
    wide = out.width >= _NARROW
    shown = table("name", "here", "what", *(("splits", "language") if wide else ()))
    for corpus, here in entries:
        state = "yes" if here else ("pull" if corpus.downloads else "no")
        more = (" ".join(corpus.splits), corpus.language) if wide else ()
        shown.add_row(corpus.name, state, corpus.title, *more)
    out.print(shown)
    click.echo(f"\nIn {folder}. Also: the path of a .jsonl or .parquet file of dialogues.")


def _facts(corpus: Corpus, here: bool) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "title": corpus.title,
        "source": corpus.section("Source"),
        "licence": corpus.section("Licence"),
        "fields": corpus.section("Fields"),
        "known_faults": corpus.section("Known faults"),
        "splits": corpus.splits,
        "labels": corpus.labels,
        "language": corpus.language,
        "here": here,
    }


@click.command()
@click.argument("name")
@data_option
@strict_option
@click.option("--html", type=click.Path(path_type=Path), help="Write a report with plots to this file.")
@json_option
def describe(name: str, data: Path | None, strict: bool, html: Path | None, as_json: bool) -> None:
    """Show what is in a corpus: counts, lengths, labels, words, leaks between splits.

    NAME is one of `heartfelt corpora list`, or the path of a .jsonl or .parquet file.
    """
    with counting(name) as step:
        found = describe_corpus(name, data=data, strict=strict, step=step)
    if html:
        write_page(html, "corpus.html", d=found, near=NEAR, short=Openings.SHORT, longest=LONGEST)
        click.echo(f"Wrote {html}", err=True)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    elif not html:
        _show(found)
    if found.faults.count:
        click.echo(corpora.skipped(name, found.faults), err=True)


def _show(found: Description) -> None:
    out = console()
    out.print(Text(found.corpus.title, style="bold"))
    out.print(Text(f"Licence: {found.corpus.section('Licence')}\n", style="dim"))
    numbers = ("dialogues", "turns", "turns/dialogue", "words/dialogue", "words/turn", "words/situation")
    shown = table("split", *numbers, right=numbers)
    for s in found.splits:
        ratios = ((s.turns, s.dialogues, 2), (s.words, s.dialogues, 1), (s.words, s.turns, 1))
        cells = [_ratio(*ratio) for ratio in (*ratios, (s.situation_words, s.situations, 1))]
        shown.add_row(s.name, f"{s.dialogues:,}", f"{s.turns:,}", *cells)
    out.print(shown)

    width = 24 if out.width >= _NARROW else 10
    most = max(entry.share for entry in found.words) or 1
    shown = table("emotion", "share", "", "speakers say", "listeners say", right=("share",))
    for entry in found.words:
        said = (printable(", ".join(word for word, _ in side)) for side in (entry.speaker, entry.listener))
        drawn = Text(bar(entry.share / most, width), style="red")
        shown.add_row(entry.emotion, f"{100 * entry.share:.1f} %", drawn, *said)
    out.print(f"\nMost used content words in {found.words_of} (without {found.left_out} function words)")
    out.print(shown)

    if labelled := [s for s in found.splits if s.labels]:
        names = tuple(s.name for s in labelled)
        shown = table("label", *names, "", right=names)
        top = labelled[0].labels.most_common(1)[0][1]
        for label, count in labelled[0].labels.most_common():
            counts = [f"{s.labels[label]:,}" for s in labelled]
            shown.add_row(printable(label), *counts, Text(bar(count / top, width), style="blue"))
        out.print("\nLabels of turns")
        out.print(shown)
    if found.overlaps:
        out.print(f"\nOpenings of {Openings.SHORT} words or more that occur in two splits")
        for o in found.overlaps:
            out.print(f"  {o.split} in {o.other}: {o.same:,} word for word, {o.near:,} nearly")


def _ratio(part: int, whole: int, digits: int) -> str:
    return f"{part / whole:.{digits}f}" if whole else "–"


@click.command()
@click.argument("name")
@click.option("--split", help="Only this split.")
@data_option
@strict_option
def check(name: str, split: str | None, data: Path | None, strict: bool) -> int:
    """List every fault of a corpus with file and line. Exit code 1 if there are any."""

    def tell(fault: Fault) -> None:
        click.echo(str(fault))

    faults = Faults(strict, tell)
    count = 0
    with counting(name) as step:
        for _ in corpora.load(name, split, data=data, faults=faults):
            count += 1
            step(split or "")
    what = {0: "no faults", 1: "1 fault"}.get(faults.count, f"{faults.count:,} faults")
    click.echo(f"{name}: {count:,} dialogues read, {what}", err=True)
    return 1 if faults.count else 0


@click.command()
@click.argument("name")
@click.option("--to", type=click.Path(path_type=Path), required=True,
              help="A file (.jsonl or .parquet), or a folder that gets a file a split.")  # fmt: skip
@click.option("--split", help="Only this split.")
@click.option("--format", "form", type=click.Choice(["jsonl", "parquet"]),
              help="What the files in a folder are (default: jsonl).")  # fmt: skip
@data_option
@strict_option
def export(name: str, to: Path, split: str | None, form: str | None, data: Path | None, strict: bool) -> None:
    """Write a corpus in our own format, which `describe`, `check` and training read.

    A folder keeps the splits apart; a single file takes one split, or a corpus that has only one. Files appear
    when all of them are whole.
    """
    corpus = corpora.find(name)
    splits = (split,) if split else corpus.splits
    targets = _targets(name, to, splits, form)
    faults = Faults(strict)
    counts = {}
    with ExitStack() as stack, counting(name) as step:
        for one, path in targets.items():
            dialogues = corpora.load(name, one, data=data, faults=faults)
            file = stack.enter_context(writing(path, "wb"))
            counts[path] = own.write(_stepping(dialogues, one, step), file, path.suffix)
        if faults.count and not any(counts.values()):
            raise corpora.nothing_readable(name, faults)
    for path, count in counts.items():
        click.echo(f"Wrote {path}: {count:,} dialogues")
    if faults.count:
        click.echo(corpora.skipped(name, faults), err=True)


def _targets(name: str, to: Path, splits: tuple[str, ...], form: str | None) -> dict[str, Path]:
    """Which file each split goes to."""
    if to.suffix in (".jsonl", ".parquet"):
        if len(splits) > 1:
            raise InvalidValue(
                f"{to.name} is one file, and {name} has {len(splits)} splits: "
                f"name one (--split {splits[0]}) or a folder (--to {to.stem}/)"
            )
        if form not in (None, to.suffix[1:]):
            raise InvalidValue(
                f"{to.name} cannot be of format {form}; name a file that ends in .{form}, or a folder"
            )
        return {splits[0]: to}
    if to.suffix and not to.is_dir():
        raise InvalidValue(f"{to.name} is neither a .jsonl or .parquet file nor a folder that exists")
    return {split: to / f"{split}.{form or 'jsonl'}" for split in splits}


def _stepping(dialogues: Iterator[Dialogue], split: str, step: Callable[[str], None]) -> Iterator[Dialogue]:
    for dialogue in dialogues:
        step(split)
        yield dialogue


@click.command()
@click.argument("name")
@data_option
@click.option("--yes", is_flag=True, help="Accept the licence without being asked.")
def pull(name: str, data: Path | None, yes: bool) -> None:
    """Fetch a corpus from its official source; shows its licence first."""
    corpus = corpora.find(name)
    folder = corpora.data_folder(data)
    click.echo(f"{corpus.title}\nSource: {corpus.section('Source')}\nLicence: {corpus.section('Licence')}")
    if corpus.downloads and not yes:
        if not sys.stdin.isatty():
            raise InvalidValue("Nobody is here to accept the licence: add --yes if you do")
        click.confirm("Do you accept these terms?", abort=True)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(), console=Console(stderr=True), disable=not sys.stderr.isatty(),
    )  # fmt: skip
    tasks: dict[str, Any] = {}
    with bars:

        def progress(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done, total=total)

        for line in pulling.pull(corpus, folder, progress):
            click.echo(line)
    click.echo(f"In {folder / corpus.folder}. Look at it: heartfelt corpora describe {name}")
