"""What each turn expresses: 41 labels, and emotionality, the sum over the 32 emotions (meed2, 3.2).

A dialogue's emotionality is the mean of its turns'. `top` finds the k most emotional ones in the memory of k.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from heartfelt.agent.encoder import Encoder
from heartfelt.agent.listen import SHIPPED
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue
from heartfelt.labels import EMOTIONS, LABELS

ENCODER = SHIPPED / "encoder"
_TURNS = 2048  # labelled together; within these, like lengths share a batch
_LONGEST = 600  # characters of a turn that are read


@cache
def encoder(folder: Path = ENCODER) -> Encoder:
    """The labeller, loaded once a process."""
    found = Encoder(folder)
    if tuple(found.card.heads.get("label", ())) != LABELS:
        raise InvalidValue(
            f"the encoder in {folder} does not know the {len(LABELS)} labels (its head 'label')"
        )
    return found


def labelled(dialogues: Sequence[Dialogue], folder: Path = ENCODER) -> list[Dialogue]:
    """Dialogues with a label on every turn, and emotionality in their meta.

    The encoder is int8: its chances hang a little on the batch. So the same dialogues, in the same order, must come
    together for the same result, as a shard's do.
    """
    texts = [turn.text[:_LONGEST] for dialogue in dialogues for turn in dialogue.turns]
    chances = np.concatenate([_chances(texts[i : i + _TURNS], folder) for i in range(0, len(texts), _TURNS)] or [
        np.zeros((0, len(LABELS)), np.float32)
    ])  # fmt: skip
    best = chances.argmax(axis=1)
    emotional = chances[:, : len(EMOTIONS)].sum(axis=1)
    made, place = [], 0
    for dialogue in dialogues:
        part = slice(place, place + len(dialogue.turns))
        place = part.stop
        turns = tuple(
            msgspec.structs.replace(turn, label=LABELS[label])
            for turn, label in zip(dialogue.turns, best[part].tolist(), strict=True)
        )
        by_turn = [round(float(value), 3) for value in emotional[part]]
        sure = [round(float(chances[i, best[i]]), 3) for i in range(part.start, part.stop)]
        meta = {
            **dialogue.meta,
            "emotionality": round(sum(by_turn) / len(by_turn), 4),
            "by_turn": by_turn,
            "chances": sure,
        }
        made.append(msgspec.structs.replace(dialogue, turns=turns, meta=meta))
    return made


def _chances(texts: Sequence[str], folder: Path) -> NDArray[np.float32]:
    """(texts, 41). Equal texts are read once: films say "Yes." a lot."""
    unique = sorted(set(texts))
    found, _ = encoder(folder)([[text] for text in unique])
    row = {text: i for i, text in enumerate(unique)}
    return np.asarray(found["label"][[row[text] for text in texts]], np.float32)


def top(values: Iterable[float], k: int) -> list[int]:
    """The places of the k highest values, in order; of equal ones the earlier. Holds k of them, however many come."""
    held: list[tuple[float, int]] = []
    for place, value in enumerate(values):
        if len(held) < k:
            heapq.heappush(held, (value, -place))
        elif k and (value, -place) > held[0]:
            heapq.heapreplace(held, (value, -place))
    return sorted(-place for _, place in held)


def streamed(paths: Iterable[Path]) -> Iterator[float]:
    """Numbers in .npy files, one after the other, a file at a time."""
    for path in paths:
        yield from np.load(path).tolist()
