"""The commands `heartfelt evaluate | compare | leaderboard | metrics | outputs …`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from heartfelt import corpora
from heartfelt.corpora.commands import console, data_option, json_option
from heartfelt.errors import MissingData
from heartfelt.evaluation import align, importers, report, scoring, tables
from heartfelt.evaluation.outputs import Header, Outputs, read, write
from heartfelt.evaluation.overlap import Embedder, minilm
from heartfelt.evaluation.uncertainty import RESAMPLES

_FILE = click.Path(path_type=Path)


def _scoring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every scoring command takes."""
    for option in (
        click.option(
            "--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric; may be repeated."
        ),
        click.option(
            "--resamples", default=RESAMPLES, show_default=True, help="For intervals and tests; 0: none."
        ),
        click.option("--seed", default=0, show_default=True, help="Of the resampling."),
        click.option("--ses", is_flag=True, help="Also sentence-embedding similarity (loads MiniLM)."),
        click.option(
            "--corpus", help="Fill in references and emotions from this corpus, and check the turns."
        ),
        click.option("--split", default="test", show_default=True, help="The split of --corpus."),
        data_option,
        json_option,
    ):
        command = option(command)
    return command


def _read(paths: tuple[Path, ...], corpus: str | None, split: str, data: Path | None) -> list[Outputs]:
    systems = [read(path) for path in paths]
    if corpus is None:
        return systems
    dialogues = list(corpora.load(corpus, split, data=data))
    return [align.complete(outputs, dialogues) for outputs in systems]


def _embedder(ses: bool) -> Embedder | None:
    return minilm() if ses else None


def _tell(notes: tuple[str, ...], skipped: dict[str, str]) -> None:
    for note in notes:
        click.echo(f"note: {note}")
    reasons: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        click.echo(f"not computed: {', '.join(names)} ({reason})")


@click.command()
@click.argument("outputs", nargs=-1, required=True, type=_FILE)
@_scoring_options
@click.option("--html", type=_FILE, help="Write a report with plots and examples to this file.")
def evaluate(
    outputs: tuple[Path, ...], metrics: tuple[str, ...], resamples: int, seed: int, ses: bool,
    corpus: str | None, split: str, data: Path | None, as_json: bool, html: Path | None,
) -> None:  # fmt: skip
    """Score outputs files: every metric that they allow, with 95 % intervals and the human figure."""
    embedder = _embedder(ses)
    scored = [
        (scoring.evaluate(system, metrics or None, resamples, seed, embedder), system)
        for system in _read(outputs, corpus, split, data)
    ]
    if html is not None:
        report.write(html, scored)
    if as_json:
        click.echo(scoring.to_json([result for result, _ in scored]))
        return
    results = [result for result, _ in scored]
    console().print(tables.of_results(results))
    for result in results:
        if len(results) > 1 and (result.notes or result.skipped):
            click.echo(f"\n{result.system}")
        _tell(result.notes, result.skipped)
    if html is not None:
        click.echo(f"report: {html}")


@click.command()
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@_scoring_options
@click.option("--shared", is_flag=True, help="Compare on the turns that both answer, if they differ.")
def compare(
    a: Path, b: Path, metrics: tuple[str, ...], resamples: int, seed: int, ses: bool,
    corpus: str | None, split: str, data: Path | None, as_json: bool, shared: bool,
) -> None:  # fmt: skip
    """Test two systems on the same turns: paired by dialogue, p-values corrected over the table."""
    first, second = _read((a, b), corpus, split, data)
    result = scoring.compare(first, second, metrics or None, resamples, seed, _embedder(ses), partly=shared)
    if as_json:
        click.echo(scoring.to_json(result))
        return
    console().print(tables.of_comparison(result))
    click.echo(
        f"\n{result.turns:,} turns of {result.dialogues:,} dialogues; difference: 95 % interval; p: paired "
        "permutation by dialogue; * Holm-corrected p < .05"
    )
    if result.only_a or result.only_b:
        click.echo(
            f"left out: {result.only_a:,} turns of {result.a} only, {result.only_b:,} of {result.b} only"
        )
    _tell(result.notes, result.skipped)


@click.command()
@click.argument("folder", type=_FILE)
@_scoring_options
@click.option("--by", default="avg_bleu", show_default=True, help="The metric to rank by.")
@click.option("--html", type=_FILE, help="Write a report on all systems to this file.")
def leaderboard(
    folder: Path, metrics: tuple[str, ...], resamples: int, seed: int, ses: bool, corpus: str | None,
    split: str, data: Path | None, as_json: bool, by: str, html: Path | None,
) -> None:  # fmt: skip
    """Rank all outputs files (.jsonl) of a folder, and test each against the best on the same turns."""
    paths = tuple(sorted(folder.glob("*.jsonl")))
    if not paths:
        raise MissingData(f"There is no .jsonl outputs file in {folder}; heartfelt outputs import makes them")
    systems = _read(paths, corpus, split, data)
    board = scoring.leaderboard(systems, by, metrics or None, resamples, seed, _embedder(ses))
    if html is not None:
        found = {outputs.header.system: outputs for outputs in systems}
        report.write(html, [(result, found[result.system]) for result in board.results])
    if as_json:
        click.echo(scoring.to_json(board))
        return
    console().print(tables.of_leaderboard(board, metrics or None))
    click.echo("\n±: half a 95 % interval; p: paired permutation by dialogue, Holm-corrected over the table")
    _tell(board.notes, {})
    if html is not None:
        click.echo(f"report: {html}")


@click.command()
@json_option
def metrics(as_json: bool) -> None:
    """List the metrics: direction, what they need, recipe, source."""
    if as_json:
        facts = ("name", "title", "direction", "recipe", "citation", "needs")
        listed = [{fact: getattr(metric, fact) for fact in facts} for metric in tables.every_metric()]
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    console().print(tables.of_metrics())


@click.command("import")
@click.argument("format", metavar="FORMAT")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--to", "folder", required=True, type=_FILE, help="Folder for the outputs files, one a system.")
@click.option("--corpus", default="empathetic_dialogues", show_default=True, help="Whose turns they answer.")
@click.option("--split", default="test", show_default=True)
@data_option
def import_(
    format: str, files: tuple[Path, ...], folder: Path, corpus: str, split: str, data: Path | None
) -> None:
    """Bring published outputs into our format, aligned to the corpus's turns.

    FORMAT: one of `heartfelt outputs formats`. Rows that match no turn are counted, listed, and kept in the
    header of the file.
    """
    importers.find(format)
    dialogues = list(corpora.load(corpus, split, data=data))
    table = Table("system", "turns", "unmatched", "file", box=None, pad_edge=False)
    unmatched: list[str] = []
    for path in files:
        for outputs in importers.load(format, path, dialogues, Header("import", corpus, split)):
            target = folder / f"{outputs.header.system}.jsonl"
            write(target, outputs)
            lost = len(outputs.header.unmatched)
            table.add_row(outputs.header.system, f"{len(outputs.rows):,}", f"{lost:,}", str(target))
            unmatched += [f"{path.name} {outputs.header.system} {row}" for row in outputs.header.unmatched]
    console().print(table)
    for row in unmatched:
        click.echo(f"unmatched: {row}", err=True)


@click.command()
def formats() -> None:
    """List the formats that `heartfelt outputs import` reads."""
    table = Table("format", "files", box=None, pad_edge=False)
    for name, importer in importers.IMPORTERS.items():
        table.add_row(name, importer.source)
    console().print(table)
