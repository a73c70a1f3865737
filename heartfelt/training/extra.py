"""A recipe's `extra`: labelled turns of your own that join the train split; nothing of valid or test comes with them.

>>> added = read(["balanced.jsonl"], find("utterances"), splits)
>>> added.leaked
20
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from heartfelt import corpora
from heartfelt.errors import BadData, HeartfeltError
from heartfelt.text import same_key
from heartfelt.training.tasks import SPLITS, TASKS, Item, Task

HEAD = "label"  # what the extra turns teach


@dataclass(frozen=True)
class Extra:
    items: tuple[Item, ...]
    leaked: int  # left out: their text is that of a valid or test item, or one that the task shuns
    foreign: int  # left out: their label is none of the task's

    def facts(self) -> dict[str, int]:
        """For results.json: how much was added, and what was left out."""
        return {**asdict(self), "items": len(self.items)}


def problems(names: Sequence[str], task: Task) -> list[str]:
    """What can be known to be wrong before anything is read."""
    found = []
    if names and HEAD not in task.heads:
        able = ", ".join(other.name for other in TASKS.values() if HEAD in other.heads)
        found.append(
            f"extra gives labelled turns to the head {HEAD}, and the task {task.name} has only "
            f"{', '.join(task.heads)}; tasks with {HEAD} are {able}"
        )
    for name in names:
        try:
            corpora.find(name)
        except HeartfeltError as problem:
            found.append(f"extra: {problem}")
    return found


def read(
    names: Sequence[str], task: Task, splits: Mapping[str, Sequence[Item]], data: Path | None = None
) -> Extra:
    """The labelled turns of files or corpora, as items of `task`. Of a corpus with splits, its train split.

    A turn whose text is that of an item in valid or test, or one that the task shuns, is dropped: case, punctuation
    and spacing do not count.
    """
    held_out = {same_key(item.text) for split in SPLITS[1:] for item in splits[split]}
    if task.shunned is not None:
        held_out |= task.shunned(data)
    items: list[Item] = []
    leaked = foreign = 0
    for name in names:
        split = "train" if "train" in corpora.find(name).splits else None
        for dialogue in corpora.load(name, split, data=data):
            for index, turn in enumerate(dialogue.turns):
                if turn.label is None:
                    continue
                if turn.label not in task.heads[HEAD]:
                    foreign += 1
                elif same_key(turn.text) in held_out:
                    leaked += 1
                else:
                    items.append(Item(dialogue.id, index, (turn.text,), {HEAD: turn.label}))
    if not items:
        raise BadData(
            f"extra has nothing to learn from: of the labelled turns of {', '.join(names)}, {leaked:,} are in valid "
            f"or test and {foreign:,} have a label that {task.name} does not know"
        )
    return Extra(tuple(items), leaked, foreign)
