"""The commands `heartfelt situations …`: what the agent answers at once, and your own to add."""

from pathlib import Path

import click

from heartfelt.errors import BadData, InvalidValue
from heartfelt.files import Faults
from heartfelt.terminal import console, counting, printable, table

_FOLDER = click.Path(path_type=Path)
_SHOWN = 20  # faults


@click.command()
@click.argument("message")
@click.option("--folder", type=_FOLDER, help="Your own situations; else those that come with Heartfelt.")
@click.option("--count", type=click.IntRange(1, 50), default=3, show_default=True, help="So many situations.")
def find(message: str, folder: Path | None, count: int) -> None:
    """Show which situations a MESSAGE is taken for, and what could be answered."""
    from heartfelt.agent.listen import as_dialogue, shipped
    from heartfelt.agent.situations import Known

    if not message.strip():
        raise InvalidValue("There is nothing to look for: the message is empty")
    known = Known(shipped(), folder) if folder else Known(shipped())
    said = as_dialogue(message)
    found = known.find(said.turns, shipped()([said])[0], count=count)
    out = console()
    if not found:
        out.print("No situation is near enough: the agent speaks by the mood that it hears.")
    for situation, like in found:
        out.print(f"{like:.2f}  {printable(situation.name)}", style="bold", soft_wrap=True)
        for reply in situation.replies:
            out.print(f"      {reply.label:<14}{printable(reply.text)}", soft_wrap=True)


@click.command()
@click.option("--folder", type=_FOLDER, help="Your own situations; else those that come with Heartfelt.")
@click.option(
    "--every", type=click.IntRange(min=1), default=1, show_default=True, help="Only each so manyth situation."
)
def measure(folder: Path | None, every: int) -> None:
    """How often is a situation found that is told otherwise (~)? By the last such message of each."""
    from heartfelt.agent.listen import shipped
    from heartfelt.agent.situations import Known
    from heartfelt.dialogue import Dialogue
    from heartfelt.evaluation.human import wilson

    known = Known(shipped(), folder) if folder else Known(shipped())
    told = [one for one in known.situations if one.otherwise][::every]
    if not told:
        raise InvalidValue("No situation here is told otherwise: lines that begin with ~ (docs/agent.md)")
    shown = table("told", "messages", "answered", "right, of these", "right among three")
    for kind, length in (("to begin with", 1), ("within a talk", 2)):
        asked = [one for one in told if len(one.otherwise[-1]) == length]
        felt = shipped()([Dialogue(one.name, one.otherwise[-1]) for one in asked])
        found = []
        with counting(f"Told {kind}") as step:
            for one, heard in zip(asked, felt, strict=True):
                found.append([near.situation is one for near in known.find(one.otherwise[-1], heard)])
                step(f"{len(found):,} of {len(asked):,}")
        answered = [row for row in found if row]
        first, three = sum(row[0] for row in answered), sum(any(row) for row in answered)
        counts = ((len(answered), len(asked)), (first, len(answered)), (three, len(answered)))
        shown.add_row(kind, f"{len(asked):,}", *(wilson(*count).percent for count in counts))
    console().print(shown)


@click.command()
@click.argument("folder", type=_FOLDER)
def check(folder: Path) -> None:
    """Read a FOLDER of situations (.txt) whole, and list what is wrong with it."""
    from heartfelt.agent.guard import Guard
    from heartfelt.corpora.heartfelt_situations import situations

    faults, guard = Faults(), Guard(ear=False)
    found = list(situations(folder, faults))
    problems = [str(fault) for fault in faults.first]
    held = [r.text for one in found for r in one.replies if guard.check(r.text).action != "pass"]
    problems += [f"the guard would not send: {printable(text)}" for text in held]
    messages, replies = sum(len(one.messages) for one in found), sum(len(one.replies) for one in found)
    click.echo(f"{len(found):,} situations, {messages:,} messages, {replies:,} replies")
    if problems:
        more = f"; and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
        raise BadData("; ".join(problems[:_SHOWN]) + more)


@click.command()
@click.argument("folder", type=_FOLDER)
def build(folder: Path) -> None:
    """Write what a FOLDER's messages mean beside them (vectors.npz), so that nobody waits for it at a first start."""
    from heartfelt.agent.listen import shipped
    from heartfelt.agent.situations import Known

    known = Known(shipped(), folder)
    click.echo(f"{len(known):,} situations in {known.keep()}")
