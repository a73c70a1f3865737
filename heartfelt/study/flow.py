"""Where a rater stands: consent, instructions, pages, survey, code. The server alone decides."""

from typing import Any

from heartfelt.errors import InvalidValue
from heartfelt.serving.problems import Refused
from heartfelt.study import assignment
from heartfelt.study.store import Store

Json = dict[str, Any]


def state(store: Store, token: str) -> Json:
    with store.reading() as connection:
        rater = store.rater(connection, token)
        if rater["consented"] is None:
            return {"stage": "consent"}
        if rater["began"] is None:
            return {"stage": "instructions", "warmup": _warmup(store)}
        if store.study.kind == "collect":
            from heartfelt.study import collection

            return collection.state(connection, store, rater)
        works = assignment.works_of(connection, store, rater["id"])
        if found := assignment.current(connection, store, works):
            return {"stage": "rate", **found}
        codes = [work["code"] for work in works if work["finished"] is not None]
        if codes and store.study.survey and rater["surveyed"] is None:
            return {"stage": "survey"}
        lost = any(work["finished"] is None for work in works)
        return {
            "stage": "done" if codes else "full",
            "codes": codes,
            "lost": lost,
            "more": _more(store, len(codes), works),
        }


def _more(store: Store, done: int, works: Any) -> bool:
    return done < store.study.batches.most and len(works) < len(store.batches)


def _warmup(store: Store) -> Json | None:
    own = store.study.warmup
    return {"context": list(own.context), "replies": [one.text for one in own.replies]} if own else None


def consent(store: Store, token: str) -> Json:
    store.mark(token, "consented")
    return state(store, token)


def begin(store: Store, token: str) -> Json:
    """Instructions read: the first batch; or, later, the next one."""
    with store.reading() as connection:
        rater = store.rater(connection, token)
        if rater["consented"] is None:
            raise Refused(409, "Consent comes first", "no_consent")
    store.mark(token, "began")
    if store.study.kind == "collect":
        from heartfelt.study import collection

        collection.visit(store, token)
    else:
        claimed = assignment.claim(store, token)
        now = state(store, token)
        return now if claimed else {**now, "more": False}
    return state(store, token)


def try_warmup(store: Store, areas: Any) -> list[Json]:
    """What the warm-up says of each reply: right, or a hint."""
    own = store.study.warmup
    if own is None or not isinstance(areas, list) or len(areas) != len(own.replies):
        raise InvalidValue("The warm-up has one area a reply")
    return [
        {"right": area == reply.area, "say": "" if area == reply.area else reply.hint}
        for area, reply in zip(areas, own.replies, strict=True)
    ]
