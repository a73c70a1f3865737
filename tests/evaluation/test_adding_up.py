"""Merging a metric over any sharding equals one pass, to the last bit."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InvalidValue
from heartfelt.evaluation import METRICS, Output
from heartfelt.evaluation.metric import Array, Metric
from heartfelt.evaluation.overlap import similarity

WORDS = st.sampled_from(
    ["i", "am", "so", "sorry", "to", "hear", "that", ".", "oh", "no", "!", "what", "happened", "?"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
EMOTIONS = ("afraid", "angry", "sad", "joyful", "proud")
LABELS = st.sampled_from(EMOTIONS)


@st.composite
def outputs(draw: st.DrawFn) -> Output:
    """An output with every field, so that every metric can be computed."""
    shares = [draw(st.integers(1, 9)) for _ in EMOTIONS]
    emotion = dict(zip(EMOTIONS, (share / sum(shares) for share in shares), strict=True))
    candidates = draw(st.lists(TEXTS, min_size=1, max_size=4))
    return Output(
        draw(st.sampled_from("abcdef")), 1, reference=draw(TEXTS), reply=draw(TEXTS), gold=draw(LABELS),
        emotion=emotion,
        log_likelihood=draw(st.floats(-500, 0)), tokens=draw(st.integers(1, 40)),
        candidates=tuple(candidates), scores=tuple(draw(st.floats(-1, 1)) for _ in candidates), answer=0,
        reference_label=draw(LABELS), reply_label=draw(LABELS),
    )  # fmt: skip


def by_length(texts: list[str]) -> Array:
    return np.array([[len(text), text.count("o") + 0.1, 1] for text in texts], np.float64)


EVERY = {**METRICS, "ses": similarity(by_length)}


@pytest.mark.parametrize("metric", EVERY.values(), ids=EVERY)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_any_sharding_equals_one_pass(metric: Metric, data: st.DataObject) -> None:
    rows = data.draw(st.lists(outputs(), min_size=1, max_size=12))
    shard_of = [data.draw(st.integers(0, 3)) for _ in rows]
    shards = [[row for row, s in zip(rows, shard_of, strict=True) if s == shard] for shard in range(4)]
    order = data.draw(st.permutations([shard for shard in shards if shard]))
    whole = metric.tally(rows)
    merged = functools.reduce(operator.add, (metric.tally(shard) for shard in order))
    assert merged.sums == whole.sums
    # Columns may stand in another order, and with them the last bit of a sum over columns.
    np.testing.assert_allclose(merged.value(), whole.value(), rtol=1e-12)


def test_different_metrics_do_not_add_up() -> None:
    rows = [Output("a", 1, reply="oh no")]
    with pytest.raises(InvalidValue, match="length and repetition do not add up"):
        METRICS["length"].tally(rows) + METRICS["repetition"].tally(rows)


def test_every_metric_says_what_it_is() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.title
        assert len(metric.recipe) > 20
        assert metric.citation
        assert metric.needs
