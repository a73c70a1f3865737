"""The commands `heartfelt curate …`: from subtitle files to a corpus of emotional dialogues, and who speaks when."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from heartfelt.corpora.commands import data_option, json_option
from heartfelt.curation.dialogues import Cleaning
from heartfelt.curation.stages import Settings, Stage
from heartfelt.errors import MissingData
from heartfelt.terminal import console, counting, table

_PATH = click.Path(path_type=Path)
_DEFAULT = Settings()
_CLEAN = Cleaning()
# What a stage's line shows of its counts.
_SHOWN = {
    "read": ("files", "readable files", "lines"),
    "choose": ("taken", "rivals left", "not English", "fragments"),
    "cut": ("turns", "dialogues", "clean dialogues", "clean turns"),
    "unique": ("again in the same film", "again in another film"),
    "label": ("dialogues", "turns"),
    "select": ("emotional",),
    "write": (),
}


@click.command()
@click.argument("paths", metavar="IN...", nargs=-1, required=True, type=_PATH)
@click.argument("out", type=_PATH)
@click.option(
    "--engine",
    default="local",
    show_default=True,
    help="local, or ray (Ray Data; OUT on a disk that all machines see).",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes, or Ray's actors."
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUT; finished shards are not done again.")
@click.option(
    "--top",
    type=click.FloatRange(min=0, min_open=True),
    default=_DEFAULT.top,
    show_default=True,
    help="The most emotional: a share below 1, or a number.",
)
@click.option(
    "--gap",
    type=click.FloatRange(min=0),
    default=_CLEAN.gap,
    show_default=True,
    help="Seconds of silence that end a dialogue.",
)
@click.option(
    "--max-turns",
    type=click.IntRange(min=0),
    default=_CLEAN.max_turns,
    show_default=True,
    help="Cut dialogues off after so many turns; 0 for never.",
)
@click.option(
    "--min-lines",
    type=click.IntRange(min=1),
    default=_DEFAULT.min_lines,
    show_default=True,
    help="A subtitle of fewer lines is left out as a fragment.",
)
@click.option(
    "--no-toxic", is_flag=True, help="Leave out dialogues in which the guard's patterns find toxicity."
)
@click.option("--mask-private", is_flag=True, help="Mask e-mails, numbers, addresses and told names.")
@click.option(
    "--audit",
    type=click.IntRange(min=0),
    default=_DEFAULT.audit,
    show_default=True,
    help="So many dialogues for people to check, in audit.csv.",
)
@click.option(
    "--files-a-shard",
    type=click.IntRange(min=1),
    default=_DEFAULT.files_a_shard,
    show_default=True,
    help="What is done at a time, and again after a kill.",
)
@click.option(
    "--segmenter",
    type=_PATH,
    help="Another turn segmenter than the shipped one (heartfelt curate turns --save).",
)
@click.option("--encoder", type=_PATH, help="Another encoder than the shipped one (heartfelt runs export).")
def subtitles(
    paths: tuple[Path, ...], out: Path, engine: str, workers: int, resume: bool, top: float, gap: float, max_turns: int,
    min_lines: int, no_toxic: bool, mask_private: bool, audit: int, files_a_shard: int, segmenter: Path | None,
    encoder: Path | None,
) -> None:  # fmt: skip
    """Make a corpus of emotional dialogues from subtitle files, as meed2 describes it.

    IN are folders, .srt or OpenSubtitles .xml(.gz) files, or archives of them (OPUS's zip, tar): nothing is unpacked.
    OUT becomes a corpus that `heartfelt corpora describe` and recipes read, with a card.
    """
    from heartfelt.curation.pipeline import curate

    settings = Settings(
        cleaning=Cleaning(gap=gap, max_turns=max_turns, toxic=no_toxic, private=mask_private),
        min_lines=min_lines,
        files_a_shard=files_a_shard,
        top=top,
        audit=audit,
        segmenter=str(segmenter.resolve()) if segmenter else "",
        encoder=str(encoder.resolve()) if encoder else "",
    )
    bars = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty(),
    )  # fmt: skip
    with bars:
        shown: dict[str, Any] = {}

        def tell(does: str, done: int, total: int) -> None:
            if does not in shown:
                shown[does] = bars.add_task(does)
            bars.update(shown[does], completed=done, total=total, visible=done < total)

        def finished(stage: Stage, counts: dict[str, Any], seconds: float) -> None:
            numbers = ", ".join(f"{counts.get(name, 0):,} {name}" for name in _SHOWN[stage.name])
            print(f"{stage.name:<7} {seconds:>8.1f} s  {numbers}".rstrip(), file=sys.stderr)

        counted = curate(
            paths, out, settings, engine=engine, workers=workers, resume=resume, tell=tell, finished=finished
        )
    broken = counted["read"].get("files", 0) - counted["read"].get("readable files", 0)
    if broken:
        click.echo(f"{broken:,} files could not be read: {out / 'quarantine.tsv'} says why")
    click.echo(
        f"{counted['select']['emotional']:,} emotional dialogues of {counted['select']['dialogues']:,}\nWrote {out}"
    )


@click.command()
@click.argument("paths", metavar="SUBTITLES...", nargs=-1, required=True, type=_PATH)
@click.option("--save", type=_PATH, help="Train on all of them, and write weights and card to this folder.")
@data_option
@json_option
def turns(paths: tuple[Path, ...], save: Path | None, data: Path | None, as_json: bool) -> None:
    """Train and measure the turn segmenter: who speaks when, on subtitles whose films are in the Cornell corpus.

    Accuracy is on films that were not trained on, beside the floors and meed2's figure.
    """
    import msgspec

    from heartfelt.curation import turn_training as training

    with counting("aligning") as step:
        found = training.gold(paths, data, step)
    if not found:
        raise MissingData(
            "none of these subtitles is of a film in the Cornell corpus; heartfelt corpora describe cornell"
        )
    scripted = training.from_scripts(sorted({each.film for each in found}), data)
    measured = training.cross_validated(found, scripted)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(measured), indent=2))
    else:
        shown = table("accuracy on unseen films", "", "", right=("",))
        shown.add_row("heartfelt", f"{measured.accuracy:.4f}", f"[{measured.low:.4f}, {measured.high:.4f}]")
        shown.add_row("meed2 (its own data)", f"{training.MEED2:.4f}", "")
        shown.add_row("a dash or a name alone", f"{measured.by_dash:.4f}", "")
        shown.add_row("always the commoner", f"{measured.majority:.4f}", "")
        console().print(shown)
        click.echo(
            f"\n{measured.boundaries:,} boundaries, {measured.subtitles} subtitles, {measured.films} films, "
            f"{training.FOLDS} folds by film; precision {measured.precision:.4f}, recall {measured.recall:.4f}"
        )
    if save:
        weights, bias = training.train(scripted, [training.from_subtitle(each) for each in found])
        training.save(save, weights, bias, measured)
        click.echo(f"Wrote {save}", err=as_json)
