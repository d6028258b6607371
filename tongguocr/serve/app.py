"""The addresses of the service: requests in, pages and completions out; one sentence for whatever is refused.

POST /v1/read, POST /v1/chat/completions, GET /v1/models, /health, /metrics, /docs and /openapi.json; those of
jobs are in job_addresses.py. Everything that costs time or memory happens in its turn, where pages are read.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import Depends, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS
from tongguocr.serve import describe
from tongguocr.serve.chat import parse_request, render_completion, render_error, render_models
from tongguocr.serve.docs_page import render_docs
from tongguocr.serve.job_addresses import Jobs, make_router
from tongguocr.serve.jobs import JobReader, JobStore
from tongguocr.serve.models import Models, Reply
from tongguocr.serve.observe import METRICS_TYPE, Log, Metrics, Observed
from tongguocr.serve.queue import RETRY_AFTER, Bounds, Budget, Deadline, RequestQueue, StatusError
from tongguocr.serve.results import read_upload
from tongguocr.serve.upload import load_picture, receive_body, receive_upload
from tongguocr.serve.workers import Readers
from tongguocr.version import __version__

T = TypeVar("T")
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
    bounds, created, metrics = queue.bounds, int(time.time()), Metrics()
    jobs = _make_jobs(store, readers, queue, metrics) if store is not None else None
    metrics.watch("requests_pending", "Requests that are read or wait for it", lambda: queue.pending)
    metrics.watch("workers", "Pages that are read at a time", lambda: queue.workers)

    def check_key(request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        wanted = key is None or (
            scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), key.encode())
        )
        if not wanted:
            raise StatusError(401, "This server wants a key: Authorization: Bearer KEY.")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if jobs is None:
            yield
        else:
            async with jobs.running():
                yield

    # The usual pages of documentation fetch scripts from elsewhere.
    app = FastAPI(
        title="TongGuOCR",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_error_handlers(app)
    _add_middleware(app, metrics, origins, log)
    authorised = [Depends(check_key)]

    @app.get("/health", responses=describe.answers("It is up.", describe.HEALTH))
    async def health() -> Response:
        """Whether the server is up, and how many requests it has."""
        return JSONResponse({"status": "ok", "model": readers.name, "requests": queue.pending})

    @app.get(
        "/metrics",
        dependencies=authorised,
        response_class=Response,
        responses=describe.METRICS,
    )
    async def tell_metrics() -> Response:
        """What the server did, for Prometheus."""
        return Response(metrics.render(), media_type=METRICS_TYPE)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        """The addresses and their fields, for people."""
        return HTMLResponse(render_docs(app.openapi()))

    @app.get("/v1/models", dependencies=authorised, responses=describe.answers("It.", describe.MODELS, 401))
    async def list_models() -> Response:
        """The one model."""
        return JSONResponse(render_models(readers.name, created))

    @app.post(
        "/v1/read",
        dependencies=authorised,
        response_class=Response,
        responses=describe.answers("The page, in the wanted format.", None, *describe.READ_REFUSALS),
        openapi_extra=describe.READ,
    )
    async def read(request: Request) -> Response:
        """A page's image -> the page as read, in the format that is wanted."""
        queue.refuse_if_full()
        deadline = Deadline(bounds.seconds)
        with queue.incoming.account() as take:
            upload = await _receive_in_time(receive_upload(request, bounds, take), bounds)
            with queue.admit(deadline), metrics.reading():
                work = partial(readers.call, read_upload, upload, bounds)
                data = await queue.run(work, deadline, request.is_disconnected)
        return Response(data, media_type=FORMATS[upload.options.format].media_type)

    @app.post(
        "/v1/chat/completions",
        dependencies=authorised,
        responses=describe.answers("The text.", describe.COMPLETION, *describe.READ_REFUSALS),
        openapi_extra=describe.body(json=describe.CHAT),
    )
    async def complete(request: Request) -> Response:
        """The picture of a chat -> what is written in it."""
        queue.refuse_if_full()
        deadline = Deadline(bounds.seconds)
        with queue.incoming.account() as take:
            body = await _receive_in_time(receive_body(request, bounds, take), bounds)
            asked = parse_request(body, readers.name, bounds)
            with queue.admit(deadline), metrics.reading():
                work = partial(
                    readers.call, read_picture, asked.picture, asked.max_tokens, asked.alternatives, bounds
                )
                reply = await queue.run(work, deadline, request.is_disconnected)
        return JSONResponse(render_completion(reply, asked, readers.name))

    if jobs is not None:
        app.include_router(make_router(jobs, readers, queue), dependencies=authorised)
    return app


def read_picture(models: Models, picture: bytes, max_tokens: int, alternatives: int, bounds: Bounds) -> Reply:
    """The whole way of the picture of a chat."""
    return models.reply(load_picture(picture, "image_url", bounds), max_tokens, alternatives)


def _make_jobs(store: JobStore, readers: Readers, queue: RequestQueue, metrics: Metrics) -> Jobs:
    for state in ("waiting", "reading"):
        metrics.watch(f"jobs_{state}", f"Jobs that are {state}", partial(store.count, state))
    reader = JobReader(store, readers, queue, metrics)
    incoming, bounds = Budget(queue.bounds.job_incoming), queue.bounds
    return Jobs(store, reader, incoming, RequestQueue(bounds), RequestQueue(bounds))


def _add_middleware(app: FastAPI, metrics: Metrics, origins: Sequence[str], log: Log | None) -> None:
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Location", "Retry-After", "Content-Disposition"],
        )
    # Added last, so it stands around everything else.
    app.add_middleware(Observed, metrics=metrics, log=log)


async def _receive_in_time(receiving: Awaitable[T], bounds: Bounds) -> T:
    try:
        async with asyncio.timeout(bounds.upload_seconds):
            return await receiving
    except TimeoutError:
        raise StatusError(
            408, f"The request did not arrive within {bounds.upload_seconds:g} seconds."
        ) from None


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
