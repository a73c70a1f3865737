"""The command `heartfelt generate`."""

from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from heartfelt import corpora
from heartfelt.agent.generator import Decoding
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation.outputs import Header, write
from heartfelt.terminal import counting

_PATH = click.Path(path_type=Path)
_WAYS = Decoding.__struct_fields__


@click.command()
@click.argument("run", type=_PATH)
@click.option(
    "--to", type=_PATH, help="The outputs file to write (default: outputs.jsonl in the run folder)."
)
@click.option("--corpus", default="empathetic_dialogues", show_default=True)
@click.option("--split", default="test", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="So many dialogues, the first ones.")
@click.option(
    "--decode",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"How words are chosen: {', '.join(_WAYS)}; may be repeated. Else the likeliest one each time.",
)
@click.option(
    "--plan",
    default="planned",
    show_default=True,
    help="For a model that is told what to do: planned (by the shipped planner), gold, or one of the 41 labels.",
)
@click.option(
    "--reranker",
    type=_PATH,
    help="A re-ranker's run (cross_encoder, late_matcher, jury) that orders what is found.",
)
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
def generate(
    run: Path, to: Path | None, corpus: str, split: str, limit: int | None, decode: tuple[str, ...], plan: str,
    reranker: Path | None, data: Path | None,
) -> None:  # fmt: skip
    """Let a run answer every listener turn of a corpus, for `heartfelt evaluate`.

    Rows of a run that writes replies also say how likely it finds what people said, and what emotion it heard where it
    has learned that. A retrieval run, or an index, answers with the reply of its pool that fits best.
    """
    from heartfelt.agent.generate import generate as write_all
    from heartfelt.agent.generate import retrieve as find_all
    from heartfelt.agent.retriever import is_retrieval, retriever

    decoding, finds = _decoding(decode), is_retrieval(run)
    if finds and decode:
        raise InvalidValue(f"--decode says how words are chosen, and {run} chooses among whole replies")
    if reranker and not finds:
        raise InvalidValue(f"--reranker orders what retrieval finds, and {run} writes its replies")
    dialogues = list(islice(corpora.load(corpus, split, data=data), limit))
    header = Header(
        run.resolve().name, corpus, split, language=dialogues[0].language if dialogues else "en",
        decoding="" if finds else msgspec.json.encode(decoding).decode(),
    )  # fmt: skip
    with counting(f"{header.system} answers") as step:
        if finds:
            pool = retriever(run, reranker=reranker)
            note = f"re-ranked by {reranker.resolve().name}" if reranker else ""
            told = msgspec.structs.replace(header, source=pool.name, note=note)
            outputs = find_all(pool, dialogues, told, step)
        else:
            from heartfelt.agent.answering import AnswererRun

            told = msgspec.structs.replace(header, note=f"plan: {plan}")
            outputs = write_all(AnswererRun(run), dialogues, told, decoding, plan, step)
    to = to or run / "outputs.jsonl"
    write(to, outputs)
    click.echo(f"{len(outputs.rows):,} replies in {to}; score them: heartfelt evaluate {to}")


def _decoding(changes: tuple[str, ...]) -> Decoding:
    values: dict[str, Any] = {"temperature": 0, "repeat_penalty": 1}
    for change in changes:
        name, sign, value = change.partition("=")
        if name not in _WAYS or not sign:
            raise UnknownName("way of decoding", name, _WAYS)
        values[name] = value
    try:
        return msgspec.convert(values, Decoding, strict=False)
    except msgspec.ValidationError as problem:
        raise InvalidValue(f"--decode: {problem}") from None
