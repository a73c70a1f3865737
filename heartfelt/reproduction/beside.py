"""The paper's figures and ours, side by side: what was measured, on what, how long it took, and why it may differ."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt.errors import BadData
from heartfelt.evaluation.metrics import METRICS
from heartfelt.evaluation.table import Table
from heartfelt.reproduction.paper import Paper, PaperTable, Place, Row, recipe_path


@dataclass(frozen=True)
class Kept:
    """A results file: what a recipe gave, once or over seeds."""

    recipe: Mapping[str, Any]
    results: Mapping[str, Any]
    seeds: tuple[int, ...] = ()

    def figure(self, head: str, metric: str) -> Any:
        """[value, low, high], or over seeds {"mean", "sd", "values"}; None where it was not measured."""
        return self.scored(head).get(metric)

    def scored(self, head: str) -> Mapping[str, Any]:
        """Metric → figure. Of a retrieval run "replies" are what it scored on its own task when it was trained."""
        test = self.results.get("scores", {}).get("test", {})
        own = head == self.recipe.get("task") and head not in test
        found: Mapping[str, Any] = test.get("replies" if own else head, {})
        return found


def kept(results: Path, paper: str, recipe: Path | None) -> Kept | None:
    if recipe is None:
        return None
    path = results / paper / f"{recipe.name.removesuffix('.yaml')}.json"
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Kept(found["recipe"], found["results"], tuple(found.get("seeds", ())))
    except (ValueError, KeyError, TypeError):
        raise BadData(
            f"{path} holds no results; remove it, and run heartfelt reproduce {paper} --missing"
        ) from None


def is_missing(row: Row, found: Kept | None) -> bool:
    """Is there a column that the paper fills or that the row is to be scored for, and that we have not?"""
    return (
        found is None
        or any(found.figure(*row.head(column)) is None for column in row.paper)
        or not all(found.scored(task) for task in row.score)
    )


def beside(paper: Paper, key: str, place: Place, scale: str) -> Table:
    """One table: for each column the paper's figure and ours."""
    table = paper.tables[key]
    headings = [text for title in table.columns.values() for text in (f"{title}, paper", "ours")]
    rows = []
    for row in table.rows:
        found = kept(place.results, paper.name, recipe_path(place.recipes, paper.name, row, scale))
        rows.append((row.row, *_figures(row, table, found), *_facts(row, found)))
    return Table(
        f"{paper.name}: {table.title}", ("system", *headings, "parameters", "minutes"), tuple(rows),
        " ".join(_notes(paper, table, place, scale)),
    )  # fmt: skip


def _figures(row: Row, table: PaperTable, found: Kept | None) -> Iterator[str]:
    for column in table.columns:
        theirs, digits = row.paper.get(column), METRICS[column.rpartition(".")[2]].digits
        yield "–" if theirs is None else f"{theirs:.{digits}f}"
        ours = found.figure(*row.head(column)) if found else None
        yield _shown(ours, digits) if ours else "–" if theirs is None else ""


def _shown(figure: Any, digits: int) -> str:
    if isinstance(figure, Mapping):
        spread = "" if figure["sd"] is None else f" ± {figure['sd']:.{digits}f}"
        return f"{figure['mean']:.{digits}f}{spread} ({len(figure['values'])} seeds)"
    value, low, high = figure
    return f"{value:.{digits}f}" + ("" if low is None else f" [{low:.{digits}f}, {high:.{digits}f}]")


def _facts(row: Row, found: Kept | None) -> tuple[str, str]:
    if found is None:
        return "", "" if row.recipe else "–"
    return f"{found.results['parameters']:,}", f"{found.results['minutes']:g}"


def _notes(paper: Paper, table: PaperTable, place: Place, scale: str) -> Iterator[str]:
    """What stands in for what, and why a row is not there: each said once."""
    unrun, nowhere, told = [], [], [table.note]
    for row in table.rows:
        path = recipe_path(place.recipes, paper.name, row, scale)
        found = kept(place.results, paper.name, path)
        if found:
            told.append(str(found.recipe.get("note") or ""))
        if row.reason:
            told.append(f"{row.row}: {row.reason}")
        elif path is None:
            nowhere.append(row.row)
        elif is_missing(row, found):
            unrun.append(row.row)
    yield from dict.fromkeys(filter(None, told))
    if nowhere:
        yield f"No recipe at {scale} scale: {'; '.join(nowhere)}."
    if unrun:
        yield f"Not run yet: {'; '.join(unrun)}."
