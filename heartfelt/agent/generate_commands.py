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
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
def generate(
    run: Path, to: Path | None, corpus: str, split: str, limit: int | None, decode: tuple[str, ...], plan: str,
    data: Path | None,
) -> None:  # fmt: skip
    """Let a run that writes replies answer every listener turn of a corpus, for `heartfelt evaluate`.

    Rows also say how likely the run finds what people said, and what emotion it heard where it has learned that.
    """
    from heartfelt.agent.answering import AnswererRun
    from heartfelt.agent.generate import generate as answer_all

    decoding = _decoding(decode)
    model = AnswererRun(run)
    dialogues = list(islice(corpora.load(corpus, split, data=data), limit))
    header = Header(
        model.name, corpus, split, language=dialogues[0].language if dialogues else "en",
        decoding=msgspec.json.encode(decoding).decode(), note=f"plan: {plan}",
    )  # fmt: skip
    with counting(f"{model.name} answers") as step:
        outputs = answer_all(model, dialogues, header, decoding, plan, step)
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
