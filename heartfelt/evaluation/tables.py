"""Results as tables for the terminal."""

from collections.abc import Sequence

from rich.table import Table

from heartfelt.evaluation.metric import Metric
from heartfelt.evaluation.metrics import METRICS
from heartfelt.evaluation.overlap import SES
from heartfelt.evaluation.scoring import Comparison, Leaderboard, Result, human_of
from heartfelt.evaluation.table import Figures
from heartfelt.evaluation.uncertainty import Interval
from heartfelt.terminal import table

# What a leaderboard shows when no metrics are named: one or two of each family.
HEADLINE = (
    "ppl", "bits_per_byte", "avg_bleu", "distinct_1_at", "distinct_2_at", "distinct_replies", "top_20",
    "sorry_to_hear", "intent_divergence", "accuracy_1", "macro_f1", "p_at_1",
)  # fmt: skip
_ARROWS = {"higher": "↑", "lower": "↓", "none": ""}


def described(name: str) -> Metric:
    return METRICS.get(name, SES)


def heading(name: str) -> str:
    """PPL ↓: the metric's title and which way is better."""
    metric = described(name)
    return f"{metric.title} {_ARROWS[metric.direction]}".strip()


def number(value: float, name: str) -> str:
    return f"{value:.{described(name).digits}f}"


def shown(score: Interval | None, name: str) -> str:
    """35.9 [34.2, 37.4]"""
    if score is None:
        return ""
    if score.low is None or score.high is None:
        return number(score.value, name)
    return f"{number(score.value, name)} [{number(score.low, name)}, {number(score.high, name)}]"


def brief(score: Interval | None, name: str) -> str:
    """35.9±1.6: half the interval's width, for tables with many columns."""
    if score is None:
        return ""
    if score.low is None or score.high is None:
        return number(score.value, name)
    return f"{number(score.value, name)}±{number((score.high - score.low) / 2, name)}"


def of_results(results: Sequence[Result]) -> Figures:
    """Metrics down, systems across, the human figure last."""
    rows = Figures("", *(result.system for result in results), "human")
    rows.add_row("turns", *(f"{result.turns:,}" for result in results), "")
    names = [name for name in (*METRICS, "ses") if any(name in result.scores for result in results)]
    for name in names:
        figures = [*(result.scores.get(name) for result in results), human_of(results, name)]
        rows.add_row(heading(name), *(shown(figure, name) for figure in figures))
    return rows


def of_comparison(comparison: Comparison) -> Figures:
    rows = Figures("", comparison.a, comparison.b, "difference", "p", "p (Holm)", "")
    for name, test in comparison.tests.items():
        pair = test.paired
        rows.add_row(
            heading(name), number(pair.a, name), number(pair.b, name), shown(pair.difference, name),
            f"{pair.p:.3f}", f"{test.p_holm:.3f}", "*" if test.p_holm < 0.05 else "",
        )  # fmt: skip
    return rows


def of_leaderboard(board: Leaderboard, metrics: Sequence[str] = ()) -> Figures:
    """Systems down, metrics across."""
    asked = dict.fromkeys((board.by, *(metrics or HEADLINE)))
    names = [name for name in asked if any(name in result.scores for result in board.results)]
    rows = Figures("system", "turns", *map(heading, names), "p vs best", folded=True)
    people = {name: human_of(board.results, name) for name in names}
    if any(people.values()):
        figures = ["" if figure is None else number(figure.value, name) for name, figure in people.items()]
        rows.add_row("human", "", *figures, "")
    for result in board.results:
        p = board.p.get(result.system)
        rows.add_row(
            result.system, f"{result.turns:,}", *(brief(result.scores.get(name), name) for name in names),
            "" if p is None else f"{p:.3f}",
        )  # fmt: skip
    return rows


def every_metric() -> list[Metric]:
    return [*METRICS.values(), SES]


def of_metrics() -> Table:
    rows = table("name", "needs", "recipe", "after")
    for metric in every_metric():
        name = f"{metric.name} {_ARROWS[metric.direction]}"
        rows.add_row(name, " ".join(metric.needs), metric.recipe, metric.citation)
    return rows
