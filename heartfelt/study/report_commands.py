"""The commands `heartfelt study report` and `heartfelt study export`."""

import json
from pathlib import Path

import click
import msgspec

from heartfelt.corpora import own
from heartfelt.errors import InvalidValue
from heartfelt.evaluation.uncertainty import RESAMPLES
from heartfelt.files import writing
from heartfelt.study.commands import database_option, file_argument, opened
from heartfelt.terminal import console, printable

_PATH = click.Path(path_type=Path)
_KEEP = click.option("--keep-all", is_flag=True, help="Without the quality filters.")


@click.command()
@file_argument
@database_option
@_KEEP
@click.option(
    "--layout", "layouts", multiple=True, help="A paper's table: rashkin2019, naous2021, joint2021, meed2."
)
@click.option("--all", "everything", is_flag=True, help="Also by emotion and by intent.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
@click.option("--html", type=_PATH, help="Write one HTML file.")
@click.option("--latex", type=_PATH, help="Write the tables as LaTeX.")
@click.option("--markdown", type=_PATH, help="Write the tables as Markdown.")
@click.option(
    "--resamples", type=click.IntRange(min=0), default=RESAMPLES, show_default=True, help="For intervals."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resampling.")
def report(
    file: Path, database: str | None, keep_all: bool, layouts: tuple[str, ...], everything: bool, as_json: bool,
    html: Path | None, latex: Path | None, markdown: Path | None, resamples: int, seed: int,
) -> None:  # fmt: skip
    """What a rating study found so far; also while it runs."""
    from heartfelt.study.layouts import layout, tables
    from heartfelt.study.report import page, report_of

    store = opened(file, database)
    found = report_of(store, not keep_all, resamples, seed)
    store.close()
    made = [layout(found, name) for name in layouts] or tables(found, everything)
    for path, text in (
        (html, page(found)),
        (latex, "\n\n".join(table.latex() for table in made) + "\n"),
        (markdown, "\n".join(table.markdown() for table in made)),
    ):
        if path:
            with writing(path) as out:
                out.write(text)
    if as_json:
        print(json.dumps(msgspec.to_builtins(found), indent=2, ensure_ascii=False))
        return
    screen = console()
    screen.print(
        f"{found.study} ({found.kind}): {found.raters} raters, {found.finished} finished batches, {found.answers:,} "
        f"answers that count; left out: {len(found.left_out)}; begun and not finished: {found.unfinished}"
    )
    for table in made:
        screen.print()
        screen.print(printable(table.title))
        screen.print(table.figures())
        if table.note:
            screen.print(printable(table.note), style="dim")


@click.command()
@file_argument
@database_option
@click.option("--to", type=_PATH, help="Raw answers; of a collection, the corpus (.jsonl or .parquet).")
@click.option(
    "--preferences", type=_PATH, help="Pairs of replies, the better one first, for training (.jsonl)."
)
@click.option(
    "--margin", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Of a pair, at least."
)
@click.option("--question", help="The question that decides a preference; else the mean of all.")
@click.option("--partial", is_flag=True, help="Of a collection, also talks that somebody left.")
@_KEEP
def export(
    file: Path, database: str | None, to: Path | None, preferences: Path | None, margin: float, question: str | None,
    partial: bool, keep_all: bool,
) -> None:  # fmt: skip
    """Take a study's data away: answers, a corpus that heartfelt corpora reads, preference pairs."""
    if not to and not preferences:
        raise InvalidValue("Say what to write: --to FILE, or --preferences FILE")
    store = opened(file, database)
    from heartfelt.study import collection, records
    from heartfelt.study.preferences import preferences as pairs_of
    from heartfelt.study.quality import filtered
    from heartfelt.study.ratings import questions_of

    study = store.study
    if preferences and study.kind == "collect":
        raise InvalidValue("A collection has no preferences; --to FILE writes its corpus")
    if question and question not in questions_of(study):
        raise InvalidValue(f"The study asks {', '.join(questions_of(study))}, not {question}")
    if to and study.kind == "collect":
        ending = ".parquet" if to.suffix == ".parquet" else ".jsonl"
        with writing(to, "wb") as out:
            print(f"{to}: {own.write(collection.dialogues(store, partial), out, ending):,} dialogues")
    elif to:
        with writing(to) as out:
            count = sum(
                bool(out.write(json.dumps(row, ensure_ascii=False) + "\n")) for row in records.rows(store)
            )
        print(f"{to}: {count:,} answers")
    if preferences:
        found = records.works(store)
        kept = (
            [work for work in found if work.finished is not None] if keep_all else filtered(study, found)[0]
        )
        with writing(preferences) as out:
            count = sum(
                bool(out.write(one.to_json() + "\n")) for one in pairs_of(study, kept, margin, question)
            )
        print(f"{preferences}: {count:,} pairs")
    store.close()
