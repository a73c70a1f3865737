"""What is judged: items, from systems' outputs files or from a file of your own, cut into batches by the seed."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from heartfelt.dialogue import Value
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.evaluation.outputs import Output, read
from heartfelt.files import Faults, lines
from heartfelt.study.file import HUMAN, Attention, Study


class Item(Value, frozen=True):
    """A dialogue and replies to its last turn."""

    name: str
    context: tuple[str, ...]
    replies: dict[str, str]  # system → what it said
    labels: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # system → the intent or emotion that its reply expresses
    emotion: str | None = None  # how the speaker felt
    group: str = ""  # the test set or condition that it belongs to
    reference: str | None = None  # what the human said; hidden among the replies where there is a bonus
    dialogue: str = ""  # which turn it was made of
    expect: dict[str, Any] = msgspec.field(
        default_factory=dict
    )  # of an attention item: reply → the answer that shows attention

    def __post_init__(self) -> None:
        if not self.context or not all(text.strip() for text in self.context):
            raise InvalidValue(f"item {self.name}: a turn of the context has no text")
        if not self.replies or not all(text.strip() for text in self.replies.values()):
            raise InvalidValue(f"item {self.name}: a reply has no text")


def items_of(study: Study, folder: Path) -> list[Item]:
    """Every item of a rating study, paths being relative to the study file's folder."""
    turns = _own(folder / study.items, study) if study.items else _answered(study, folder)
    if study.bonus and sum(one.reference is not None for one in turns) < study.bonus:
        raise BadData("bonus: too few of the dialogues have a reference, which is the reply that is hidden")
    return [item for turn in turns for item in _shown(study, turn)]


def _own(path: Path, study: Study) -> list[Item]:
    if not path.is_file():
        raise MissingData(f"There are no items at {path}")
    found: dict[str, Item] = {}
    faults = Faults(strict=True)
    for number, line in lines(path, faults):
        if not line.strip():
            continue
        try:
            item = Item.from_json(line)
            if item.name in found:
                raise InvalidValue(f"item {item.name} came before")
        except InvalidValue as problem:
            raise BadData(f"{path}:{number}: {problem}") from None
        found[item.name] = msgspec.structs.replace(
            item, context=item.context[-study.context :], dialogue=item.name
        )
    if not found:
        raise BadData(f"There are no items in {path}")
    return _drawn(list(found.values()), study)


def _answered(study: Study, folder: Path) -> list[Item]:
    """The turns that every system answered."""
    systems = {name: read(folder / path) for name, path in study.systems.items()}
    rows = {name: dict(zip(outputs.keys, outputs.rows, strict=True)) for name, outputs in systems.items()}
    first = next(iter(rows.values()))
    if lacking := [name for name, outputs in systems.items() if "reply" not in outputs.fields]:
        raise BadData(f"The outputs of {lacking[0]} have no replies")
    shared = [key for key in first if all(key in own for own in rows.values())]
    if not shared:
        raise BadData("There is no turn that all systems answered")
    if any(not first[key].context for key in shared):
        raise BadData(
            "The outputs have no context to show: heartfelt outputs import … --corpus completes them"
        )
    group = next(iter(systems.values())).header.corpus
    return _drawn(
        [_turn(study, {name: own[key] for name, own in rows.items()}, group) for key in shared], study
    )


def _turn(study: Study, rows: dict[str, Output], group: str) -> Item:
    some = next(iter(rows.values()))
    replies = {name: row.reply or "" for name, row in rows.items()}
    labels = {name: row.reply_label for name, row in rows.items() if row.reply_label}
    if study.human:
        if some.reference is None:
            raise BadData(f"human: true, but the outputs have no reference for {some.name}")
        replies[HUMAN] = some.reference
        if some.reference_label:
            labels[HUMAN] = some.reference_label
    name = f"{some.dialogue}#{some.turn}"
    return Item(name, some.context[-study.context :], replies, labels, some.gold, group, some.reference, name)


def _drawn(turns: list[Item], study: Study) -> list[Item]:
    if study.turns is None or study.turns >= len(turns):
        return turns
    return random.Random(f"turns {study.seed}").sample(turns, study.turns)


def _shown(study: Study, turn: Item) -> Iterator[Item]:
    """The items that one turn becomes: a reply, all replies, or pairs of them."""
    replace = msgspec.structs.replace
    if study.kind == "likert" and not study.together:
        for system, text in turn.replies.items():
            yield replace(turn, name=f"{turn.name}|{system}", replies={system: text})
    elif study.kind == "choose":
        for a, b in combinations(turn.replies, 2):
            yield replace(turn, name=f"{turn.name}|{a}|{b}", replies={a: turn.replies[a], b: turn.replies[b]})
    else:
        yield turn


def attention_items(study: Study) -> list[Item]:
    return [_attention(number, one) for number, one in enumerate(study.attention)]


def _attention(number: int, one: Attention) -> Item:
    replies = {str(i): text for i, text in enumerate(one.replies)}
    expect = {str(i): value for i, value in enumerate(one.expect) if value is not None}
    return Item(f"attention {number}", one.context, replies, expect=expect)


def batches_of(study: Study, items: Sequence[Item]) -> list[list[Item]]:
    """Items in batches: shuffled, and a dialogue not twice in a batch where that can be had."""
    left = list(items)
    random.Random(f"batches {study.seed}").shuffle(left)
    count = -(-len(left) // study.batches.size)
    batches: list[list[Item]] = [[] for _ in range(count)]
    seen: list[set[str]] = [set() for _ in range(count)]
    if study.bonus:  # every batch needs its share of dialogues with a reference
        left.sort(key=lambda item: item.reference is None)
    for item in left:
        open_ = [i for i in range(count) if len(batches[i]) < study.batches.size]
        place = min(open_, key=lambda i: (item.dialogue in seen[i], len(batches[i])))
        batches[place].append(item)
        seen[place].add(item.dialogue)
    return batches
