"""The commands `heartfelt index …`: pools of replies for retrieval."""

import os
from pathlib import Path

import click

from heartfelt.dialogue import SPEAKER, Turn
from heartfelt.errors import InvalidValue
from heartfelt.terminal import console, counting, printable, table
from heartfelt.text import readable

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", type=_PATH)
@click.option("--from", "sources", multiple=True, required=True, metavar="CORPUS|FILE",
              help="Where replies come from: a corpus (empathetic_dialogues, dailydialog, reddit), or a file with a "
              "reply a line; may be repeated.")  # fmt: skip
@click.option("--encoder", type=_PATH, help="A retrieval run, or an exported encoder; else the shipped one.")
@click.option("--no-guard", is_flag=True, help="Keep replies that the guard would not send.")
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
def build(
    folder: Path, sources: tuple[str, ...], encoder: Path | None, no_guard: bool, data: Path | None
) -> None:
    """Encode a pool of replies into FOLDER, once; `--backend FOLDER` then answers with them.

    Who stops it and starts it again goes on where it stopped.
    """
    from heartfelt.agent.guard import Guard
    from heartfelt.agent.listen import Listener, shipped
    from heartfelt.retrieval.embedder import Embedder, MatcherRun, matches
    from heartfelt.retrieval.index import build as build_index
    from heartfelt.retrieval.pool import read_pool

    run = encoder if encoder and matches(encoder) else None
    made: Embedder = MatcherRun(run) if run else Listener(encoder) if encoder else shipped()
    made.fingerprint  # noqa: B018  # what is missing is told before the pool is read
    guard = Guard.off() if no_guard else Guard(ear=False)
    with counting("Reading") as step:
        pool = read_pool(sources, data, lambda text: guard.check(text).action == "pass", step)
    with counting("Encoding") as step:
        place = os.path.relpath(run.resolve(), folder.resolve()) if run else ""
        index = build_index(folder, pool, made, step, run=place)
    click.echo(
        f"{len(index):,} replies in {folder}; left out: {pool.equal:,} equal to another, {pool.long:,} long, "
        f"{pool.unfit:,} that the guard keeps back"
    )


@click.command()
@click.argument("folder", type=_PATH)
def show(folder: Path) -> None:
    """Show what an index holds."""
    from heartfelt.retrieval.index import read_card

    card = read_card(folder)
    how = f"by {card.lists:,} lists of faiss" if card.lists else "exactly"
    click.echo(f"{card.count:,} replies of {', '.join(card.sources)}")
    click.echo(f"encoded by {card.encoder}, {card.size} numbers each; searched {how}")


@click.command()
@click.argument("folder", type=_PATH)
@click.argument("message")
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="So many replies.")
@click.option(
    "--encoder", type=_PATH, help="The exported encoder that it was built with; else the shipped one."
)
def search(folder: Path, message: str, top: int, encoder: Path | None) -> None:
    """Find the replies that fit a message best."""
    from heartfelt.agent.listen import Listener
    from heartfelt.agent.retriever import embedder_of
    from heartfelt.retrieval.index import Index

    if not message.strip():
        raise InvalidValue("There is nothing to answer: the message is empty")
    index = Index(folder, embedder_of(folder, Listener(encoder) if encoder else None))
    scores, places = index.search(index.embedder.contexts([[Turn(SPEAKER, readable(message))]]), top)
    shown = table("match", "reply", right=("match",))
    for score, place in zip(scores[0].tolist(), places[0].tolist(), strict=True):
        shown.add_row(f"{score:.3f}", printable(index.text(place)))
    console().print(shown)
