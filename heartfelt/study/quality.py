"""Whose answers are left out, and why: meed2's filters (section 5.4.2). They are reported, never silent.

1. Whoever gave the same answer for almost all dialogues is left out whole.
2. Whoever was faster than five minutes with a batch and passed fewer than two of its checks is left out whole.
3. Of the others, batches in which fewer than two bonus points were obtained are left out.
A batch that asks fewer checks than that cannot fail by more than all of them; one that asks none is judged by 1 alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from heartfelt.study.file import Study
from heartfelt.study.records import Work
from heartfelt.study.tasks import TASKS

_ENOUGH = 8  # judgements, below which being always the same says nothing


@dataclass(frozen=True)
class LeftOut:
    rater: str
    batch: int | None  # None: everything of theirs
    reason: str
    answers: int


def same_share(study: Study, works: Sequence[Work]) -> tuple[float, int]:
    """How much of what a rater said is one and the same; and how many judgements that is of.

    In a choice it is the side of the page: always the left one.
    """
    said: Counter[object] = Counter()
    for work in works:
        for answer in work.answers:
            if answer.attention:
                continue
            if study.kind == "choose":
                said[str(TASKS["choose"].show(answer.order, answer.value))] += 1
            else:
                said.update(TASKS[study.kind].same(answer.value))
    total = said.total()
    return (max(said.values()) / total if total else 0.0), total


def filtered(study: Study, works: Sequence[Work]) -> tuple[list[Work], list[LeftOut]]:
    """Finished batches that count, and what was left out of them."""
    own, done = study.quality, [work for work in works if work.finished is not None]
    kept: list[Work] = []
    out: list[LeftOut] = []
    for rater in dict.fromkeys(work.rater for work in done):
        theirs = [work for work in done if work.rater == rater]
        answers = sum(_real(work) for work in theirs)
        share, judged = same_share(study, theirs)
        fast = [work for work in theirs if work.minutes < own.minutes and _fails(study, work)]
        if judged >= _ENOUGH and share >= own.same:
            out.append(
                LeftOut(rater, None, f"the same answer in {share:.0%} of {judged} judgements", answers)
            )
        elif fast:
            work = fast[0]
            why = f"{work.minutes:.1f} minutes for batch {work.batch + 1}, {work.passed} of {work.asked} checks passed"
            out.append(LeftOut(rater, None, why, answers))
        else:
            for work in theirs:
                if own.every_batch and study.bonus and _fails(study, work):
                    why = f"{work.passed} of {work.asked} checks passed"
                    out.append(LeftOut(rater, work.batch, why, _real(work)))
                else:
                    kept.append(work)
    return kept, out


def _fails(study: Study, work: Work) -> bool:
    return work.passed < min(study.quality.checks, work.asked)


def _real(work: Work) -> int:
    return sum(not answer.attention for answer in work.answers)
