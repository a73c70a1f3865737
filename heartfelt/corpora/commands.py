"""The commands `heartfelt corpora …`: arguments in, functions called, results printed."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from heartfelt import corpora
from heartfelt.corpora import own
from heartfelt.corpora import pull as pulling
from heartfelt.corpora.corpus import Corpus
from heartfelt.corpora.describe import LONGEST, Description
from heartfelt.corpora.describe import describe as describe_corpus
from heartfelt.corpora.near_duplicates import NEAR, Openings
from heartfelt.dialogue import Dialogue
from heartfelt.errors import HeartfeltError, InvalidValue
from heartfelt.files import Fault, Faults
from heartfelt.report import write_page
from heartfelt.text import STOP_WORDS

_BAR = 24  # characters of the longest bar

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder that holds the corpora (default: $HEARTFELT_DATA, or the cache where `pull` puts them).",
)
strict_option = click.option("--strict", is_flag=True, help="Refuse the first fault instead of skipping it.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def console() -> Console:
    """Standard output; as wide as the table needs when it is not a terminal."""
    return Console() if sys.stdout.isatty() else Console(width=160)


def bar(share: float) -> str:
    """A bar of text, to an eighth of a character."""
    eighths = round(8 * _BAR * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


@contextmanager
def counting(what: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that counts dialogues while they are read; silent when that is no terminal."""
    bars = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), transient=True,
        console=Console(stderr=True), disable=not sys.stderr.isatty(),
    )  # fmt: skip
    with bars:
        task = bars.add_task(what, total=None)

        def step(split: str) -> None:
            bars.update(task, advance=1, description=f"{what} {split}")

        yield step


@click.command("list")
@data_option
@click.option("--long", is_flag=True, help="Show source, fields and known faults of each.")
@json_option
def list_(data: Path | None, long: bool, as_json: bool) -> None:
    """List the corpora that Heartfelt reads, and which of them are here."""
    folder = corpora.data_folder(data)
    entries = [(corpus, (folder / corpus.folder).exists()) for corpus in corpora.CORPORA.values()]
    if as_json:
        click.echo(
            json.dumps([_facts(corpus, here) for corpus, here in entries], indent=2, ensure_ascii=False)
        )
        return
    if long:
        for corpus, here in entries:
            click.echo(f"{corpus.name}{'' if here else ' (not here)'}\n{corpus.about.strip()}\n")
        return
    table = Table("name", "what", "splits", "language", "here", box=None, pad_edge=False)
    for corpus, here in entries:
        state = "yes" if here else ("pull" if corpus.downloads else "no")
        table.add_row(corpus.name, corpus.title, " ".join(corpus.splits), corpus.language, state)
    console().print(table)
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
        write_page(
            html, "corpus.html", d=found, stop_words=len(STOP_WORDS), near=NEAR, short=Openings.SHORT,
            longest=LONGEST,
        )  # fmt: skip
        click.echo(f"Wrote {html}", err=True)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    elif not html:
        _show(found)


def _show(found: Description) -> None:
    out = console()
    out.print(Text(found.corpus.title, style="bold"))
    out.print(Text(f"Licence: {found.corpus.section('Licence')}\n", style="dim"))
    table = Table("split", box=None, pad_edge=False)
    for column in ("dialogues", "turns", "turns/dialogue", "words/turn", "words/situation"):
        table.add_column(column, justify="right")
    for s in found.splits:
        table.add_row(
            s.name, f"{s.dialogues:,}", f"{s.turns:,}", _ratio(s.turns, s.dialogues, 2),
            _ratio(s.words, s.turns, 1), _ratio(s.situation_words, s.situations, 1),
        )  # fmt: skip
    out.print(table)

    most = max(entry.share for entry in found.words)
    table = Table("emotion", "share", "", "speakers say", "listeners say", box=None, pad_edge=False)
    for entry in found.words:
        said = (", ".join(word for word, _ in side) for side in (entry.speaker, entry.listener))
        share = f"{100 * entry.share:.1f} %"
        table.add_row(entry.emotion, share, Text(bar(entry.share / (most or 1)), style="red"), *said)
    out.print(f"\nMost used content words in {found.words_of} (without {len(STOP_WORDS)} function words)")
    out.print(table)

    if labelled := next((s for s in found.splits if s.labels), None):
        table = Table("label", "turns", "", box=None, pad_edge=False)
        top = labelled.labels.most_common(1)[0][1]
        for label, count in labelled.labels.most_common():
            table.add_row(label, f"{count:,}", Text(bar(count / top), style="blue"))
        out.print(f"\nLabels of turns in {labelled.name}")
        out.print(table)
    if found.overlaps:
        out.print(f"\nOpenings of {Openings.SHORT} words or more that occur in two splits")
        for o in found.overlaps:
            out.print(f"  {o.split} in {o.other}: {o.same:,} word for word, {o.near:,} nearly")
    if found.faults.count:
        click.echo(corpora.skipped(found.corpus.name, found.faults), err=True)


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
    try:
        with counting(name) as step:
            for _ in corpora.load(name, split, data=data, faults=faults):
                count += 1
                step(split or "")
    except HeartfeltError:
        if not faults.count or strict:  # otherwise: nothing could be read, and what is wrong has been listed
            raise
    click.echo(f"{name}: {count:,} dialogues read, {_faults(faults.count)}", err=True)
    return 1 if faults.count else 0


def _faults(count: int) -> str:
    return {0: "no faults", 1: "1 fault"}.get(count, f"{count:,} faults")


@click.command()
@click.argument("name")
@click.option("--to", type=click.Path(path_type=Path), required=True,
              help="A file (.jsonl or .parquet), or a folder that gets a file a split.")  # fmt: skip
@click.option("--split", help="Only this split.")
@click.option("--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True,
              help="What the files in a folder are.")  # fmt: skip
@data_option
@strict_option
def export(name: str, to: Path, split: str | None, form: str, data: Path | None, strict: bool) -> None:
    """Write a corpus in our own format, which `describe`, `check` and training read.

    A folder keeps the splits apart; a single file takes one split, or a corpus that has only one.
    """
    corpus = corpora.find(name)
    splits = (split,) if split else corpus.splits
    single = to.suffix in (".jsonl", ".parquet")
    if single and len(splits) > 1:
        raise InvalidValue(
            f"{to.name} is one file, and {name} has {len(splits)} splits: "
            f"name one (--split {splits[0]}) or a folder (--to {to.stem}/)"
        )
    for one in splits:
        path = to if single else to / f"{one}.{form}"
        write = own.write_parquet if path.suffix == ".parquet" else own.write_jsonl
        faults = Faults(strict)
        with counting(name) as step:
            dialogues = _stepping(corpora.load(name, one, data=data, faults=faults), one, step)
            count = write(dialogues, path)
        click.echo(f"Wrote {path}: {count:,} dialogues")
        if faults.count:
            click.echo(corpora.skipped(name, faults), err=True)


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
