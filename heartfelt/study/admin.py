"""For whoever leads a study, behind its key: how far it is, links, answers, the report, a backup while it runs."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from heartfelt.errors import InvalidValue
from heartfelt.study import records
from heartfelt.study.service import service_of
from heartfelt.study.status import status

routes = APIRouter()
Json = dict[str, Any]


class Links(BaseModel):
    count: int = Field(ge=1, le=500)


@routes.get("/admin/status")
def how_far(request: Request) -> Json:
    service = service_of(request)
    service.admit(request)
    return status(service.store)


@routes.post("/admin/links")
def links(body: Links, request: Request) -> Json:
    service = service_of(request)
    service.admit(request)
    base = str(request.base_url)
    return {"links": [f"{base}r/{service.store.join()}" for _ in range(body.count)]}


@routes.get("/admin/export")
def export(request: Request) -> Response:
    service = service_of(request)
    service.admit(request)
    if service.store.study.kind == "collect":
        from heartfelt.study.collection import dialogues

        lines = [dialogue.to_json() for dialogue in dialogues(service.store)]
    else:
        lines = [json.dumps(row, ensure_ascii=False) for row in records.rows(service.store)]
    return Response("".join(f"{line}\n" for line in lines), media_type="application/jsonl; charset=utf-8")


@routes.get("/admin/report")
def report(request: Request) -> Response:
    service = service_of(request)
    service.admit(request)
    from heartfelt.study.report import page, report_of

    return Response(page(report_of(service.store)), media_type="text/html; charset=utf-8")


@routes.post("/admin/backup")
def backup(request: Request) -> Response:
    """The database as it is now, as a file to keep."""
    service = service_of(request)
    service.admit(request)
    store = service.store
    if store.engine.dialect.name != "sqlite":
        raise InvalidValue("PostgreSQL has its own backups: pg_dump, while the study runs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "backup.db"
        store.backup(path)
        named = f'attachment; filename="{store.study.name}-{time.strftime("%Y%m%d-%H%M%S")}.db"'
        return Response(
            path.read_bytes(), media_type="application/vnd.sqlite3", headers={"Content-Disposition": named}
        )
