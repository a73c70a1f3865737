"""The commands `heartfelt outputs answer` and `heartfelt probe …`: what an agent says to a whole test set."""

import csv
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from heartfelt import corpora
from heartfelt.agent.chat_commands import agent_options, load_agent
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import BadData, InvalidValue
from heartfelt.evaluation.human import wilson
from heartfelt.evaluation.outputs import Header
from heartfelt.terminal import console, counting, printable, table

_PATH = click.Path(path_type=Path)
_workers = click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Turns answered at once."
)


@click.command()
@click.argument("system")
@click.option(
    "--to", type=_PATH, required=True, help="The outputs file to write; begun answers are kept beside it."
)
@click.option("--corpus", default="empathetic_dialogues", show_default=True)
@click.option("--split", default="test", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="So many dialogues, the first ones.")
@_workers
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
@agent_options
def answer(
    system: str, to: Path, corpus: str, split: str, limit: int | None, workers: int, data: Path | None, **options: Any
) -> None:  # fmt: skip
    """Let an agent answer every listener turn of a corpus, for `heartfelt evaluate`. SYSTEM is its name in tables.

    Who stops it and starts it again goes on where it stopped.
    """
    from heartfelt.agent.replies import answer as answer_all

    agent = load_agent(**options)
    dialogues = list(islice(corpora.load(corpus, split, data=data), limit))
    chosen = {
        name: str(value)
        for name, value in options.items()
        if value not in (None, False) and name != "threads"  # which changes nothing but the time
    }
    header = Header(
        system, corpus, split, language=dialogues[0].language if dialogues else "en",
        source=agent.name, decoding=msgspec.json.encode(agent.settings).decode(),
        note=", ".join(f"{name} {value}" for name, value in sorted(chosen.items())),
    )  # fmt: skip
    with counting(f"{system} answers") as step:
        outputs = answer_all(agent, dialogues, header, to, workers, step)
    click.echo(f"{len(outputs.rows):,} replies in {to}; score them: heartfelt evaluate {to}")


@click.command()
@click.option("--corpus", default="empathetic_dialogues", show_default=True)
@click.option("--split", default="test", show_default=True)
@click.option("--contexts", type=click.IntRange(min=1), default=200, show_default=True,
              help="First messages of so many dialogues, evenly from the split.")  # fmt: skip
@_workers
@click.option("--data", type=_PATH, help="Where the corpora lie; else $HEARTFELT_DATA.")
@agent_options
def steering(corpus: str, split: str, contexts: int, workers: int, data: Path | None, **options: Any) -> None:
    """Ask for each of the eight intents, and see how often the reply is read as it; and how often unasked."""
    from heartfelt.agent.probes import steering as probe

    agent = load_agent(**options)
    dialogues = list(corpora.load(corpus, split, data=data))
    if not dialogues:
        raise InvalidValue(f"{corpus} has no {split} split")
    step_size = max(1, len(dialogues) // contexts)
    chosen = [
        msgspec.structs.replace(dialogue, turns=dialogue.turns[:1], situation=None)
        for dialogue in dialogues[::step_size][:contexts]
    ]
    with counting("Steering") as step:
        found = probe(agent, chosen, step, workers)
    shown = table("intent", "asked", "unasked", right=("asked", "unasked"))
    for one in found:
        shown.add_row(one.intent, f"{one.asked:.1%}", f"{one.unasked:.1%}")
    mean = [sum(getattr(one, side) for one in found) / len(found) for side in ("asked", "unasked")]
    shown.add_row("mean", *(f"{share:.1%}" for share in mean))
    console().print(shown)
    click.echo(f"{len(chosen)} contexts of {corpus} {split}; read by the 41-way labeller")


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@agent_options
def neutral(file: Path, **options: Any) -> None:
    """Answer small talk, and list the replies that sympathise or console.

    FILE is a CSV with the columns `message` and, if something was said before it, `before`: turns parted by "|".
    """
    from heartfelt.agent.probes import small_talk

    prompts = _prompts(file)
    found = small_talk(load_agent(**options), prompts)
    for one in found:
        mark = "!" if one.caring else " "
        click.echo(f"{mark} {one.label:<13} {printable(one.prompt)} → {printable(one.reply)}")
    plain = sum(not one.caring for one in found)
    share = wilson(plain, len(found)).percent
    click.echo(f"{plain} of {len(found)} without sympathy or consolation: {share}")


def _prompts(file: Path) -> list[Dialogue]:
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except csv.Error as problem:
        raise BadData(f"{file} is not a CSV that can be read: {problem}") from None
    if not rows or any(not (row.get("message") or "").strip() for row in rows):
        raise BadData(f"{file} should be a CSV whose column `message` is never empty")
    return [_talk(number, row) for number, row in enumerate(rows, 1)]


def _talk(number: int, row: dict[str, str]) -> Dialogue:
    said = [part.strip() for part in (row.get("before") or "").split("|") if part.strip()]
    turns = [Turn(LISTENER if (len(said) - i) % 2 else SPEAKER, text) for i, text in enumerate(said)]
    return Dialogue(f"plain-{number}", (*turns, Turn(SPEAKER, row["message"].strip())))
