"""The one-page HTML report on a finished run: what it takes for what, and how far its chances can be believed.

Plain numbers here; heartfelt/templates/run.html draws them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from heartfelt.evaluation import evaluate
from heartfelt.evaluation.classification import BINS, calibration
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.evaluation.tables import described
from heartfelt.evaluation.uncertainty import Interval
from heartfelt.labels import GROUPS, INTENTS, LABELS, NEUTRAL
from heartfelt.recipe import dump
from heartfelt.report import write_page
from heartfelt.training.calibration import best_temperature
from heartfelt.training.predictions import Head, load, seen
from heartfelt.training.run import Run, portable
from heartfelt.training.scores import METRICS, chances, outputs

PAIRS = 10  # most confused pairs shown
MISTAKES = 20  # most confident mistakes shown

Counts = NDArray[np.int64]  # (labels, labels): true, said


@dataclass(frozen=True)
class Pair:
    """Two labels that are taken for one another."""

    a: str  # of the two, the one that is more often taken for the other
    b: str
    a_as_b: int
    b_as_a: int
    share: float  # of all items that truly are a or b

    @property
    def together(self) -> int:
        return self.a_as_b + self.b_as_a


@dataclass(frozen=True)
class Label:
    name: str
    items: int
    accuracy: float | None  # how many of its items are called by it; None without items
    precision: float | None  # how many of the items that are called by it are its own
    taken_for: str  # the label that its items are called by most often when wrong
    mistakes: int  # how often


@dataclass(frozen=True)
class Cell:
    """A square of the heat map."""

    row: int  # the true label, from above
    column: int  # what was said, from the left
    count: int
    share: float  # of the row


@dataclass(frozen=True)
class Dot:
    """A bin of the reliability diagram."""

    chance: float  # mean chance of the label that was said
    accuracy: float
    items: int
    share: float  # of all items


@dataclass(frozen=True)
class Calibration:
    ece: Interval
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Mistake:
    turns: tuple[str, ...]
    gold: str
    said: str
    chance: float  # after temperature


@dataclass(frozen=True)
class Seen:
    """Test items whose text a training item has, and the others."""

    items: int
    accuracy: float | None
    others: int
    accuracy_of_others: float | None


@dataclass(frozen=True)
class HeadReport:
    name: str
    items: int
    accuracy: float  # of all items, to stand beside a label's
    order: tuple[str, ...]  # labels, similar ones beside each other
    blocks: tuple[tuple[str, int], ...]  # names and sizes of the groups in that order
    cells: tuple[Cell, ...]
    pairs: tuple[Pair, ...]
    labels: tuple[Label, ...]
    temperature: float
    before: Calibration
    after: Calibration
    mistakes: tuple[Mistake, ...]
    seen: Seen


@dataclass(frozen=True)
class Score:
    """A row of the table of scores."""

    head: str
    title: str
    recipe: str
    values: tuple[list[float | None] | None, ...]  # [value, low, high] on each split


@dataclass(frozen=True)
class RunReport:
    name: str
    what: str
    results: dict[str, Any]
    recipe: str
    heads: tuple[HeadReport, ...]


def report(run: Run, data: Path | None = None, resamples: int = 1000) -> RunReport:
    """What there is to see of a finished run on the test split. Temperatures come from valid."""
    test = load(run, "test", data)
    valid = {head.name: head for head in load(run, "valid", data).heads()}
    train = list(test.task.read("train", data))
    made = []
    for head in test.heads():
        held_out = valid.get(head.name)
        temperature = best_temperature(held_out.logits, held_out.gold) if held_out else 1.0
        made.append(of_head(head, temperature, seen(head.items, train), resamples))
    results: dict[str, Any] = run.results or {}
    return RunReport(run.name, test.task.what, results, dump(portable(run.recipe)), tuple(made))


def write(path: Path, made: RunReport) -> None:
    write_page(
        path, "run.html", r=made, scores=score_rows(made.results["scores"]), splits=list(made.results["scores"]),
        bins=BINS,
    )  # fmt: skip


def score_rows(scored: dict[str, Any]) -> list[Score]:
    """The rows of the table of scores: a head and a metric, with its values on each split."""
    rows = []
    for head in dict.fromkeys(head for heads in scored.values() for head in heads):
        found = [heads.get(head, {}) for heads in scored.values()]
        for name in (*METRICS, "auroc"):
            values = tuple(metrics.get(name) for metrics in found)
            if any(values):
                rows.append(Score(head, *_described(name), values))
    return rows


def _described(name: str) -> tuple[str, str]:
    if name == "auroc":
        return (
            "AUROC",
            "chance that an item of the second label is given a higher chance of it than one of the first",
        )
    return described(name).title, described(name).recipe


def of_head(head: Head, temperature: float, again: Sequence[bool], resamples: int = 1000) -> HeadReport:
    said = head.logits.argmax(-1)
    counts = np.zeros((len(head.labels), len(head.labels)), np.int64)
    np.add.at(counts, (head.gold, said), 1)
    blocks = in_blocks(head.labels, counts)
    order = tuple(label for _, labels in blocks for label in labels)
    right = said == head.gold
    return HeadReport(
        name=head.name,
        items=len(head.items),
        accuracy=float(right.mean()),
        order=order,
        blocks=tuple((name, len(labels)) for name, labels in blocks),
        cells=cells(counts, [head.labels.index(label) for label in order]),
        pairs=confused(head.labels, counts),
        labels=by_label(order, counts[np.ix_(*[[head.labels.index(label) for label in order]] * 2)]),
        temperature=temperature,
        before=reliability(head, 1.0, resamples),
        after=reliability(head, temperature, resamples),
        mistakes=mistakes(head, temperature),
        seen=_seen(right, np.array(again, bool)),
    )


def in_blocks(labels: Sequence[str], counts: Counts) -> list[tuple[str, tuple[str, ...]]]:
    """The labels that occur, similar ones beside each other, as named blocks.

    The 41 labels go by Parrott's groups, then intents; others by how often they are taken for one another.
    """
    occur = [label for i, label in enumerate(labels) if counts[i].any() or counts[:, i].any()]
    if set(labels) <= set(LABELS):
        groups = {**GROUPS, "intents": INTENTS, NEUTRAL: (NEUTRAL,)}
        blocks = [(name, tuple(label for label in group if label in occur)) for name, group in groups.items()]
        return [(name, group) for name, group in blocks if group]
    if len(occur) < 3:
        return [("", tuple(occur))]
    at = [labels.index(label) for label in occur]
    shares = counts[np.ix_(at, at)] / np.maximum(counts[at].sum(-1, keepdims=True), 1)
    far = 2.0 - (shares + shares.T)  # two labels that are always taken for one another are 0 apart
    np.fill_diagonal(far, 0.0)
    near = leaves_list(linkage(squareform(far), "average", optimal_ordering=True))
    return [("", tuple(occur[i] for i in near))]


def cells(counts: Counts, at: Sequence[int]) -> tuple[Cell, ...]:
    """The squares that are not empty, rows and columns in the order of `at`."""
    ordered = counts[np.ix_(at, at)]
    totals = ordered.sum(-1)
    return tuple(
        Cell(int(row), int(column), int(ordered[row, column]), float(ordered[row, column] / totals[row]))
        for row, column in np.argwhere(ordered)
    )


def confused(labels: Sequence[str], counts: Counts) -> tuple[Pair, ...]:
    """The pairs of labels that are taken for one another most often, whichever way."""
    found = []
    for i, j in np.argwhere(np.triu(counts + counts.T, 1)):
        a, b = (i, j) if counts[i, j] >= counts[j, i] else (j, i)
        share = float(counts[a, b] + counts[b, a]) / float(counts[[a, b]].sum() or 1)
        found.append(Pair(labels[a], labels[b], int(counts[a, b]), int(counts[b, a]), share))
    return tuple(sorted(found, key=lambda pair: (-pair.together, pair.a, pair.b))[:PAIRS])


def by_label(labels: Sequence[str], counts: Counts) -> tuple[Label, ...]:
    rows = []
    for i, label in enumerate(labels):
        items, offered, right = int(counts[i].sum()), int(counts[:, i].sum()), int(counts[i, i])
        wrong = counts[i].copy()
        wrong[i] = 0
        worst = int(wrong.argmax())
        rows.append(
            Label(
                label, items, right / items if items else None, right / offered if offered else None,
                labels[worst] if wrong[worst] else "", int(wrong[worst]),
            )
        )  # fmt: skip
    return tuple(rows)


def reliability(head: Head, temperature: float, resamples: int = 1000) -> Calibration:
    """How often the label that was said is right, bin by bin of its chance; and the expected calibration error."""
    rows: list[Output] = outputs(head.items, head.name, head.logits / temperature, head.labels)
    scored = evaluate(Outputs(Header(system=head.name), tuple(rows)), ["ece"], resamples)
    bins = calibration(rows).values.sum(axis=0).reshape(BINS, 3)
    dots = tuple(
        Dot(float(chance / count), float(right / count), int(count), float(count / len(rows)))
        for count, chance, right in bins
        if count
    )
    return Calibration(scored.scores["ece"], dots)


def mistakes(head: Head, temperature: float) -> tuple[Mistake, ...]:
    """The mistakes that the model is surest of, after temperature."""
    found = chances(head.logits, temperature)
    said = found.argmax(-1)
    sure = found[np.arange(len(said)), said]
    wrong = np.flatnonzero(said != head.gold)
    chosen = wrong[np.argsort(-sure[wrong], kind="stable")][:MISTAKES]
    return tuple(
        Mistake(head.items[i].turns, head.labels[head.gold[i]], head.labels[said[i]], float(sure[i]))
        for i in chosen
    )


def _seen(right: NDArray[np.bool_], again: NDArray[np.bool_]) -> Seen:
    parts = (right[again], right[~again])
    (known, of_known), (new, of_new) = ((len(p), float(p.mean()) if len(p) else None) for p in parts)
    return Seen(known, of_known, new, of_new)
