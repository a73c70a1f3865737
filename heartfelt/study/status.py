"""How far a study is: for the admin page and `heartfelt study status`."""

from collections import Counter
from typing import Any

from sqlalchemy import select

from heartfelt.study.migrations import RATERS, SAID, TALKS, VISITS
from heartfelt.study.quality import filtered
from heartfelt.study.records import works
from heartfelt.study.store import Store

Json = dict[str, Any]


def status(store: Store) -> Json:
    return _collected(store) if store.study.kind == "collect" else _rated(store)


def _rated(store: Store) -> Json:
    study, now = store.study, store.clock()
    found = works(store)
    done = Counter(work.batch for work in found if work.finished is not None)
    fresh = now - 60 * study.batches.minutes
    open_ = [work for work in found if work.finished is None]
    _, out = filtered(study, found)
    wanted = study.batches.raters * len(store.batches)
    figures = {
        "items": sum(map(len, store.batches.values())), "batches": len(store.batches), "places": wanted,
        "finished": sum(done.values()), "in hand": sum(work.touched > fresh for work in open_),
        "given up": sum(work.touched <= fresh for work in open_),
        "complete batches": sum(count >= study.batches.raters for count in done.values()),
        "answers": sum(len(work.answers) for work in found), "raters": len({work.rater for work in found}),
        "left out": len(out),
    }  # fmt: skip
    reasons = {one.rater: one.reason for one in out}
    raters = []
    for rater in dict.fromkeys(work.rater for work in found):
        own = [work for work in found if work.rater == rater]
        ended = [work for work in own if work.finished is not None]
        raters.append({
            "rater": rater, "worker": own[0].worker or "", "finished": len(ended), "begun": len(own),
            "answers": sum(len(work.answers) for work in own),
            "minutes": round(sum(work.minutes for work in ended) / len(ended), 1) if ended else None,
            "checks": f"{sum(w.passed for w in ended)}/{sum(w.asked for w in ended)}",
            "codes": " ".join(work.code or "" for work in ended), "left out": reasons.get(rater, ""),
        })  # fmt: skip
    return {"study": study.name, "kind": study.kind, "figures": figures, "raters": raters}


def _collected(store: Store) -> Json:
    study = store.study
    with store.reading() as connection:
        visits = connection.execute(select(VISITS).where(VISITS.c.study == study.name)).mappings().all()
        talks = connection.execute(select(TALKS).where(TALKS.c.study == study.name)).mappings().all()
        said = select(SAID.c.talk).join(TALKS, TALKS.c.id == SAID.c.talk).where(TALKS.c.study == study.name)
        turns = len(connection.execute(said).all())
        names = {
            row.id: row.worker
            for row in connection.execute(select(RATERS).where(RATERS.c.study == study.name))
        }
    outcomes = Counter(talk["outcome"] or "open" for talk in talks)
    emotions = Counter(visit["emotion"] for visit in visits if visit["emotion"])
    used = [emotions[name] for name in study.collect.emotions]
    figures = {
        "people": len({visit["rater"] for visit in visits}), "situations": sum(emotions.values()), "talks": len(talks),
        **{f"talks {name}": count for name, count in sorted(outcomes.items())}, "turns": turns,
        "emotion least used": min(used), "emotion most used": max(used),
    }  # fmt: skip
    raters = [
        {
            "rater": visit["rater"], "worker": names.get(visit["rater"]) or "", "emotion": visit["emotion"] or "",
            "finished": visit["finished"] is not None, "codes": visit["code"] or "",
        }
        for visit in visits
    ]  # fmt: skip
    return {"study": study.name, "kind": study.kind, "figures": figures, "raters": raters}
