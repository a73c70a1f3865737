"""The metrics, in the order in which tables print them. To add one: an entry in its family, and a test."""

from collections.abc import Mapping

from heartfelt.errors import UnknownName
from heartfelt.evaluation import classification, diversity, genericness, likelihood, overlap, ranking
from heartfelt.evaluation.metric import Metric

METRICS: dict[str, Metric] = {
    metric.name: metric
    for family in (likelihood, overlap, diversity, genericness, classification, ranking)
    for metric in family.METRICS
}


def find(name: str, known: Mapping[str, Metric] = METRICS) -> Metric:
    try:
        return known[name]
    except KeyError:
        raise UnknownName("metric", name, known) from None
