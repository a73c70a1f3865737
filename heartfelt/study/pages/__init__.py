"""The pages of a study: one shell for raters, one for whoever leads it. Nothing is fetched elsewhere, no build step"""

from pathlib import Path

import jinja2
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from heartfelt.agent import helplines
from heartfelt.serving import pages as chat_page
from heartfelt.serving.problems import Refused
from heartfelt.study.pages.words import WORDS
from heartfelt.study.service import service_of

routes = APIRouter(include_in_schema=False)
_HERE = Path(__file__).parent
_JS, _CSS = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_STATIC = {
    "study.js": _JS, "parts.js": _JS, "rate.js": _JS, "sort.js": _JS, "live.js": _JS, "admin.js": _JS,
    "study.css": _CSS, "heart.svg": "image/svg+xml",
}  # fmt: skip
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip


@routes.get("/")
def front(request: Request) -> HTMLResponse:
    """Where raters arrive who have no link of their own."""
    return _shell(request, "")


@routes.get("/r/{token}")
def rater(token: str, request: Request) -> HTMLResponse:
    """A rater's own page. The shell is the same for everybody; what it shows is asked for with the token."""
    return _shell(request, "../")


@routes.get("/admin")
def admin(request: Request) -> HTMLResponse:
    return HTMLResponse(_TEMPLATES.get_template("admin.html").render(title=_title(request)))


@routes.get("/static/{name}")
def static(name: str) -> Response:
    if name not in _STATIC:
        raise Refused(404, "There is no such file")
    folder = _HERE if name != "heart.svg" else Path(chat_page.__file__).parent  # the chat page's
    return Response((folder / "static" / name).read_bytes(), media_type=_STATIC[name])


def _title(request: Request) -> str:
    study = service_of(request).store.study
    return study.title or study.name


def _shell(request: Request, root: str) -> HTMLResponse:
    study = service_of(request).store.study
    say = WORDS[study.language]
    questions = [
        {"name": one.name, "ask": one.ask, "low": one.low, "high": one.high, "labels": list(one.labels)}
        for one in study.questions
    ]
    survey = [
        {"name": one.name, "ask": one.ask, "options": list(one.options), "required": one.required}
        for one in study.survey
    ]
    facts = {
        "kind": study.kind, "root": root, "access": study.access, "worker": study.worker, "questions": questions,
        "survey": survey, "collect": {"least": study.collect.least_turns, "most": study.collect.most_turns},
        "consent": study.consent or say["consent_text"], "bonus": study.bonus,
        "instructions": study.instructions or say[f"instructions_{study.kind}"], "words": say,
    }  # fmt: skip
    lines = helplines.load().show(None, "suicide", study.language) if study.kind == "collect" else ""
    html = _TEMPLATES.get_template("study.html").render(
        say=say, title=_title(request), language=study.language, root=root, facts=facts, lines=lines,
        direction="rtl" if study.language == "ar" else "ltr",
    )  # fmt: skip
    return HTMLResponse(html)
