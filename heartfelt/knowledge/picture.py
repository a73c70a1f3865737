"""A picture of what was found: keywords on the left, concepts on the right, relations on the lines between.

As a page (one HTML file, nothing fetched) or as a PNG.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.errors import InvalidValue, need
from heartfelt.files import writing
from heartfelt.knowledge.ckece import Finding, in_words
from heartfelt.report import write_page

_ROW, _WIDTH = 34, 720  # of the drawing, in points
_LEFT, _RIGHT = 170, 470  # where lines begin and end
_WARM, _SOFT = "#d9603b", "#667085"
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # behind a label, so that no line crosses it


@dataclass(frozen=True)
class Node:
    name: str
    y: float


@dataclass(frozen=True)
class Link:
    start: float  # y of the keyword
    end: float  # y of the concept
    label: str
    width: float  # of the line: the better the score, the wider
    finding: Finding


@dataclass(frozen=True)
class Drawing:
    keywords: tuple[Node, ...]
    links: tuple[Link, ...]
    height: float
    width: float = _WIDTH
    left: float = _LEFT
    right: float = _RIGHT


def draw(findings: Sequence[Finding]) -> Drawing:
    """A row a concept; a keyword stands at the middle of its own."""
    if not findings:
        raise InvalidValue("There is nothing to draw: no concept was found")
    by_keyword: dict[str, list[Finding]] = {}
    for found in findings:
        by_keyword.setdefault(found.keyword, []).append(found)
    best = max(abs(found.score) for found in findings) or 1.0
    keywords, links, row = [], [], 0
    for keyword, concepts in by_keyword.items():
        middle = _ROW * (row + len(concepts) / 2)
        keywords.append(Node(keyword, middle))
        for found in concepts:
            # An arrow on the side to which the edge goes.
            words = in_words(found.relation)
            label = f"← {words}" if found.backwards else f"{words} →"
            width = 1 + 3 * max(0.0, found.score) / best
            links.append(Link(middle, _ROW * (row + 0.5), label, width, found))
            row += 1
    return Drawing(tuple(keywords), tuple(links), _ROW * row)


def write_html(path: Path, text: str, findings: Sequence[Finding]) -> None:
    write_page(path, "concepts.html", text=text, drawing=draw(findings), findings=findings)


def write_png(path: Path, findings: Sequence[Finding]) -> None:
    drawing = draw(findings)
    need("matplotlib", "knowledge", "A PNG picture")
    figures = need("matplotlib.figure", "knowledge", "A PNG picture")
    figure = figures.Figure(figsize=(drawing.width / 72, drawing.height / 72), dpi=144, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.axis("off")
    for link in drawing.links:
        axes.plot((_LEFT, _RIGHT), (link.start, link.end), color=_WARM, linewidth=link.width, alpha=0.35)
        x, y = (_LEFT + 2 * _RIGHT) / 3, (link.start + 2 * link.end) / 3
        axes.text(x, y, link.label, ha="center", va="center", fontsize=8, color=_SOFT, bbox=_PAPER)
        axes.text(_RIGHT + 8, link.end, link.finding.concept, va="center", fontsize=10)
    for node in drawing.keywords:
        axes.text(_LEFT - 8, node.y, node.name, ha="right", va="center", fontsize=11, weight="bold")
    with writing(path, "wb") as file:
        figure.savefig(file, format="png")
