"""The service as an app: its addresses, and one sentence for whatever is refused.

The addresses are in read_addresses, job_addresses and about_addresses; here are those who stand around them:
the key, metrics and the log, pages in browsers, refusals.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tongguocr.errors import InputError
from tongguocr.serve import about_addresses, job_addresses, read_addresses
from tongguocr.serve.chat import render_error
from tongguocr.serve.jobs import JobStore
from tongguocr.serve.observe import Log, Metrics, Observed
from tongguocr.serve.queue import RETRY_AFTER, RequestQueue
from tongguocr.serve.state import check_key, make_state
from tongguocr.serve.workers import Readers
from tongguocr.version import __version__

ABOUT = "Reads Chinese historical documents: pictures of pages in, their text in reading order out."


def make_app(
    readers: Readers,
    queue: RequestQueue,
    key: str | None = None,
    store: JobStore | None = None,
    origins: Sequence[str] = (),
    log: Log | None = None,
) -> FastAPI:
    """The service with these readers.

    With a key, only for clients that have it; with a store, jobs are taken, too. Pages in browsers may use it
    if they come from one of the origins.
    """
    state = make_state(readers, queue, key, store)
    # The usual pages of documentation fetch scripts from elsewhere.
    app = FastAPI(
        title="TongGuOCR",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.shared = state
    _add_error_handlers(app)
    _add_middleware(app, state.metrics, origins, log)
    app.include_router(about_addresses.for_everybody)
    for router in (about_addresses.router, read_addresses.router):
        app.include_router(router, dependencies=[Depends(check_key)])
    if state.jobs is not None:
        app.include_router(job_addresses.router, dependencies=[Depends(check_key)])
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if app.state.shared.jobs is None:
        yield
        return
    async with app.state.shared.jobs.running():
        yield


def _add_middleware(app: FastAPI, metrics: Metrics, origins: Sequence[str], log: Log | None) -> None:
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Location", "Retry-After", "Content-Disposition", read_addresses.WARNING],
        )
    # Added last, so it stands around everything else.
    app.add_middleware(Observed, metrics=metrics, log=log)


def _add_error_handlers(app: FastAPI) -> None:
    """Sentences in OpenAI's shape for every kind of fault; only those of the program itself are logged."""

    def answer(tell: Callable[[Any], tuple[int, str]]) -> Callable[[Request, Any], Awaitable[Response]]:
        async def handle(request: Request, error: Any) -> Response:
            status, sentence = tell(error)
            headers = {"Retry-After": str(RETRY_AFTER)} if status == 503 else None
            return JSONResponse(render_error(status, sentence), status, headers)

        return handle

    usual = {404: "There is no such address here.", 405: "This address takes another method."}
    app.add_exception_handler(InputError, answer(lambda error: (getattr(error, "status", 400), str(error))))
    app.add_exception_handler(ClientDisconnect, answer(lambda _: (499, "The client has gone.")))
    app.add_exception_handler(
        HTTPException, answer(lambda error: (error.status_code, usual.get(error.status_code, error.detail)))
    )
    fault = "The server made a mistake with this request; its log says more."
    app.add_exception_handler(Exception, answer(lambda _: (500, fault)))
