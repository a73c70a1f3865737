"""How well a system names the emotion: accuracy at 1, 3, 5; precision, recall, F1; calibration."""

from collections.abc import Callable, Sequence

import numpy as np

from heartfelt.evaluation.metric import SHARE, Array, Columns, Metric, SumMetric, Table, TableOf, ratio
from heartfelt.evaluation.outputs import Output

BINS = 15  # Guo et al. 2017
_NEEDS = ("gold", "emotion|guesses")


def ranked(output: Output) -> tuple[str, ...]:
    """The labels that the system offers, best first; empty when it gave no answer."""
    if output.emotion is not None:
        return tuple(sorted(output.emotion, key=lambda label: (-(output.emotion or {})[label], label)))
    return output.guesses or ()


def _top(k: int) -> TableOf:
    def table(outputs: Sequence[Output]) -> Table:
        offers = [(output.gold, ranked(output)) for output in outputs]
        rows = [(gold in offer[:k], 1, 0 < len(offer) < k) for gold, offer in offers]
        return Table(("right", "outputs", "too few"), np.array(rows, np.float64))

    return table


def _share(sums: Array, _: Columns) -> Array:
    """A system that answers with fewer than k labels has no top k."""
    return np.where(sums[..., 2] == 0, ratio(sums[..., 0], sums[..., 1]), np.nan)


def _accuracy(k: int) -> SumMetric:
    return SumMetric(
        name=f"accuracy_{k}", title=f"acc@{k}", direction="higher", needs=_NEEDS, digits=4,
        undefined=f"some answers offer fewer than {k} labels", bounds=SHARE,
        recipe=f"share of turns whose true emotion is among the first {k} offered; no answer is wrong",
        citation="rashkin2019", table=_top(k), finish=_share,
    )  # fmt: skip


def confusion(outputs: Sequence[Output]) -> Table:
    """For each label: how often it is right, offered, and true."""
    offers = [next(iter(ranked(output)), None) for output in outputs]
    labels = sorted({o.gold or "" for o in outputs} | {offer for offer in offers if offer is not None})
    place = {label: i for i, label in enumerate(labels)}
    values = np.zeros((len(outputs), len(labels), 3))
    for i, (output, offer) in enumerate(zip(outputs, offers, strict=True)):
        values[i, place[output.gold or ""], 2] = 1
        if offer is not None:
            values[i, place[offer], 1] = 1
            values[i, place[offer], 0] = offer == output.gold
    columns = tuple((label, kind) for label in labels for kind in ("right", "offered", "true"))
    return Table(columns, values.reshape(len(outputs), -1))


def scores(sums: Array, columns: Columns) -> tuple[Array, Array, Array, Array, Array]:
    """Precision, recall, F1, count of true ones, and whether the label occurs, each (…, labels).

    Never offered: precision 0.
    """
    right, offered, true = (
        sums[..., [i for i, column in enumerate(columns) if column[1] == kind]]  # type: ignore[index]
        for kind in ("right", "offered", "true")
    )
    precision, recall = np.nan_to_num(ratio(right, offered)), np.nan_to_num(ratio(right, true))
    f1 = np.nan_to_num(ratio(2 * right, offered + true))
    return precision, recall, f1, true, (offered + true > 0).astype(np.float64)


def _averaged(which: int, weighted: bool) -> Callable[[Array, Columns], Array]:
    def finish(sums: Array, columns: Columns) -> Array:
        every = scores(sums, columns)
        if weighted:
            return ratio((every[which] * every[3]).sum(axis=-1), every[3].sum(axis=-1))
        # Over the labels that these sums hold: a figure must not depend on whom a system is compared with.
        return ratio(every[which].sum(axis=-1), every[4].sum(axis=-1))

    return finish


def _averages() -> list[SumMetric]:
    return [
        SumMetric(
            name=f"{average}_{name}", title=f"{average} {short}", direction="higher", needs=_NEEDS, digits=4,
            recipe=f"{name} of the first label offered, averaged over labels {how}; a label is any that is "
            "true or offered somewhere; no answer is wrong", bounds=SHARE,
            citation=citation, table=confusion, finish=_averaged(which, average == "weighted"),
        )
        for average, how, citation in (
            ("macro", "alike", "joint2021"), ("weighted", "by how often they are true", "meed2"),
        )
        for which, (name, short) in enumerate((("precision", "P"), ("recall", "R"), ("f1", "F1")))
    ]  # fmt: skip


def calibration(outputs: Sequence[Output]) -> Table:
    """For each bin of the first label's probability: outputs, summed probability, how many were right."""
    values = np.zeros((len(outputs), BINS, 3))
    for i, output in enumerate(outputs):
        label = ranked(output)[0]
        confidence = (output.emotion or {})[label]
        place = max(1, int(np.ceil(confidence * BINS))) - 1  # the bins are (0, 1/15], (1/15, 2/15]…
        values[i, min(place, BINS - 1)] = 1, confidence, label == output.gold
    columns = tuple((b, kind) for b in range(BINS) for kind in ("outputs", "confidence", "right"))
    return Table(columns, values.reshape(len(outputs), -1))


def _ece(sums: Array, _: Columns) -> Array:
    bins = sums.reshape(*sums.shape[:-1], BINS, 3)
    return ratio(np.abs(bins[..., 1] - bins[..., 2]).sum(axis=-1), bins[..., 0].sum(axis=-1))


METRICS: tuple[Metric, ...] = (
    *(_accuracy(k) for k in (1, 3, 5)),
    *_averages(),
    SumMetric(
        name="ece", title="ECE", direction="lower", needs=("gold", "emotion"), digits=4, bounds=SHARE,
        recipe=f"expected calibration error: |confidence - accuracy| in {BINS} bins of equal width of the "
        "first label's probability, weighted by outputs",
        citation="Guo et al. 2017", table=calibration, finish=_ece, distance=True,
    ),
)  # fmt: skip
