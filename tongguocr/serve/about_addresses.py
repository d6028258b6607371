"""The addresses that tell of the server: GET /v1/models, /metrics, and for everybody /health and /docs."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from tongguocr.serve import describe
from tongguocr.serve.chat import render_models
from tongguocr.serve.docs_page import render_docs
from tongguocr.serve.observe import METRICS_TYPE
from tongguocr.serve.state import state_of

for_everybody = APIRouter()
router = APIRouter()


@for_everybody.get("/health", responses=describe.answers("It is up.", describe.HEALTH))
async def health(request: Request) -> Response:
    """Whether the server is up, and how many requests it has."""
    state = state_of(request)
    return JSONResponse({"status": "ok", "model": state.readers.name, "requests": state.queue.pending})


@for_everybody.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """The addresses and their fields, for people."""
    return HTMLResponse(render_docs(request.app.openapi()))


@router.get("/metrics", response_class=Response, responses=describe.METRICS)
async def tell_metrics(request: Request) -> Response:
    """What the server did, for Prometheus."""
    return Response(state_of(request).metrics.render(), media_type=METRICS_TYPE)


@router.get("/v1/models", responses=describe.answers("It.", describe.MODELS, 401))
async def list_models(request: Request) -> Response:
    """The one model."""
    state = state_of(request)
    return JSONResponse(render_models(state.readers.name, state.created))
