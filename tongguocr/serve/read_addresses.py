"""The addresses that read one picture: POST /v1/read, a page in any format; POST /v1/chat/completions.

Everything that costs time or memory happens in its turn, where pages are read.
"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from tongguocr.formats import FORMATS
from tongguocr.serve import describe
from tongguocr.serve.bounded import load_picture
from tongguocr.serve.chat import parse_request, render_completion
from tongguocr.serve.models import Models, Reply
from tongguocr.serve.queue import Bounds, Deadline
from tongguocr.serve.results import read_upload
from tongguocr.serve.state import receive_in_time, state_of
from tongguocr.serve.upload import receive_body, receive_upload

WARNING = "X-Warning"
"""The header that says what is to be said of a page: it has no text, or text that should not be trusted."""
router = APIRouter(prefix="/v1")


@router.post(
    "/read",
    response_class=Response,
    responses=describe.answers("The page, in the wanted format.", None, *describe.READ_REFUSALS),
    openapi_extra=describe.READ,
)
async def read(request: Request) -> Response:
    """A page's image -> the page as read, in the format that is wanted."""
    state = state_of(request)
    queue, bounds = state.queue, state.queue.bounds
    queue.refuse_if_full()
    deadline = Deadline(bounds.seconds)
    with queue.incoming.account() as take:
        upload = await receive_in_time(receive_upload(request, bounds, take), bounds.upload_seconds)
        with queue.admit(deadline), state.metrics.reading():
            work = partial(state.readers.call, read_upload, upload, bounds)
            data, warning = await queue.run(work, deadline, request.is_disconnected)
    # Only JSON has a place for it in the file.
    headers = {WARNING: warning} if warning else None
    return Response(data, headers=headers, media_type=FORMATS[upload.options.format].media_type)


@router.post(
    "/chat/completions",
    responses=describe.answers("The text.", describe.COMPLETION, *describe.READ_REFUSALS),
    openapi_extra=describe.body(json=describe.CHAT),
)
async def complete(request: Request) -> Response:
    """The picture of a chat -> what is written in it."""
    state = state_of(request)
    queue, bounds, readers = state.queue, state.queue.bounds, state.readers
    queue.refuse_if_full()
    deadline = Deadline(bounds.seconds)
    with queue.incoming.account() as take:
        body = await receive_in_time(receive_body(request, bounds, take), bounds.upload_seconds)
        asked = parse_request(body, readers.name, bounds)
        with queue.admit(deadline), state.metrics.reading():
            wanted = asked.max_tokens, asked.alternatives
            work = partial(readers.call, read_picture, asked.picture, *wanted, bounds)
            reply = await queue.run(work, deadline, request.is_disconnected)
    return JSONResponse(render_completion(reply, asked, readers.name))


def read_picture(models: Models, picture: bytes, max_tokens: int, alternatives: int, bounds: Bounds) -> Reply:
    """The whole way of the picture of a chat."""
    return models.reply(load_picture(picture, "image_url", bounds).pixels, max_tokens, alternatives)
