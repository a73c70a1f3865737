"""For those who run it: /health, /ready, /metrics."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

import heartfelt
from heartfelt.serving.metrics import CONTENT_TYPE
from heartfelt.serving.service import service_of

routes = APIRouter(tags=["health"])


@routes.get("/health")
async def health() -> dict[str, str]:
    """The process lives."""
    return {"status": "ok", "version": heartfelt.__version__}


@routes.get("/ready")
def ready(request: Request) -> Response:
    """Should requests be sent here? 503 while no backend or no database answers."""
    why = service_of(request).not_ready()
    return JSONResponse({"status": why or "ready"}, 503 if why else 200)


@routes.get("/metrics")
def metrics(request: Request) -> Response:
    """Counts for Prometheus; never a word of text."""
    return Response(service_of(request).metrics.text(), media_type=CONTENT_TYPE)
