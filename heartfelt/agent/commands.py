"""The command `heartfelt emotions`."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import click

from heartfelt import corpora
from heartfelt.agent.policy import Policy, load
from heartfelt.dialogue import SPEAKER, Dialogue, Turn
from heartfelt.errors import InvalidValue
from heartfelt.files import Faults, lines
from heartfelt.terminal import bar, console, printable
from heartfelt.text import language_of

_TOGETHER = 256  # messages listened to at once


@click.command()
@click.argument("what", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a message.")
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True,
              help="So many emotions and plans, the likeliest first.")  # fmt: skip
@click.option(
    "--policy", type=click.Path(path_type=Path), help="Steer the plan by a policy file (see docs/agent.md)."
)
@click.option(
    "--encoder", type=click.Path(path_type=Path), help="Another exported encoder than the shipped one."
)
def emotions(what: str | None, as_json: bool, top: int, policy: Path | None, encoder: Path | None) -> None:
    """Say how a person feels, what a reply should do, and whether this is only small talk.

    WHAT is a message; or a file: text with a message a line, or dialogues as .jsonl or .parquet; or - for standard
    input. Of a dialogue, its last turn is judged in its context.
    """
    from heartfelt.agent.listen import Listener, shipped

    rules = load(policy) if policy else Policy()
    dialogues = _dialogues(what)
    listener = Listener(encoder) if encoder else shipped()
    heard_any = False
    while batch := list(islice(dialogues, _TOGETHER)):
        for dialogue, heard in zip(batch, listener(batch), strict=True):
            replies = sum(turn.speaker != dialogue.speaker for turn in dialogue.turns)
            plan = rules.steer(heard.plan, replies + 1, heard.emotion) if heard.plan else {}
            if as_json:
                told = {name: getattr(heard, name) for name in heard.__struct_fields__}  # defaults too
                fields = {"id": dialogue.id, "text": dialogue.turns[-1].text, **told, "plan": plan}
                click.echo(_json(fields))
            else:
                if heard_any:
                    click.echo()
                _show(dialogue, heard.emotion, plan, heard.neutral, top)
            heard_any = True
    if not heard_any:
        raise InvalidValue("There is nothing to listen to: give a message, a file, or text on standard input")


def _dialogues(what: str | None) -> Iterator[Dialogue]:
    if what is None and sys.stdin.isatty():
        return iter(())
    if what in (None, "-"):
        text = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")
        return _messages(enumerate(text.splitlines(), 1))
    assert what is not None
    if _is_file(what):
        path = Path(what)
        if path.suffix in (".jsonl", ".parquet"):
            return corpora.load(str(path))
        return _messages(_lines_of(path))
    readable = what.encode("utf-8", errors="replace").decode()  # a shell hands over any bytes
    return _messages([(1, readable)])


def _is_file(what: str) -> bool:
    try:
        return Path(what).is_file()
    except (OSError, ValueError):  # a message can be too long for a name, or hold what no name may
        return False


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    faults = Faults()
    yield from lines(path, faults)
    if faults.count:
        print(f"Passed over {faults.count:,} lines, the first is {faults.first[0]}", file=sys.stderr)


def _messages(numbered: Iterable[tuple[int, str]]) -> Iterator[Dialogue]:
    for number, text in numbered:
        if text.strip():
            yield Dialogue(f"line-{number}", (Turn(SPEAKER, text.strip()),), language=language_of(text))


def _json(fields: dict[str, object]) -> str:
    import msgspec

    return msgspec.json.encode(fields).decode()


def _show(
    dialogue: Dialogue, emotion: dict[str, float], plan: dict[str, float], neutral: float, top: int
) -> None:
    out = console()
    text = printable(dialogue.turns[-1].text)
    out.print(text if len(text) <= 300 else f"{text[:300]}…", style="bold", soft_wrap=True)
    for label, chance in sorted(emotion.items(), key=lambda pair: -pair[1])[:top]:
        out.print(f"  {label:<13} {chance:>4.0%}  {bar(chance)}")
    if not emotion:
        out.print(
            "  (the shipped encoder reads English; of Arabic it is only known whether it is small talk)"
        )
    verdict = "small talk: a plain answer will do" if neutral > 0.5 else "wants a listener"
    out.print(f"  {'neutral':<13} {neutral:>4.0%}  {bar(neutral) or '':<24} {verdict}")
    if plan:
        likely = sorted(plan.items(), key=lambda pair: -pair[1])[:top]
        out.print("  a reply could be " + ", ".join(f"{label} {chance:.0%}" for label, chance in likely))
