"""How well a model predicts the human reply. Native perplexity depends on the tokenizer."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from heartfelt.evaluation.metric import Array, Columns, Metric, SumMetric, Table, ratio
from heartfelt.evaluation.outputs import Output
from heartfelt.evaluation.tokens import whitespace

COLUMNS: Columns = ("nats", "tokens", "words", "bytes", "nats a token", "replies")


def table(outputs: Sequence[Output]) -> Table:
    rows = []
    for output in outputs:
        nats, tokens, reference = -(output.log_likelihood or 0.0), output.tokens or 1, output.reference or ""
        rows.append((nats, tokens, len(whitespace(reference)), len(reference.encode()), nats / tokens, 1))
    return Table(COLUMNS, np.array(rows, np.float64))


def _per(
    unit: str, name: str, title: str, recipe: str, citation: str,
    scale: Callable[[Array], Array] = np.exp, nats: str = "nats", least: float = 1.0,
) -> SumMetric:  # fmt: skip
    top, bottom = COLUMNS.index(nats), COLUMNS.index(unit)

    def finish(sums: Array, _: Columns) -> Array:
        return scale(ratio(sums[..., top], sums[..., bottom]))

    return SumMetric(
        name=name, title=title, direction="lower", recipe=recipe, citation=citation,
        needs=("log_likelihood", "tokens", "reference"), table=table, finish=finish,
        bounds=(least, math.inf),
    )  # fmt: skip


METRICS: tuple[Metric, ...] = (
    _per(
        "tokens", "ppl", "PPL",
        "exp(nats / tokens), all tokens weighted alike, the model's own tokens: compares only between "
        "models with one tokenizer",
        "rashkin2019",
    ),
    _per(
        "words", "ppl_word", "PPL/word",
        "exp(nats / white-space words of the reference): compares between tokenizers",
        "Mielke 2019",
    ),
    _per(
        "bytes", "bits_per_byte", "bits/byte",
        "nats / ln 2 / UTF-8 bytes of the reference: compares between tokenizers",
        "Gao et al. 2020 (The Pile)",
        scale=lambda nats: nats / math.log(2), least=0.0,
    ),
    _per(
        "replies", "ppl_reply_mean", "PPL, reply mean",
        "exp(mean over replies of nats / tokens), each reply alike: so count MoEL, MIME, CEM, CASE",
        "Lin et al. 2019 (MoEL), their code",
        nats="nats a token",
    ),
)  # fmt: skip
