"""Collecting dialogues as EmpatheticDialogues was collected: feelings offered, situations, talks, and the corpus.

Whoever comes first time chooses among the emotions least chosen so far by all; later, among those that they chose
least themselves (rashkin2019, section 3). Every turn is on disk before the other one sees it.
"""

import json
import random
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlalchemy import insert, or_, select, update
from sqlalchemy.engine import Connection, RowMapping

from heartfelt.agent.private import mask
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import InvalidValue
from heartfelt.serving.problems import Refused
from heartfelt.study.assignment import new_code
from heartfelt.study.migrations import SAID, TALKS, VISITS
from heartfelt.study.store import Store
from heartfelt.text import readable

Json = dict[str, Any]
AGENT = "agent"  # in the place of a visit, where an agent listens
COMPLETE, LEFT, LATE = "complete", "left", "late"
SITUATION = 1000  # characters
MESSAGE = 1000


def state(connection: Connection, store: Store, rater: RowMapping) -> Json:
    """Where somebody stands who takes part."""
    visits = visits_of(connection, store, rater["id"])
    now = visits[-1] if visits and visits[-1]["finished"] is None else None
    if now is not None:
        if now["emotion"] is None:
            return {"stage": "feeling", "offered": json.loads(now["offered"])}
        if now["situation"] is None:
            return {"stage": "situation", "emotion": now["emotion"]}
        return {"stage": "live"}
    codes = [visit["code"] for visit in visits if visit["code"]]
    if codes and store.study.survey and rater["surveyed"] is None:
        return {"stage": "survey"}
    more = len(visits) < store.study.batches.most
    return {"stage": "done" if codes else "full", "codes": codes, "lost": False, "more": more}


def visits_of(connection: Connection, store: Store, rater: str) -> list[RowMapping]:
    mine = (VISITS.c.study == store.study.name) & (VISITS.c.rater == rater)
    return list(connection.execute(select(VISITS).where(mine).order_by(VISITS.c.created)).mappings())


def visit(store: Store, token: str) -> None:
    """Begin to take part, if not begun."""
    with store.writing() as connection:
        rater = store.rater(connection, token)["id"]
        visits = visits_of(connection, store, rater)
        if visits and visits[-1]["finished"] is None:
            return
        if len(visits) >= store.study.batches.most:
            raise Refused(409, "You have taken part as often as one may; thank you", "enough")
        offered = _offered(connection, store, [one["emotion"] for one in visits if one["emotion"]])
        row = {
            "id": f"v{secrets.token_hex(8)}",
            "study": store.study.name,
            "rater": rater,
            "created": store.clock(),
        }
        connection.execute(insert(VISITS).values(offered=json.dumps(offered), **row))


def _offered(connection: Connection, store: Store, own: list[str]) -> list[str]:
    """The least used emotions; equals by lot."""
    chosen = select(VISITS.c.emotion).where(
        (VISITS.c.study == store.study.name) & VISITS.c.emotion.is_not(None)
    )
    used, mine = Counter(row.emotion for row in connection.execute(chosen)), Counter(own)
    emotions = sorted(set(store.study.collect.emotions))
    random.SystemRandom().shuffle(emotions)
    return sorted(emotions, key=lambda name: (mine[name], used[name]))[: store.study.collect.offered]


def feel(store: Store, token: str, emotion: str) -> None:
    with store.writing() as connection:
        now = open_visit(connection, store, token)
        if now["emotion"] == emotion:
            return
        if now["emotion"] is not None or emotion not in json.loads(now["offered"]):
            raise InvalidValue("Choose one of the feelings that are offered, once")
        connection.execute(update(VISITS).where(VISITS.c.id == now["id"]).values(emotion=emotion))


def situate(store: Store, token: str, text: str) -> None:
    text = readable(text).strip()
    if not 0 < len(text) <= SITUATION:
        raise InvalidValue(f"A situation has 1 to {SITUATION} characters")
    with store.writing() as connection:
        now = open_visit(connection, store, token)
        if now["emotion"] is None:
            raise Refused(409, "The feeling comes first", "no_feeling")
        if now["situation"] is None:
            connection.execute(update(VISITS).where(VISITS.c.id == now["id"]).values(situation=text))


def open_visit(connection: Connection, store: Store, token: str) -> RowMapping:
    visits = visits_of(connection, store, store.rater(connection, token)["id"])
    if visits and visits[-1]["finished"] is None:
        return visits[-1]
    raise Refused(409, "This visit is over", "over")


def end_visit(store: Store, visit: str, paid: bool) -> None:
    """Over: with a code where it was worth one. Once."""
    with store.writing() as connection:
        open_ = (VISITS.c.id == visit) & VISITS.c.finished.is_(None)
        values = {"finished": store.clock(), "code": new_code() if paid else None}
        connection.execute(update(VISITS).where(open_).values(**values))


# -- talks -----------------------------------------------------------------------------------------------------------


def start_talk(store: Store, pair: str, number: int, speaker: str, listener: str) -> str:
    name = f"t{secrets.token_hex(8)}"
    row = {"id": name, "study": store.study.name, "pair": pair, "number": number, "started": store.clock()}
    with store.writing() as connection:
        connection.execute(insert(TALKS).values(speaker=speaker, listener=listener, **row))
    return name


def say(store: Store, talk: str, place: int, visit: str, post: str, text: str) -> None:
    with store.writing() as connection:
        row = {"talk": talk, "place": place, "visit": visit, "post": post, "text": text, "at": store.clock()}
        connection.execute(insert(SAID).values(**row))


def end_talk(store: Store, talk: str, outcome: str) -> None:
    with store.writing() as connection:
        open_ = (TALKS.c.id == talk) & TALKS.c.ended.is_(None)
        connection.execute(update(TALKS).where(open_).values(ended=store.clock(), outcome=outcome))


def open_talk(store: Store, visit: str) -> tuple[RowMapping, list[RowMapping]] | None:
    """The talk that somebody is in, and what was said: a server that was killed goes on from here."""
    with store.reading() as connection:
        theirs = or_(TALKS.c.speaker == visit, TALKS.c.listener == visit) & TALKS.c.ended.is_(None)
        talk = connection.execute(select(TALKS).where(theirs)).mappings().first()
        if talk is None:
            return None
        said = connection.execute(
            select(SAID).where(SAID.c.talk == talk["id"]).order_by(SAID.c.place)
        ).mappings()
        return talk, list(said)


def has_told(store: Store, visit: str) -> bool:
    """Has this visit's story been told in a whole talk?"""
    with store.reading() as connection:
        told = (TALKS.c.speaker == visit) & (TALKS.c.outcome == COMPLETE)
        return connection.scalar(select(TALKS.c.id).where(told)) is not None


def visit_row(store: Store, visit: str) -> RowMapping:
    with store.reading() as connection:
        return connection.execute(select(VISITS).where(VISITS.c.id == visit)).mappings().one()


def dialogues(store: Store, partial: bool = False) -> Iterator[Dialogue]:
    """The corpus: whole talks, private data masked. partial: also those that somebody left."""
    study = store.study
    with store.reading() as connection:
        talks = (
            connection.execute(select(TALKS).where(TALKS.c.study == study.name).order_by(TALKS.c.started))
            .mappings()
            .all()
        )
        visits = {
            row["id"]: row
            for row in connection.execute(select(VISITS).where(VISITS.c.study == study.name)).mappings()
        }
        turns: dict[str, list[RowMapping]] = {}
        theirs = select(SAID).join(TALKS, TALKS.c.id == SAID.c.talk).where(TALKS.c.study == study.name)
        for row in connection.execute(theirs.order_by(SAID.c.talk, SAID.c.place)).mappings():
            turns.setdefault(row["talk"], []).append(row)
    for talk in talks:
        said = turns.get(talk["id"], [])
        if not said or (talk["outcome"] != COMPLETE and not partial):
            continue
        told = visits[talk["speaker"]]
        listener = visits[talk["listener"]]["rater"] if talk["listener"] in visits else AGENT
        yield Dialogue(
            f"{study.name}:{talk['id']}",
            tuple(Turn(SPEAKER if row["visit"] == talk["speaker"] else LISTENER, mask(row["text"])) for row in said),
            told["emotion"], mask(told["situation"]), study.language, study.name,
            {"speaker": told["rater"], "listener": listener, "outcome": talk["outcome"] or "open"},
        )  # fmt: skip
