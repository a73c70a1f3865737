"""Reports that people look at: one HTML file, no scripts, nothing fetched, light and dark."""

from pathlib import Path
from typing import Any

import jinja2

import heartfelt
from heartfelt.files import writing

_PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters["thousands"] = lambda number: f"{number:,}"
_PAGES.filters["percent"] = lambda share: f"{100 * share:.1f} %"


def render(template: str, **values: Any) -> str:
    """A page from heartfelt/templates; every template extends page.html."""
    return _PAGES.get_template(template).render(version=heartfelt.__version__, **values)


def write_page(path: Path, template: str, **values: Any) -> None:
    page = render(template, **values)
    with writing(path) as file:
        file.write(page)
