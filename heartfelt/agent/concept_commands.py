"""The command `heartfelt concepts`: what a message brings to mind, or every context of a corpus."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import click

from heartfelt import corpora
from heartfelt.agent.know import ENCODER, embedder
from heartfelt.errors import InvalidValue
from heartfelt.knowledge import extracted, picture
from heartfelt.knowledge.ckece import Extractor, Finding, in_words
from heartfelt.knowledge.folder import Knowledge, open_knowledge
from heartfelt.terminal import console, counting, printable, table
from heartfelt.text import readable

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("turns", metavar="[TURN]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=_PATH, help="Draw a picture into this page.")
@click.option("--png", type=_PATH, help="Draw a picture into this file.")
@click.option("--corpus", help="Extract the concepts of every context of a corpus instead.")
@click.option("--split", help="Only this split of it.")
@click.option("--window", type=click.IntRange(min=1), help="Turns of a context, the last ones; else all.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many contexts.")
@click.option("--to", type=_PATH, help="The file that the corpus's concepts are added to.")
@click.option("--encoder", default=ENCODER, show_default=True,
              help="What finds keywords: minilm, a sentence encoder of the hub or in a folder, or 'shipped' (ours; no "
              "torch).")  # fmt: skip
@click.option("--knowledge", type=_PATH, help="A folder that `heartfelt knowledge build` wrote.")
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
def concepts(
    turns: tuple[str, ...],
    as_json: bool,
    html: Path | None,
    png: Path | None,
    corpus: str | None,
    split: str | None,
    window: int | None,
    limit: int | None,
    to: Path | None,
    encoder: str,
    knowledge: Path | None,
    data: Path | None,
) -> None:
    """Find commonsense and emotional concepts for a dialogue: CKECE of liu2021.

    Each TURN is what somebody says. With --corpus and --to, the context of every listener turn is looked at, and the
    file is gone on with if it was interrupted.
    """
    text = " ".join(readable(turn).strip() for turn in turns).strip()
    if bool(text) == bool(corpus):
        raise InvalidValue("Give what somebody says, or --corpus NAME and --to FILE")
    if corpus and not to:
        raise InvalidValue("The concepts of a corpus go to a file: --to FILE")
    texts = islice(_contexts(corpus, split, window, data), limit) if corpus else iter(())
    opened = open_knowledge(knowledge)
    extractor = opened.extractor(embedder(encoder))
    if to and corpus:
        _batch(to, texts, opened, extractor, encoder)
    else:
        _one(text, extractor, as_json, html, png)


def _contexts(corpus: str, split: str | None, window: int | None, data: Path | None) -> Iterator[str]:
    return extracted.contexts(corpora.load(corpus, split, data=data), window)


def _batch(to: Path, texts: Iterator[str], opened: Knowledge, extractor: Extractor, encoder: str) -> None:
    header = extracted.Header(opened.fingerprint, encoder, extractor.settings)
    with counting("Extracting") as step:
        found = extracted.extract(to, header, texts, extractor, step)
    some = sum(bool(one) for one in found.values())
    share = f", {some:,} of them ({100 * some / len(found):.1f} %) with a concept" if found else ""
    click.echo(f"{to}: {len(found):,} texts{share}")


def _one(text: str, extractor: Extractor, as_json: bool, html: Path | None, png: Path | None) -> None:
    keywords = extractor.keywords(text)
    found = extractor(text)
    if html:
        picture.write_html(html, text, found)
    if png:
        picture.write_png(png, found)
    if as_json:
        told = [{**one.to_dict(), "backwards": one.backwards, "plain": one.plain} for one in found]
        click.echo(
            json.dumps({"text": text, "keywords": dict(keywords), "concepts": told}, ensure_ascii=False)
        )
    else:
        _show(keywords, found)
    for path in (html, png):
        if path:
            click.echo(f"Wrote {path}", err=True)


def _show(keywords: Sequence[tuple[str, float]], found: Sequence[Finding]) -> None:
    said = ", ".join(f"{printable(word)} {score:.2f}" for word, score in keywords)
    click.echo(f"Keywords: {said or 'none'}")
    if not found:
        click.echo("No concept: ConceptNet ties nothing to these that passes the filters")
        return
    numbers = ("score", "intensity", "similarity", "confidence", "weight")
    shown = table("keyword", "", "relation", "concept", *numbers, right=numbers)
    for one in found:
        arrow = "←" if one.backwards else "→"
        cells = (f"{getattr(one, name):.3f}" for name in numbers)
        shown.add_row(one.keyword, arrow, in_words(one.relation), printable(one.concept), *cells)
    console().print(shown)
