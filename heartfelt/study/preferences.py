"""Preference pairs for training: of two replies to one dialogue, which one people liked better, and by how much."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from heartfelt.dialogue import Value
from heartfelt.study.file import Study
from heartfelt.study.items import Item
from heartfelt.study.ratings import ratings_of, scale_of, text_of
from heartfelt.study.records import Work


class Preference(Value, frozen=True):
    dialogue: str
    context: tuple[str, ...]
    chosen: str
    rejected: str
    margin: float  # between the mean scores, as a share of the scale
    raters: int
    chosen_system: str
    rejected_system: str
    emotion: str | None = None


def preferences(
    study: Study, works: Sequence[Work], margin: float = 0.0, question: str | None = None
) -> Iterator[Preference]:
    """margin: pairs whose scores lie closer than this are left out; equal ones always are.

    question: the one that decides; the mean of all where left out.
    """
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    raters: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in ratings_of(study, works):
        if question in (None, one.question):
            low, high = scale_of(study, one.question)
            scores[one.dialogue][one.system].append((one.score - low) / (high - low))
            raters[one.dialogue, one.system].add(one.rater)
    items: dict[str, dict[str, Item]] = defaultdict(dict)
    for work in works:
        for answer in work.answers:
            for system in answer.order:
                items[answer.item.dialogue].setdefault(system, answer.item)
    for dialogue, systems in scores.items():
        means = {system: sum(given) / len(given) for system, given in systems.items()}
        for a, b in combinations(sorted(means), 2):
            best, worst = (a, b) if means[a] > means[b] else (b, a)
            gap, item = means[best] - means[worst], items[dialogue][best]
            chosen, rejected = text_of(item, best), text_of(items[dialogue][worst], worst)
            if gap <= 1e-9 or gap < margin or chosen == rejected:
                continue
            count = min(len(raters[dialogue, a]), len(raters[dialogue, b]))
            yield Preference(
                dialogue, item.context, chosen, rejected, round(gap, 4), count, best, worst, item.emotion
            )
