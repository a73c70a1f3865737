"""A table of words and figures, in whatever form it is wanted: on a terminal, as Markdown, as LaTeX."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult

from heartfelt.terminal import printable, table


class Figures:
    """A table of figures. Columns that do not fit beside each other stand below, under the first column again:
    neither a name nor a figure is ever cut."""

    def __init__(self, *columns: str, folded: bool = False) -> None:
        """folded: headings may take two lines."""
        self.columns = [printable(column) for column in columns]
        self.rows: list[tuple[str, ...]] = []
        self.folded = folded

    def add_row(self, *cells: str) -> None:
        self.rows.append(tuple(map(printable, cells)))

    def _width(self, column: int) -> int:
        cells = max((cell_len(row[column]) for row in self.rows), default=0)
        words = self.columns[column].split(" ") if self.folded and column else [self.columns[column]]
        halves = ((" ".join(words[:i]), " ".join(words[i:])) for i in range(len(words)))
        return max(cells, min(max(map(cell_len, lines)) for lines in halves))

    def _blocks(self, width: int) -> Iterator[list[int]]:
        block, used = [0], self._width(0)
        for column in range(1, len(self.columns)):
            needed = 2 + self._width(column)
            if used + needed > width and len(block) > 1:
                yield block
                block, used = [0], self._width(0)
            block.append(column)
            used += needed
        yield block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, block in enumerate(self._blocks(options.max_width)):
            if number:
                yield ""
            made = table()
            for column in block:
                made.add_column(
                    self.columns[column], justify="right" if column else "left", no_wrap=not (self.folded and column),
                    width=self._width(column),
                )  # fmt: skip
            for row in self.rows:
                made.add_row(*(row[column] for column in block))
            yield made


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()  # (row, column) of the best system's figure
    texts: int = 1  # columns that are words

    def figures(self) -> Figures:
        made = Figures(*self.columns)
        for row in self.rows:
            made.add_row(*row)
        return made

    def markdown(self) -> str:
        rows = [["**" + _md(text) + "**" if (r, c) in self.best else _md(text) for c, text in enumerate(row)]
                for r, row in enumerate(self.rows)]  # fmt: skip
        lines = [
            f"### {_md(self.title)}",
            "",
            _line(map(_md, self.columns)),
            _line(["---"] * len(self.columns)),
        ]
        return "\n".join([*lines, *map(_line, rows), "", *([_md(self.note), ""] if self.note else [])])

    def latex(self) -> str:
        rows = [[rf"\textbf{{{tex(text)}}}" if (r, c) in self.best else tex(text) for c, text in enumerate(row)]
                for r, row in enumerate(self.rows)]  # fmt: skip
        body = [" & ".join(row) + r" \\" for row in rows]
        shape = "l" * self.texts + "r" * (len(self.columns) - self.texts)
        caption = tex(f"{self.title}. {self.note}".strip())
        return "\n".join([
            r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{shape}}}", r"\hline",
            " & ".join(map(tex, self.columns)) + r" \\", r"\hline", *body, r"\hline", r"\end{tabular}",
            rf"\caption{{{caption}}}", r"\end{table}",
        ])  # fmt: skip


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    return re.sub(r"([\\|*_<>`\[\]])", r"\\\1", text)


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\to$",
        "–": "--", "κ": r"$\kappa$", "α": r"$\alpha$", "<": r"\textless{}", ">": r"\textgreater{}"}  # fmt: skip


def tex(text: str) -> str:
    return "".join(_TEX.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)
