"""What raters have done, read from the store as values: the report, the status and the exports begin here."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from heartfelt.study.items import Item
from heartfelt.study.migrations import ANSWERS, RATERS, WORK
from heartfelt.study.store import Store
from heartfelt.study.tasks import TASKS, earns_bonus


@dataclass(frozen=True)
class Judged:
    """One page's answer."""

    item: Item
    value: Any  # by system
    first: Any  # what was answered first; bonus points go by it
    order: tuple[str, ...]  # of the systems, as the rater saw them
    bonus: bool
    attention: bool
    seconds: float


@dataclass(frozen=True)
class Work:
    """A batch in a rater's hands."""

    id: str
    rater: str
    worker: str | None
    batch: int
    started: float
    touched: float
    finished: float | None
    code: str | None
    answers: tuple[Judged, ...]
    asked: int  # checks in it: bonus replies and attention items
    passed: int

    @property
    def minutes(self) -> float:
        return ((self.finished or self.touched) - self.started) / 60


def works(store: Store) -> list[Work]:
    """Every batch that anybody began, in the order of beginning."""
    name, attention = store.study.name, set(store.attention)
    with store.reading() as connection:
        workers = {
            row.id: row.worker for row in connection.execute(select(RATERS).where(RATERS.c.study == name))
        }
        rows = (
            connection.execute(select(WORK).where(WORK.c.study == name).order_by(WORK.c.started))
            .mappings()
            .all()
        )
        joined = select(ANSWERS).join(WORK, WORK.c.id == ANSWERS.c.work).where(WORK.c.study == name)
        given: dict[str, dict[int, Any]] = {}
        for answer in connection.execute(joined).mappings():
            given.setdefault(answer["work"], {})[answer["place"]] = answer
    found = []
    for row in rows:
        pages = json.loads(row["pages"])
        judged = []
        for place, answer in sorted(given.get(row["id"], {}).items()):
            page, item = pages[place], store.items[answer["item"]]
            judged.append(
                Judged(
                    item, json.loads(answer["value"]), json.loads(answer["first"]), tuple(page["order"]), page["bonus"],
                    answer["item"] in attention, answer["seconds"],
                )
            )  # fmt: skip
        asked = sum(page["bonus"] or page["item"] in attention for page in pages)
        passed = sum(_passes(store, one) for one in judged)
        found.append(
            Work(
                row["id"], row["rater"], workers.get(row["rater"]), row["batch"], row["started"], row["touched"],
                row["finished"], row["code"], tuple(judged), asked, passed,
            )
        )  # fmt: skip
    return found


def _passes(store: Store, judged: Judged) -> bool:
    if judged.attention:
        return TASKS[store.study.kind].pays_attention(judged.item, judged.value)
    return judged.bonus and earns_bonus(judged.first)


def rows(store: Store) -> Iterator[dict[str, Any]]:
    """Raw answers, one a line: what `export --to` writes. Raters by their ids here, not by the platform's."""
    for work in works(store):
        for answer in work.answers:
            yield {
                "rater": work.rater, "batch": work.batch, "finished": work.finished is not None,
                "item": answer.item.name, "group": answer.item.group, "emotion": answer.item.emotion,
                "order": list(answer.order), "answer": answer.value, "first": answer.first, "bonus": answer.bonus,
                "attention": answer.attention, "seconds": round(answer.seconds, 1),
            }  # fmt: skip
