"""The commands `heartfelt intents …`: from hand-labelled seeds to a balanced training set for intents."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec
from rich.text import Text

from heartfelt import corpora
from heartfelt.corpora import own
from heartfelt.corpora.commands import data_option, json_option
from heartfelt.corpora.corpus import Corpus
from heartfelt.curation import intents
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.files import writing
from heartfelt.labels import INTENTS
from heartfelt.terminal import bar, console, counting, printable, table

_FILE = click.Path(path_type=Path)


def _chosen(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which n-grams speak for an intent."""
    for option in (
        click.option("--min-purity", type=click.FloatRange(0, 1), default=0.75, show_default=True,
                     help="The least share of this intent among the seeds that hold it, each intent weighing alike."),
        click.option("--min-seeds", type=click.IntRange(min=1), default=3, show_default=True,
                     help="The fewest seeds of an intent that hold it."),
        click.option("--top", type=click.IntRange(min=1), default=20, show_default=True,
                     help="So many n-grams an intent at the most."),
    ):  # fmt: skip
        command = option(command)
    return command


_force = click.option("--force", is_flag=True, help="Write over OUT if it is there already.")


@click.command()
@click.argument("seeds")
@click.option("--split", help="Only this split of SEEDS.")
@_chosen
@data_option
@json_option
def ngrams(
    seeds: str,
    split: str | None,
    top: int,
    min_seeds: int,
    min_purity: float,
    data: Path | None,
    as_json: bool,
) -> None:
    """Show which n-grams speak for an intent: those that its hand-labelled turns hold most, and others hardly.

    SEEDS is a corpus with labelled turns (intent_seeds), or the path of a .jsonl or .parquet file of yours.
    """
    pairs = _seeds(seeds, split, data)
    found = intents.frequent_ngrams(pairs, top, min_seeds, min_purity)
    if as_json:
        listed = {
            intent: [{"ngram": str(gram), "seeds": gram.seeds, "purity": gram.purity} for gram in grams]
            for intent, grams in found.items()
        }
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    sizes = Counter(intent for _, intent in pairs)
    shown = table("intent", "n-gram", "seeds", "of", "purity", right=("seeds", "of", "purity"))
    for intent, grams in found.items():
        if not grams:
            shown.add_row(intent, "–", "", str(sizes[intent]), "")
        for gram in grams:
            cells = (printable(str(gram)), str(gram.seeds), str(sizes[intent]), f"{gram.purity:.2f}")
            shown.add_row(intent, *cells)
    console().print(shown)


@click.command()
@click.argument("seeds")
@click.argument("names", metavar="CORPUS...", nargs=-1, required=True)
@click.argument("out", type=_FILE)
@click.option("--split", help="Only this split of each CORPUS; a file that is one split is taken whole.")
@click.option("--seeds-split", help="Only this split of SEEDS.")
@click.option(
    "--sentences", is_flag=True, help="Cut turns into sentences first, as the published extension does."
)
@_chosen
@_force
@data_option
def extend(
    seeds: str,
    names: tuple[str, ...],
    out: Path,
    split: str | None,
    seeds_split: str | None,
    sentences: bool,
    top: int,
    min_seeds: int,
    min_purity: float,
    force: bool,
    data: Path | None,
) -> None:
    """Label every listener turn that n-grams of exactly one intent claim, and write those turns.

    SEEDS and CORPUS are names of `heartfelt corpora list`, or paths of .jsonl or .parquet files of yours; OUT is
    a file that ends in .jsonl or .parquet.
    """
    _check_target(out, force)
    sources = _sources(names, split)
    found = intents.frequent_ngrams(_seeds(seeds, seeds_split, data), top, min_seeds, min_purity)
    claims = intents.Claims()
    with counting("looking at") as step, writing(out, "wb") as file:
        read = _dialogues(sources, data, step)
        count = own.write(intents.extend(read, found, sentences, claims), file, out.suffix)
        if not count:
            raise InvalidValue(
                f"no n-gram of {seeds} claims any of {claims.looked_at:,} turns; nothing was written"
            )
    shown = table("intent", "n-grams", "turns", "", right=("n-grams", "turns"))
    most = max(claims.intents.values())
    for intent, grams in found.items():
        kept = claims.intents[intent]
        shown.add_row(
            intent, str(len(grams)), f"{kept:,}", Text(bar(kept / most) if kept else "", style="blue")
        )
    console().print(shown)
    what = "sentences of listeners" if sentences else "listener turns"
    click.echo(
        f"\n{claims.looked_at:,} {what}: {count:,} kept, {claims.several:,} claimed by several intents, "
        f"{claims.none:,} by none\nWrote {out}"
    )


@click.command()
@click.argument("name", metavar="IN")
@click.argument("out", type=_FILE)
@click.option("--most", type=click.IntRange(min=1), required=True, help="So many turns a label at the most.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw.")
@click.option("--split", help="Only this split of IN.")
@_force
@data_option
def balance(
    name: str, out: Path, most: int, seed: int, split: str | None, force: bool, data: Path | None
) -> None:
    """Draw at most so many turns of each label; equal texts of a label count once.

    IN is what `heartfelt intents extend` wrote, or any corpus of single labelled turns.
    """
    _check_target(out, force)
    dialogues = list(corpora.load(name, split, data=data))
    kept = intents.balance(dialogues, most, seed)
    with writing(out, "wb") as file:
        own.write(kept, file, out.suffix)
    before, after = (Counter(d.turns[-1].label or "" for d in each) for each in (dialogues, kept))
    shown = table("label", "before", "after", right=("before", "after"))
    for label in sorted(before, key=lambda label: (-before[label], label)):
        shown.add_row(printable(label), f"{before[label]:,}", f"{after[label]:,}")
    console().print(shown)
    click.echo(f"\n{len(dialogues):,} turns, {len(kept):,} kept\nWrote {out}")


def _seeds(name: str, split: str | None, data: Path | None) -> list[tuple[str, str]]:
    """(text, intent) of the hand-labelled turns; says on standard error which labels were left out."""
    dialogues = list(corpora.load(name, split, data=data))
    pairs = list(intents.seeds_of(dialogues))
    others = Counter(t.label for d in dialogues for t in d.turns if t.label and t.label not in INTENTS)
    listed = printable(", ".join(label for label, _ in others.most_common(12)))
    if not pairs:
        has = f"its labels are {listed}" if others else "its turns have no labels"
        raise InvalidValue(
            f"No turn of {name} is labelled with one of the {len(INTENTS)} intents ({', '.join(INTENTS)}): {has}"
        )
    if others:
        left = f"{others.total():,} turns of {name} have labels that are not among the {len(INTENTS)} intents"
        print(f"{left} and are left out: {listed}", file=sys.stderr)
    return pairs


def _sources(names: tuple[str, ...], split: str | None) -> dict[str, tuple[Corpus, str | None]]:
    """The corpora by the names that were typed, each with the split to read; all of it where there is only one."""
    found = [(name, corpora.find(name)) for name in names]
    (called, count), *_ = Counter(corpus.name for _, corpus in found).most_common()
    if count > 1:
        raise InvalidValue(f"two of the corpora are called {called}; their turns would have the same ids")
    there = {each for _, corpus in found for each in corpus.splits}
    if split is not None and split not in there:
        raise UnknownName("split", split, there)
    chosen = {}
    for name, corpus in found:
        one = None if len(corpus.splits) == 1 else split
        if one is not None and one not in corpus.splits:
            raise UnknownName(f"split of {name}", one, corpus.splits)
        chosen[name] = corpus, one
    return chosen


def _dialogues(
    sources: dict[str, tuple[Corpus, str | None]], data: Path | None, step: Callable[[str], None]
) -> Iterator[Dialogue]:
    for name, (corpus, split) in sources.items():
        for dialogue in corpora.load(name, split, data=data):
            step(corpus.name)
            if len(sources) > 1:  # ids are unique within a corpus only
                dialogue = msgspec.structs.replace(dialogue, id=f"{corpus.name}/{dialogue.id}")
            yield dialogue


def _check_target(out: Path, force: bool) -> None:
    """OUT stands last: whoever forgets it must not lose the corpus that then stands in its place."""
    if out.suffix not in (".jsonl", ".parquet"):
        raise InvalidValue(f"{out} is where the turns go: name a file that ends in .jsonl or .parquet")
    if out.exists() and not force:
        raise InvalidValue(f"{out} is there already; name another file, or add --force to write over it")
