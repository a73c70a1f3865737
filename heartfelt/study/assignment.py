"""Batches: who gets which, what they answer, when one goes back to the pool, and the code at the end.

An item has exactly its quota of finished raters: a batch is in so many hands at once as it still lacks, and one that
nobody has touched for the study's minutes is free again. Whoever comes back late goes on, unless it was given away.
"""

import json
import random
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection, RowMapping

from heartfelt.errors import InvalidValue
from heartfelt.serving.problems import Refused
from heartfelt.study.file import HUMAN
from heartfelt.study.items import Item
from heartfelt.study.migrations import ANSWERS, WORK
from heartfelt.study.store import Store
from heartfelt.study.tasks import TASKS, earns_bonus

Json = dict[str, Any]


def new_code() -> str:
    """What a crowd worker pastes into their platform."""
    code = secrets.token_hex(4).upper()
    return f"HF-{code[:4]}-{code[4:]}"


def works_of(connection: Connection, store: Store, rater: str) -> list[RowMapping]:
    mine = (WORK.c.study == store.study.name) & (WORK.c.rater == rater)
    return list(connection.execute(select(WORK).where(mine).order_by(WORK.c.started)).mappings())


def _taken(connection: Connection, store: Store) -> Counter[int]:
    """Places of each batch that are finished or in somebody's hands."""
    fresh = store.clock() - 60 * store.study.batches.minutes
    held = WORK.c.finished.is_not(None) | (WORK.c.touched > fresh)
    rows = connection.execute(select(WORK.c.batch).where((WORK.c.study == store.study.name) & held))
    return Counter(row.batch for row in rows)


def _expired(store: Store, work: RowMapping) -> bool:
    return bool(
        work["finished"] is None and work["touched"] <= store.clock() - 60 * store.study.batches.minutes
    )


def claim(store: Store, token: str) -> str | None:
    """The batch that a rater works on, or the next one; None where there is none for them."""
    with store.writing() as connection:
        rater = store.rater(connection, token)["id"]
        works = works_of(connection, store, rater)
        taken = _taken(connection, store)
        quota = store.study.batches.raters
        for work in works:  # their own, begun and not given away
            if work["finished"] is None and (not _expired(store, work) or taken[work["batch"]] < quota):
                _touch(connection, store, work["id"])
                return str(work["id"])
        if sum(work["finished"] is not None for work in works) >= store.study.batches.most:
            return None
        had = {work["batch"] for work in works}
        free = [batch for batch in store.batches if taken[batch] < quota and batch not in had]
        if not free:
            return None
        batch = max(free, key=lambda one: (taken[one], -one))  # so that items are complete early
        answered = {page["item"] for work in works for page in json.loads(work["pages"])}
        pages = pages_for(store, rater, batch, answered)
        now = store.clock()
        name = f"w{secrets.token_hex(8)}"
        row = {
            "id": name,
            "study": store.study.name,
            "rater": rater,
            "batch": batch,
            "started": now,
            "touched": now,
        }
        connection.execute(insert(WORK).values(pages=json.dumps(pages, ensure_ascii=False), **row))
        return name


def pages_for(store: Store, rater: str, batch: int, seen: set[int]) -> list[Json]:
    """A batch as one rater sees it: items and replies in an order of their own, which is what is logged."""
    chance = random.Random(f"{store.secret.hex()} {rater} {batch}")
    numbers = list(store.batches[batch])
    chance.shuffle(numbers)
    hidden = [n for n in numbers if store.items[n].reference and HUMAN not in store.items[n].replies]
    bonus = set(chance.sample(hidden, min(store.study.bonus, len(hidden))))
    unseen = [n for n in store.attention if n not in seen]
    for number in chance.sample(unseen, min(store.study.attention_each, len(unseen))):
        numbers.insert(chance.randint(1, len(numbers)), number)
    pages = []
    for number in numbers:
        order = [*store.items[number].replies, *([HUMAN] if number in bonus else [])]
        chance.shuffle(order)
        pages.append({"item": number, "order": order, "bonus": number in bonus})
    return pages


def shown(store: Store, page: Json) -> Json:
    """What a rater receives of a page: texts in their order, and no name of anything."""
    item = store.items[page["item"]]
    replies = [_text(item, system) for system in page["order"]]
    return {"context": list(item.context), "replies": replies, "bonus": page["bonus"]}


def _text(item: Item, system: str) -> str:
    return item.replies.get(system, item.reference or "")


def current(connection: Connection, store: Store, works: Sequence[RowMapping]) -> Json | None:
    """The batch in hand, with the answers so far, as the page shows it."""
    taken: Counter[int] | None = None
    for work in works:
        if work["finished"] is not None:
            continue
        if _expired(store, work):
            taken = _taken(connection, store) if taken is None else taken
            if taken[work["batch"]] >= store.study.batches.raters:
                continue
        pages = json.loads(work["pages"])
        answers: list[Json | None] = [None] * len(pages)
        for row in connection.execute(select(ANSWERS).where(ANSWERS.c.work == work["id"])).mappings():
            value = TASKS[store.study.kind].show(pages[row["place"]]["order"], json.loads(row["value"]))
            given = {"value": value, "revision": row["revision"]}
            if pages[row["place"]]["bonus"]:
                given["bonus"] = earns_bonus(json.loads(row["first"]))
            answers[row["place"]] = given
        return {"work": work["id"], "pages": [shown(store, page) for page in pages], "answers": answers}
    return None


def answer(
    store: Store, token: str, work: str, place: int, revision: int, posted: Any, seconds: float
) -> Json:
    """Save an answer; it is on disk when this returns. The same post again changes nothing; an older one is refused."""
    with store.writing() as connection:
        found = _mine(connection, store, token, work)
        pages = json.loads(found["pages"])
        if not 0 <= place < len(pages):
            raise InvalidValue(f"This batch has {len(pages)} pages")
        order = pages[place]["order"]
        value = json.dumps(TASKS[store.study.kind].read(store.study, order, posted), ensure_ascii=False)
        key = (ANSWERS.c.work == work) & (ANSWERS.c.place == place)
        known = connection.execute(select(ANSWERS).where(key)).mappings().first()
        if not (known and known["revision"] == revision and known["value"] == value):
            _open(connection, store, found)
            if known and known["revision"] >= revision:
                raise Refused(
                    409, "A newer answer to this page is saved; load the page again", "older_answer"
                )
            now = store.clock()
            row = {"value": value, "revision": revision, "changed": now, "seconds": seconds}
            if known:
                connection.execute(update(ANSWERS).where(key).values(**row))
            else:
                row |= {"first": value, "created": now, "item": pages[place]["item"]}
                connection.execute(insert(ANSWERS).values(work=work, place=place, **row))
            _touch(connection, store, work)
        saved: Json = {"saved": True, "revision": revision}
        if pages[place]["bonus"]:
            saved["bonus"] = earns_bonus(json.loads(known["first"] if known else value))
    return saved


def finish(store: Store, token: str, work: str) -> str:
    """The completion code of a batch whose pages are all answered; the same one, asked again."""
    with store.writing() as connection:
        found = _mine(connection, store, token, work)
        if found["finished"] is not None:
            return str(found["code"])
        _open(connection, store, found)
        done = {
            row.place for row in connection.execute(select(ANSWERS.c.place).where(ANSWERS.c.work == work))
        }
        if missing := sorted(set(range(len(json.loads(found["pages"])))) - done):
            raise Refused(409, f"Page {missing[0] + 1} has no answer yet", "not_answered")
        code, now = new_code(), store.clock()
        connection.execute(update(WORK).where(WORK.c.id == work).values(finished=now, touched=now, code=code))
    return code


def _mine(connection: Connection, store: Store, token: str, work: str) -> RowMapping:
    rater = store.rater(connection, token)["id"]
    mine = (WORK.c.id == work) & (WORK.c.rater == rater)
    if found := connection.execute(select(WORK).where(mine)).mappings().first():
        return found
    raise Refused(404, "This batch is not yours", "unknown_batch")


def _open(connection: Connection, store: Store, work: RowMapping) -> None:
    if work["finished"] is not None:
        raise Refused(409, "This batch is finished; its answers stay as they are", "finished")
    if _expired(store, work) and _taken(connection, store)[work["batch"]] >= store.study.batches.raters:
        raise Refused(409, "The time for this batch is over, and somebody else has it now", "given_away")


def _touch(connection: Connection, store: Store, work: str) -> None:
    connection.execute(update(WORK).where(WORK.c.id == work).values(touched=store.clock()))
