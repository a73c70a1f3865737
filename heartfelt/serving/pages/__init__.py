"""The page at `/`: a talk, and why it went so. Templates and static files lie here; nothing is fetched elsewhere."""

from pathlib import Path

import jinja2
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

import heartfelt
from heartfelt.agent import helplines
from heartfelt.errors import InvalidValue
from heartfelt.labels import EMOTIONS, GROUPS, INTENTS, NEUTRAL
from heartfelt.serving.pages.words import WORDS
from heartfelt.serving.problems import Refused
from heartfelt.serving.service import service_of

routes = APIRouter(include_in_schema=False)
_HERE = Path(__file__).parent
_STATIC = {
    "chat.js": "text/javascript; charset=utf-8",
    "why.js": "text/javascript; charset=utf-8",
    "chat.css": "text/css; charset=utf-8",
    "heart.svg": "image/svg+xml",
}
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip


@routes.get("/")
def page(request: Request, lang: str = "") -> HTMLResponse:
    """lang: en or ar; else what the browser asks for."""
    own = service_of(request).settings
    language = lang if lang in WORDS else _preferred(request.headers.get("accept-language", ""))
    lines = helplines.load()
    names = [(code, getattr(place, language)) for code, place in lines.countries.items()]
    shown = {code: lines.show(code, "suicide", language) for code in lines.countries}
    shown[""] = lines.show(None, "suicide", language)
    html = _TEMPLATES.get_template("chat.html").render(
        say=WORDS[language], language=language, direction="rtl" if language == "ar" else "ltr",
        other="en" if language == "ar" else "ar", countries=sorted(names, key=lambda pair: pair[1]),
        lines=shown, here=_country(own.locale), intents=(*INTENTS, NEUTRAL), version=heartfelt.__version__,
        groups={emotion: group for group, names in GROUPS.items() for emotion in names}, emotions=EMOTIONS,
    )  # fmt: skip
    return HTMLResponse(html)


@routes.get("/static/{name}")
def static(name: str) -> Response:
    if name not in _STATIC:
        raise Refused(404, "There is no such file")
    return Response((_HERE / "static" / name).read_bytes(), media_type=_STATIC[name])


def _preferred(asked: str) -> str:
    first = asked.split(",")[0].strip().lower()
    return "ar" if first.startswith("ar") else "en"


def _country(locale: str | None) -> str:
    try:
        found = helplines.country_of(locale)
    except InvalidValue:
        return ""
    return found if found in helplines.load().countries else ""
