"""What a paper's tables say, and which recipe is which row: recipes/<paper>/tables.yaml.

    title: Towards Empathetic Open-domain Conversation Models (Rashkin et al., ACL 2019)
    tables:
      retrieval:
        title: Table 1, retrieval
        columns: {pairs.p_at_1: "P@1,100", answers.avg_bleu: AVG BLEU}
        rows:
          - row: Transformer, fine-tuned
            recipe: retrieval-transformer       # retrieval-transformer.cpu.yaml, retrieval-transformer.paper.yaml
            score: [pairs]                      # tasks that it is scored on besides its own
            pool: [empathetic_dialogues]        # where a retrieval model finds its replies
            paper: {pairs.p_at_1: 56.90, answers.avg_bleu: 5.88}

A column is what was scored and the metric: a task, a head, or "answers", which are the run's replies to the test split.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from heartfelt.errors import BadData, MissingData, UnknownName
from heartfelt.evaluation.metrics import METRICS
from heartfelt.recipe import fill

FILE = "tables.yaml"
ANSWERS = "answers"
SCALES = ("cpu", "paper")


@dataclass(frozen=True)
class Row:
    row: str  # the system, as the table names it
    recipe: str = ""  # the file's name without scale; none where nobody can run it
    score: tuple[str, ...] = ()  # tasks that the run is scored on besides its own
    pool: tuple[str, ...] = ()  # of a retrieval model: the corpora that it finds replies in
    reranker: str = ""  # a re-ranker's recipe that orders what is found
    decode: Mapping[str, Any] = field(default_factory=dict)  # of a model that writes: how words are chosen
    plan: str = "planned"  # of one that is told what to do: by whom
    answers: bool = True  # does it answer the test split?
    paper: Mapping[str, float] = field(default_factory=dict)  # column → the paper's figure
    reason: str = ""  # why it is not run at cpu scale, or why ours must differ

    def head(self, column: str) -> tuple[str, str]:
        """What was scored, and the metric. Replies from several pools are told apart."""
        head, _, metric = column.rpartition(".")
        return (answers_from(self.pool, self.reranker) if head == ANSWERS else head), metric


def answers_from(pool: tuple[str, ...], reranker: str = "") -> str:
    """The name under which replies are scored."""
    parts = [
        ANSWERS,
        *([f"from {' + '.join(pool)}"] if pool else []),
        *([f"by {reranker}"] if reranker else []),
    ]
    return " ".join(parts)


@dataclass(frozen=True)
class PaperTable:
    title: str
    columns: Mapping[str, str]  # "head.metric" → heading
    rows: tuple[Row, ...]
    note: str = ""


@dataclass(frozen=True)
class Paper:
    name: str
    title: str
    tables: Mapping[str, PaperTable]


@dataclass(frozen=True)
class Place:
    """Where things lie."""

    recipes: Path = Path("recipes")
    results: Path = Path("results")
    runs: Path = Path("runs")  # recipes name each other's runs by this name, so it is not for choosing
    data: Path | None = None


def papers_in(recipes: Path) -> list[str]:
    return sorted(path.parent.name for path in recipes.glob(f"*/{FILE}"))


def read_paper(name: str, recipes: Path) -> Paper:
    known = papers_in(recipes)
    if not known:
        raise MissingData(
            f"There is no paper in {recipes}: run this in a clone of the repository, or --recipes FOLDER"
        )
    if name not in known:
        raise UnknownName("paper", name, known)
    path = recipes / name / FILE
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise BadData(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    if not isinstance(values, dict) or not isinstance(values.get("tables"), dict):
        raise BadData(f"{path} should be a mapping with title and tables")
    tables, problems = {}, []
    for key, table in values["tables"].items():
        made, wrong = fill(PaperTable, table if isinstance(table, dict) else {}, f"tables.{key}.")
        problems += wrong or list(_wrong_columns(key, made))
        tables[key] = made
    if problems:
        raise BadData(f"{path}: {'; '.join(problems)}")
    return Paper(name, str(values.get("title", name)), tables)  # type: ignore[arg-type]


def _wrong_columns(key: str, table: PaperTable | None) -> Iterator[str]:
    assert table is not None
    for column in table.columns:
        if "." not in column or column.rpartition(".")[2] not in METRICS:
            yield f"tables.{key}.columns.{column}: a column is a head, a dot and a metric, as in answers.avg_bleu"
    for row in table.rows:
        for column in row.paper:
            if column not in table.columns:
                yield f"tables.{key}: {row.row} has a figure for {column}, which is no column"


def recipe_path(recipes: Path, paper: str, row: Row, scale: str) -> Path | None:
    """The row's recipe at a scale, if there is one."""
    path = recipes / paper / f"{row.recipe}.{scale}.yaml"
    return path if row.recipe and path.is_file() else None
