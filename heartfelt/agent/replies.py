"""An agent answers a corpus: every listener turn of a split, as an outputs file that the evaluator scores.

What is answered is kept beside the file as it comes: who stops it and starts it again loses nothing.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import msgspec

from heartfelt.agent.agent import Agent
from heartfelt.dialogue import Dialogue, Example, Turn, examples
from heartfelt.errors import BadData, InvalidValue
from heartfelt.evaluation.outputs import Header, Output, Outputs, write
from heartfelt.files import writing

_TOGETHER = 64  # turns handed to the workers at once


def answer(
    agent: Agent,
    dialogues: Iterable[Dialogue],
    header: Header,
    to: Path,
    workers: int = 4,
    step: Callable[[str], None] = lambda _: None,
) -> Outputs:
    """The agent's reply to every listener turn, given what was said before it, as people said it."""
    wanted = [example for dialogue in dialogues for example in examples(dialogue, window=None)]
    if not wanted:
        raise InvalidValue("There is no turn to answer")
    part = to.with_name(f".{to.name}.part")
    done = _answered(part, header)
    left = (example for example in wanted if (example.dialogue.id, example.index) not in done)
    with ThreadPoolExecutor(workers) as pool, part.open("a", encoding="utf-8") as file:
        if part.stat().st_size == 0:
            file.write(header.to_json() + "\n")
        while batch := list(islice(left, _TOGETHER)):
            for row in pool.map(lambda example: answered(agent, example), batch):
                done[row.dialogue, row.turn] = row
                file.write(row.to_json() + "\n")
                file.flush()
                step(f"{len(done):,} of {len(wanted):,}")
    outputs = Outputs(header, tuple(done[example.dialogue.id, example.index] for example in wanted))
    write(to, outputs)
    part.unlink()
    return outputs


def answered(agent: Agent, example: Example) -> Output:
    # Nothing that people labelled: only what was said.
    turns = tuple(Turn(turn.speaker, turn.text) for turn in example.context)
    before = msgspec.structs.replace(example.dialogue, turns=turns, emotion=None, situation=None)
    reply = agent.reply(before)
    felt = reply.emotion or agent.listener([before])[0].emotion  # the guard answers without
    return Output(
        example.dialogue.id,
        example.index,
        context=tuple(turn.text for turn in example.context),
        reference=example.response.text,
        reply=reply.text,
        gold=example.dialogue.emotion,
        emotion=felt or None,
    )


def _answered(part: Path, header: Header) -> dict[tuple[str, int], Output]:
    """What an interrupted run has answered; a last line that is cut off is not among it."""
    if not part.exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        return {}
    first, *rows = _whole_lines(part) or [header.to_json()]
    if first != header.to_json():
        raise BadData(
            f"{part} holds the begun answers of another system; remove it, or name another file (--to)"
        )
    found = [Output.from_json(row) for row in rows]
    with writing(part) as file:
        file.writelines(f"{line}\n" for line in (first, *rows))
    return {(row.dialogue, row.turn): row for row in found}


def _whole_lines(part: Path) -> list[str]:
    # Not splitlines, which also cuts at marks that a reply may hold. What follows the last line's end is cut off.
    return part.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
