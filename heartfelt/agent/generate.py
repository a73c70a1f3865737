"""A run answers a corpus, many turns at once: it writes, and says how likely it finds what people said; or it finds."""

from collections.abc import Callable, Sequence

import msgspec

from heartfelt.agent.answering import AnswererRun, Asked
from heartfelt.agent.generator import Decoding
from heartfelt.agent.listen import shipped
from heartfelt.agent.retriever import Retriever
from heartfelt.dialogue import Dialogue, Example, examples
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.labels import LABELS

TOGETHER = 64  # contexts that are answered at once
PLANNED, GOLD = "planned", "gold"  # what replies should do: by the shipped planner, or what people did


def generate(
    model: AnswererRun,
    dialogues: Sequence[Dialogue],
    header: Header,
    decoding: Decoding,
    plan: str = PLANNED,
    step: Callable[[str], None] = lambda _: None,
) -> Outputs:
    """Every listener turn answered. plan: PLANNED, GOLD, or one of the 41 labels, for a model that is told."""
    if plan not in (PLANNED, GOLD, *LABELS):
        raise UnknownName("plan", plan, (PLANNED, GOLD, *LABELS))
    wanted = _wanted(dialogues)
    asked = [
        Asked(example.context, chosen, example.response.text)
        for example, chosen in zip(wanted, _plans(plan, wanted), strict=True)
    ]
    replies = {}
    for place, candidates in model.write(asked, decoding):
        replies[place] = candidates[0].text
        step(f"{len(replies):,} of {len(wanted):,}")
    # People's replies are told by what people did.
    scored = dict(
        model.score([one._replace(plan=e.response.label) for one, e in zip(asked, wanted, strict=True)])
    )
    rows = [
        msgspec.structs.replace(
            _answered(example, replies[place]),
            emotion=scored[place].emotion or None,
            log_likelihood=scored[place].log_likelihood,
            tokens=scored[place].tokens,
        )
        for place, example in enumerate(wanted)
    ]
    return Outputs(header, tuple(rows))


def retrieve(
    pool: Retriever,
    dialogues: Sequence[Dialogue],
    header: Header,
    step: Callable[[str], None] = lambda _: None,
) -> Outputs:
    """Every listener turn answered by the reply of the pool that fits best; nothing is steered, nothing kept back."""
    wanted, rows = _wanted(dialogues), []
    for start in range(0, len(wanted), TOGETHER):
        part = wanted[start : start + TOGETHER]
        for example, found in zip(part, pool.find([e.context for e in part], 1), strict=True):
            rows.append(_answered(example, found[0].text))
        step(f"{len(rows):,} of {len(wanted):,}")
    return Outputs(header, tuple(rows))


def _wanted(dialogues: Sequence[Dialogue]) -> list[Example]:
    wanted = [example for dialogue in dialogues for example in examples(dialogue, window=None)]
    if not wanted:
        raise InvalidValue("There is no turn to answer")
    return wanted


def _answered(example: Example, reply: str) -> Output:
    return Output(
        example.dialogue.id,
        example.index,
        context=tuple(turn.text for turn in example.context),
        reference=example.response.text,
        reply=reply,
        gold=example.dialogue.emotion,
    )


def _plans(plan: str, wanted: Sequence[Example]) -> list[str | None]:
    if plan == GOLD:
        return [example.response.label for example in wanted]
    if plan != PLANNED:
        return [plan] * len(wanted)
    listener, found = shipped(), []
    for start in range(0, len(wanted), TOGETHER):
        part = wanted[start : start + TOGETHER]
        befores = [msgspec.structs.replace(e.dialogue, turns=e.context, emotion=None) for e in part]
        for heard in listener(befores):
            chances = listener.plan(heard)
            found.append(max(chances, key=lambda label: chances[label]) if chances else None)
    return found
