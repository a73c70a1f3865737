"""The command `heartfelt reproduce`."""

from pathlib import Path

import click

from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation.table import Table
from heartfelt.files import writing
from heartfelt.report import write_page
from heartfelt.reproduction.beside import beside, is_missing, kept
from heartfelt.reproduction.paper import SCALES, Paper, Place, read_paper, recipe_path
from heartfelt.terminal import console

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("what", metavar="PAPER[/TABLE]")
@click.option("--scale", type=click.Choice(SCALES), default="cpu", show_default=True,
              help="cpu: what a laptop trains; paper: the paper's own checkpoints and sizes.")  # fmt: skip
@click.option("--missing", is_flag=True, help="First train and measure the rows whose figures are not there.")
@click.option("--row", "chosen", multiple=True, help="With --missing, these rows only; may be repeated.")
@click.option("--seeds", metavar="A,B,C", help="With --missing: once with each seed.")
@click.option("--recipes", type=_PATH, default=Path("recipes"), show_default=True, help="Where recipes lie.")
@click.option("--results", type=_PATH, default=Path("results"), show_default=True, help="And what they gave.")
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
@click.option("--markdown", type=_PATH, help="Write the tables as Markdown too.")
@click.option("--latex", type=_PATH, help="And as LaTeX.")
@click.option("--html", type=_PATH, help="And as a page.")
def reproduce(
    what: str, scale: str, missing: bool, chosen: tuple[str, ...], seeds: str | None, recipes: Path, results: Path,
    data: Path | None, markdown: Path | None, latex: Path | None, html: Path | None,
) -> None:  # fmt: skip
    """Show a paper's tables with our figures beside: rashkin2019, or rashkin2019/retrieval.

    With --missing, what is not there is trained into runs/ and kept in results/. It goes on where it was stopped.
    """
    name, _, table = what.partition("/")
    paper = read_paper(name, recipes)
    if table and table not in paper.tables:
        raise UnknownName(f"table of {name}", table, paper.tables)
    keys = [table] if table else list(paper.tables)
    if not missing and (chosen or seeds):
        raise InvalidValue("--row and --seeds say what to run: add --missing")
    place = Place(recipes, results, data=data)
    if missing:
        _run(paper, keys, scale, chosen, _numbers(seeds), place)
    made = [beside(paper, key, place, scale) for key in keys]
    for one in made:
        click.echo(f"\n{one.title}")
        console().print(one.figures())
        if one.note:
            click.echo(one.note)
    _write(paper, made, markdown, latex, html)


def _run(
    paper: Paper, keys: list[str], scale: str, chosen: tuple[str, ...], seeds: tuple[int, ...], place: Place
) -> None:
    from heartfelt.reproduction.measure import carry_out
    from heartfelt.training.keep import keep

    rows = [row for key in keys for row in paper.tables[key].rows]
    if unknown := [name for name in chosen if name not in {row.row for row in rows}]:
        raise UnknownName("row", unknown[0], [row.row for row in rows])
    for row in rows:
        path = recipe_path(place.recipes, paper.name, row, scale)
        if path is None or (chosen and row.row not in chosen):
            continue
        if is_missing(row, kept(place.results, paper.name, path)):
            folder = carry_out(path, row, place, seeds, lambda step: click.echo(step, err=True))
            keep([folder], place.results / paper.name)


def _numbers(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise InvalidValue(f"--seeds takes whole numbers parted by commas, not '{text}'") from None


def _write(
    paper: Paper, tables: list[Table], markdown: Path | None, latex: Path | None, html: Path | None
) -> None:
    for path, text in (
        (markdown, "\n".join(table.markdown() for table in tables)),
        (latex, "\n\n".join(table.latex() for table in tables) + "\n"),
    ):
        if path:
            with writing(path) as file:
                file.write(text)
            click.echo(f"Wrote {path}")
    if html:
        write_page(html, "reproduction.html", paper=paper, tables=tables)
        click.echo(f"Wrote {html}")
