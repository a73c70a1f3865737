"""The commands `heartfelt evaluate | compare | leaderboard | metrics | outputs …`."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import msgspec

from heartfelt import corpora
from heartfelt.corpora.commands import data_option, json_option
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue, MissingData
from heartfelt.evaluation import align, importers, report, scoring, tables
from heartfelt.evaluation.outputs import Header, Outputs, read, write
from heartfelt.evaluation.overlap import minilm
from heartfelt.evaluation.uncertainty import RESAMPLES
from heartfelt.terminal import console, printable, table

_FILE = click.Path(path_type=Path)


def _told_apart(systems: list[Outputs], paths: tuple[Path, ...]) -> list[Outputs]:
    """Files of one system, such as two runs of it, get their file's name beside the system's."""
    names = [outputs.header.system for outputs in systems]
    apart = []
    for outputs, path in zip(systems, paths, strict=True):
        system = outputs.header.system
        if names.count(system) > 1:
            same = [p for p, name in zip(paths, names, strict=True) if name == system]
            file = path if [p.stem for p in same].count(path.stem) > 1 else path.stem
            system = f"{system} ({file})"
        apart.append(Outputs(msgspec.structs.replace(outputs.header, system=system), outputs.rows))
    return apart


@dataclass(frozen=True)
class Scoring:
    """The options that every scoring command takes."""

    metrics: tuple[str, ...]
    resamples: int
    seed: int
    ses: bool
    spelling: str
    corpus: str | None
    split: str
    data: Path | None
    as_json: bool

    def read(self, paths: tuple[Path, ...]) -> list[Outputs]:
        systems = _told_apart([read(path) for path in paths], paths)
        if self.corpus is not None:
            dialogues = list(corpora.load(self.corpus, self.split, data=self.data))
            systems = [align.complete(outputs, dialogues, self.corpus) for outputs in systems]
        return systems if self.spelling == "as-is" else [align.respelt(outputs) for outputs in systems]

    def how(self) -> dict[str, Any]:
        """The arguments that evaluate, compare and leaderboard share."""
        embedder = minilm() if self.ses else None
        return {
            "metrics": self.metrics or None,
            "resamples": self.resamples,
            "seed": self.seed,
            "embedder": embedder,
        }


_OPTIONS = (
    click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only this metric; may be repeated."),
    click.option(
        "--resamples", type=click.IntRange(min=0), default=RESAMPLES, show_default=True,
        help="For intervals and tests; 0: none (compare, which is a test, needs some).",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resampling.",
    ),
    click.option("--ses", is_flag=True, help="Also sentence-embedding similarity (loads MiniLM)."),
    click.option(
        "--spelling", type=click.Choice(["as-is", "peers"]), default="as-is", show_default=True,
        help="peers: lower case, cut into tokens, as the files of the MoEL line are, so that figures compare.",
    ),
    click.option("--corpus", help="Fill in references and emotions from this corpus, and check the turns."),
    click.option("--split", default="test", show_default=True, help="The split of --corpus."),
    data_option,
    json_option,
)  # fmt: skip


def scores(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the scoring options; it takes them as one Scoring."""
    names = [field.name for field in fields(Scoring)]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        asked = Scoring(**{name: arguments.pop(name) for name in names})
        command(asked, **arguments)

    decorated: Callable[..., None] = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _tell(notes: tuple[str, ...], skipped: dict[str, str]) -> None:
    for note in notes:
        click.echo(printable(f"note: {note}"))
    reasons: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        click.echo(printable(f"not computed: {', '.join(names)} ({reason})"))


@click.command()
@click.argument("outputs", nargs=-1, required=True, type=_FILE)
@scores
@click.option("--html", type=_FILE, help="Write a report with plots and examples to this file.")
def evaluate(asked: Scoring, outputs: tuple[Path, ...], html: Path | None) -> None:
    """Score outputs files: every metric that they allow, with 95 % intervals and the human figure."""
    systems = asked.read(outputs)
    how = asked.how()
    results = [scoring.evaluate(system, **how) for system in systems]
    if html is not None:
        report.write(html, list(zip(results, systems, strict=True)))
    if asked.as_json:
        click.echo(scoring.to_json(results))
        return
    console().print(tables.of_results(results))
    for result in results:
        if len(results) > 1 and (result.notes or result.skipped):
            click.echo("\n" + printable(result.system))
        _tell(result.notes, result.skipped)
    if html is not None:
        click.echo(f"report: {html}")


@click.command()
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@scores
@click.option("--shared", is_flag=True, help="Compare on the turns that both answer, if they differ.")
def compare(asked: Scoring, a: Path, b: Path, shared: bool) -> None:
    """Test two systems on the same turns: paired by dialogue, p-values corrected over the table."""
    first, second = asked.read((a, b))
    result = scoring.compare(first, second, **asked.how(), partly=shared)
    if asked.as_json:
        click.echo(scoring.to_json(result))
        return
    console().print(tables.of_comparison(result))
    click.echo(
        f"\n{result.turns:,} turns of {result.dialogues:,} dialogues; difference: 95 % interval; p: paired "
        "permutation by dialogue; * Holm-corrected p < .05"
    )
    if result.only_a or result.only_b:
        left = f"left out: {result.only_a:,} turns of {result.a} only, {result.only_b:,} of {result.b} only"
        click.echo(printable(left))
    _tell(result.notes, result.skipped)


@click.command()
@click.argument("folder", type=_FILE)
@scores
@click.option("--by", default="avg_bleu", show_default=True, help="The metric to rank by.")
@click.option("--html", type=_FILE, help="Write a report on all systems to this file.")
def leaderboard(asked: Scoring, folder: Path, by: str, html: Path | None) -> None:
    """Rank all outputs files (.jsonl) of a folder, and test each against the best on the same turns."""
    if not folder.is_dir():
        raise MissingData(f"There is no folder {folder}")
    paths = tuple(sorted(folder.glob("*.jsonl")))
    if not paths:
        raise MissingData(f"There is no .jsonl outputs file in {folder}; heartfelt outputs import makes them")
    systems = asked.read(paths)
    board = scoring.leaderboard(systems, by, **asked.how())
    if html is not None:
        found = {outputs.header.system: outputs for outputs in systems}
        report.write(html, [(result, found[result.system]) for result in board.results])
    if asked.as_json:
        click.echo(scoring.to_json(board))
        return
    console().print(tables.of_leaderboard(board, asked.metrics))
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
@click.option("--name", help="Of the system, for one file with one system; else the file or its format says.")
@data_option
def import_(
    format: str,
    files: tuple[Path, ...],
    folder: Path,
    corpus: str,
    split: str,
    name: str | None,
    data: Path | None,
) -> None:
    """Bring published outputs into our format, aligned to the corpus's turns.

    FORMAT: one of `heartfelt outputs formats`. Rows that match no turn are counted, listed, and kept in the
    header of the file.
    """
    importers.find(format)
    dialogues = list(corpora.load(corpus, split, data=data))
    rows = table("system", "turns", "unmatched", "file", right=("turns", "unmatched"))
    listed: list[str] = []
    for system, (path, outputs) in _imported(
        format, files, dialogues, Header("import", corpus, split), name
    ).items():
        target = folder / f"{system}.jsonl"
        write(target, outputs)
        lost = len(outputs.header.unmatched)
        rows.add_row(printable(system), f"{len(outputs.rows):,}", f"{lost:,}", printable(str(target)))
        listed += [f"unmatched: {path.name} {system} {row}" for row in outputs.header.unmatched]
        listed += [
            f"emotion unlike the corpus's: {path.name} {system} {turn}" for turn in outputs.header.disputed
        ]
    console().print(rows)
    for row in listed:
        click.echo(printable(row), err=True)


def _imported(
    format: str, files: tuple[Path, ...], dialogues: list[Dialogue], header: Header, name: str | None
) -> dict[str, tuple[Path, Outputs]]:
    """The systems of all files by name, before any is written: none overwrites another."""
    found: dict[str, tuple[Path, Outputs]] = {}
    for path in files:
        systems = importers.load(format, path, dialogues, header)
        if name is not None:
            if len(files) > 1 or len(systems) > 1:
                raise InvalidValue(
                    f"--name is for one system; there are {len(files)} files, {len(systems)} in {path}"
                )
            systems = [Outputs(msgspec.structs.replace(systems[0].header, system=name), systems[0].rows)]
        for outputs in systems:
            system = outputs.header.system
            if system in found:
                raise InvalidValue(
                    f"{found[system][0]} and {path} both hold a system '{system}'; import one of them with --name"
                )
            if "/" in system or system.startswith("."):
                raise InvalidValue(f"the system '{system}' cannot name a file; give another --name")
            found[system] = path, outputs
    return found


@click.command()
def formats() -> None:
    """List the formats that `heartfelt outputs import` reads."""
    rows = table("format", "files")
    for name, importer in importers.IMPORTERS.items():
        rows.add_row(name, importer.source)
    console().print(rows)
