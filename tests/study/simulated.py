"""Studies whose truth is known: raters made of numbers, some of them bad on purpose."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from heartfelt.study.items import Item
from heartfelt.study.records import Judged, Work

QUALITY = {"fine": 0.75, "fair": 0.45, "poor": 0.1}  # how good each system's replies are, 0 to 1
Judge = Callable[[random.Random, float], Any]


def items(count: int, systems: Sequence[str] = tuple(QUALITY)) -> list[Item]:
    return [
        Item(
            f"d{i}", (f"Story {i}.",), {name: f"{name} says {i}" for name in systems},
            dict.fromkeys(systems, ("questioning", "consoling")[i % 2]), ("sad", "proud", "angry")[i % 3],
            ("os", "ed")[i % 2], f"The person on {i}", f"d{i}",
        )
        for i in range(count)
    ]  # fmt: skip


def area(chance: random.Random, quality: float) -> str:
    felt = quality + chance.gauss(0, 0.25)
    return "good" if felt > 0.6 else "okay" if felt > 0.3 else "bad"


def score(chance: random.Random, quality: float) -> int:
    return min(5, max(1, round(1 + 4 * (quality + chance.gauss(0, 0.2)))))


def study_of(
    kind: str, found: Sequence[Item], seed: int, raters: int = 4, size: int = 10, bad: dict[int, str] | None = None,
    bonus: int = 0, pool: int = 12,
) -> list[Work]:  # fmt: skip
    """Every batch judged by `raters` of a pool; `bad` says how some of the pool misbehave."""
    chance = random.Random(seed)
    lenient = [chance.gauss(0, 0.05) for _ in range(pool)]
    easy = {item.name: chance.gauss(0, 0.08) for item in found}
    works = []
    for batch, start in enumerate(range(0, len(found), size)):
        part = found[start : start + size]
        for rater in chance.sample(range(pool), raters):
            how = (bad or {}).get(rater, "")
            works.append(
                _work(
                    kind,
                    chance,
                    part,
                    batch,
                    rater,
                    how,
                    bonus,
                    lambda i, s, r=rater: QUALITY[s] + easy[i.name] + lenient[r],
                )
            )
    return works


def _work(
    kind: str, chance: random.Random, part: Sequence[Item], batch: int, rater: int, how: str, bonus: int,
    quality: Callable[[Item, str], float],
) -> Work:  # fmt: skip
    judged = []
    points = 0
    for place, item in enumerate(part):
        gold = kind == "sort" and place < bonus
        order = [*item.replies, *(["human"] if gold else [])]
        chance.shuffle(order)
        value = _value(kind, chance, item, order, how, quality)
        points += gold and value["areas"]["human"] != "bad"
        judged.append(Judged(item, value, value, tuple(order), gold, False, 5.0))
    minutes = 2.0 if how == "hasty" else 14.0
    return Work(
        f"w{batch}-{rater}",
        f"r{rater}",
        None,
        batch,
        0.0,
        60 * minutes,
        60 * minutes,
        "HF",
        tuple(judged),
        bonus,
        points,
    )


def _value(
    kind: str,
    chance: random.Random,
    item: Item,
    order: list[str],
    how: str,
    quality: Callable[[Item, str], float],
) -> Any:
    def truth(system: str) -> float:
        return 0.9 if system == "human" else quality(item, system)

    if kind == "likert":
        return {"scores": {s: {"empathy": 3 if how == "same" else score(chance, truth(s))} for s in order}}
    if kind == "choose":
        a, b = order
        gap = truth(a) - truth(b) + chance.gauss(0, 0.3)
        return {"winner": ":tie" if abs(gap) < 0.05 else a if gap > 0 else b}
    areas = {s: area(chance, truth(s)) for s in order}
    if how == "same":
        areas = dict.fromkeys(order, "okay")
    if how == "hasty":
        areas = {s: chance.choice(("good", "okay", "bad")) for s in order} | (
            {"human": "bad"} if "human" in order else {}
        )
    return {"areas": areas}
