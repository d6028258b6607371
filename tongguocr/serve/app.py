"""The addresses of the service: requests in, pages and completions out; one sentence for whatever is refused.

POST /v1/read, POST /v1/chat/completions, GET /v1/models, GET /health. Everything that costs time or memory
happens in its turn, in the thread that reads.
"""

from __future__ import annotations

import asyncio
import hmac
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, render_page
from tongguocr.page import Page
from tongguocr.serve.chat import parse_request, render_completion, render_error, render_models
from tongguocr.serve.models import Models
from tongguocr.serve.queue import RETRY_AFTER, Bounds, RequestQueue, StatusError
from tongguocr.serve.upload import Upload, load_picture, receive_body, receive_upload
from tongguocr.version import __version__

T = TypeVar("T")


def make_app(models: Models, queue: RequestQueue, key: str | None = None) -> FastAPI:
    """The service for these models; with a key, only for clients that have it."""
    bounds, created = queue.bounds, int(time.time())

    def check_key(request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        wanted = key is None or (
            scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), key.encode())
        )
        if not wanted:
            raise StatusError(401, "This server wants a key: Authorization: Bearer KEY.")

    # The usual pages of documentation fetch scripts from elsewhere.
    app = FastAPI(title="TongGuOCR", version=__version__, docs_url=None, redoc_url=None)
    _add_error_handlers(app)
    authorised = [Depends(check_key)]

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether the server is up, and how many requests it has."""
        return {"status": "ok", "model": models.name, "requests": queue.pending}

    @app.get("/v1/models", dependencies=authorised)
    async def list_models() -> dict[str, Any]:
        """The one model."""
        return render_models(models.name, created)

    @app.post("/v1/read", dependencies=authorised)
    async def read(request: Request) -> Response:
        """A page's image -> the page as read, in the format that is wanted."""
        with queue.admit() as deadline:
            upload = await _receive_in_time(receive_upload(request, bounds), bounds)
            data = await queue.run(
                lambda: read_upload(upload, models, bounds), deadline, request.is_disconnected
            )
        return Response(data, media_type=FORMATS[upload.options.format].media_type)

    @app.post("/v1/chat/completions", dependencies=authorised)
    async def complete(request: Request) -> Response:
        """The picture of a chat -> what is written in it."""
        with queue.admit() as deadline:
            asked = parse_request(
                await _receive_in_time(receive_body(request, bounds), bounds), models.name, bounds
            )

            def answer() -> dict[str, Any]:
                pixels = load_picture(asked.picture, "image_url", bounds)
                reply = models.reply(pixels, asked.max_tokens, asked.alternatives)
                return render_completion(reply, asked, models.name)

            return JSONResponse(await queue.run(answer, deadline, request.is_disconnected))

    return app


def read_upload(upload: Upload, models: Models, bounds: Bounds) -> bytes:
    """The whole way of one page, from its file to the file that is wanted."""
    options = upload.options
    page = models.read(upload.page(bounds), upload.known(bounds), options.direction, options.turn)
    return render(page, upload)


def render(page: Page, upload: Upload) -> bytes:
    """The page as a file.

    Some formats look for the page's image beside the file: in a folder of its own they find the client's, as
    it came, and none of the server's.
    """
    with tempfile.TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / "answer"
        if FORMATS[upload.options.format].image == "file" and upload.name != path.name:
            (Path(folder) / upload.name).write_bytes(upload.image)
        try:
            return render_page(page, path, upload.options.format, upload.options.style)
        except InputError as error:
            raise InputError(str(error).replace(str(path), upload.name)) from None


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
