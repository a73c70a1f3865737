"""The field's real failure, which no one prints: saying the same thing to everyone."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from heartfelt.evaluation.diversity import distinct, replies
from heartfelt.evaluation.metric import (
    PERCENT,
    Array,
    Columns,
    Metric,
    SumMetric,
    Table,
    TypeMetric,
    percent,
    ratio,
)
from heartfelt.evaluation.outputs import Output
from heartfelt.evaluation.tokens import same

TOP = 20

# What the systems of the MoEL line say whatever they hear. The first one is the headline figure.
STOCK_PHRASES: dict[str, str] = {
    "sorry to hear": r"sorry to hear",
    "sorry for / about / that": r"sorry (?:for|about|that|you)",
    "i hope you / it / he / she": r"i hope (?:you|it|he|she|they)",
    "i am glad": r"\b(?:i am|i'm|im) (?:so |very |really )?glad",
    "i am sure": r"\b(?:i am|i'm|im) (?:so |very |pretty )?sure",
    "that is great / good / awful…": r"\bthat(?: is|'s|s) (?:so |really |very |a )?"
    r"(?:great|good|awesome|nice|cool|awful|terrible|horrible|bad|sad|shame|bummer)",
}


def says(pattern: str) -> Callable[[str], bool]:
    found = re.compile(pattern).search
    return lambda text: found(same(text).replace("’", "'")) is not None


_ANY = says("|".join(STOCK_PHRASES.values()))


def top_share(spectrum: Array, top: int = TOP) -> float:
    """% of replies that are one of the `top` most frequent ones."""
    counts = np.arange(len(spectrum))
    total = float(spectrum @ counts)
    if not total:
        return float("nan")
    frequent = np.flatnonzero(spectrum)[::-1]
    upto = np.minimum(np.cumsum(spectrum[frequent]), top)
    taken = np.diff(upto, prepend=0.0)  # how many types of each frequency belong to the top
    return 100 * float(taken @ frequent) / total


def mix(outputs: Sequence[Output]) -> Table:
    """How often each label is the system's, and the human's."""
    columns = sorted({(who, label) for o in outputs for who, label in _labels(o)})
    place = {column: i for i, column in enumerate(columns)}
    values = np.zeros((len(outputs), len(columns)))
    for i, output in enumerate(outputs):
        for column in _labels(output):
            values[i, place[column]] = 1
    return Table(tuple(columns), values)


def _labels(output: Output) -> list[tuple[str, str]]:
    pairs = (("reply", output.reply_label), ("reference", output.reference_label))
    return [(who, label) for who, label in pairs if label is not None]


def _counts(sums: Array, columns: Columns, who: str, labels: Sequence[str]) -> Array:
    place = {column: i for i, column in enumerate(columns)}
    zero = np.zeros(sums.shape[:-1])
    return np.stack(
        [sums[..., place[who, label]] if (who, label) in place else zero for label in labels], axis=-1
    )


def _all_labels(columns: Columns, who: str | None = None) -> list[str]:
    pairs = [column for column in columns if isinstance(column, tuple)]
    return sorted({label for side, label in pairs if who in (None, side)})


def entropy(sums: Array, columns: Columns) -> Array:
    """Bits of the system's label mix: 0 when every reply does the same."""
    counts = _counts(sums, columns, "reply", _all_labels(columns, "reply"))
    share = ratio(counts, counts.sum(axis=-1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        bits: Array = -np.where(share > 0, share * np.log2(share), 0).sum(axis=-1)
    return bits


def divergence(sums: Array, columns: Columns) -> Array:
    """KL(system ‖ human) in bits, half a count added to every label that occurs, so that it is finite."""
    labels = _all_labels(columns)
    ours, theirs = (_counts(sums, columns, who, labels) for who in ("reply", "reference"))
    half = np.where(ours + theirs > 0, 0.5, 0.0)
    p, q = (ratio(n + half, (n + half).sum(axis=-1, keepdims=True)) for n in (ours, theirs))
    bits: Array = np.where(p > 0, p * np.log2(np.where(p > 0, p, 1) / np.where(q > 0, q, 1)), 0).sum(axis=-1)
    return bits


def _whole(output: Output) -> tuple[str]:
    return (same(output.reply or ""),)


METRICS: tuple[Metric, ...] = (
    TypeMetric(
        name="distinct_replies", title="distinct replies %", direction="higher", needs=("reply",), digits=1,
        bounds=PERCENT, recipe="% of replies that are different strings, but for case and spacing", citation="ours",
        types=_whole, finish=distinct,
    ),
    TypeMetric(
        name="top_20", title="top-20 share %", direction="lower", needs=("reply",), digits=1,
        bounds=PERCENT, recipe="% of replies that are one of the 20 most frequent replies", citation="ours",
        types=_whole, finish=top_share,
    ),
    SumMetric(
        name="sorry_to_hear", title="sorry to hear %", direction="none", needs=("reply",), digits=1,
        language="en", bounds=PERCENT,
        recipe="% of replies that contain 'sorry to hear'", citation="ours",
        table=replies(says(STOCK_PHRASES["sorry to hear"])), finish=percent,
    ),
    SumMetric(
        name="stock_phrases", title="stock phrases %", direction="none", needs=("reply",), digits=1,
        language="en", bounds=PERCENT,
        recipe=f"% of replies that contain one of: {'; '.join(STOCK_PHRASES)}", citation="ours",
        table=replies(_ANY), finish=percent,
    ),
    SumMetric(
        name="intent_entropy", title="intent entropy", direction="none", needs=("reply_label",),
        recipe="entropy in bits of the labels of the replies", citation="Shannon 1948",
        table=mix, finish=entropy,
    ),
    SumMetric(
        name="intent_divergence", title="intent KL", direction="lower", digits=3,
        needs=("reply_label", "reference_label"),
        recipe="KL(system ‖ human) of the label mixes in bits, half a count added to each label that occurs",
        citation="Kullback and Leibler 1951", table=mix, finish=divergence, distance=True,
    ),
)  # fmt: skip
