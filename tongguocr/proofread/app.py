"""The addresses: requests in, pages, pictures and events out; one sentence for whatever is refused.

Addresses have numbers of pages and names of formats, never names of files. Calls that look at files run in
threads, so that one large scan keeps nobody waiting.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles

from tongguocr.errors import InputError
from tongguocr.formats import find_format
from tongguocr.proofread.edits import EditError
from tongguocr.proofread.guard import Access, Guard
from tongguocr.proofread.journal import NotWrittenError
from tongguocr.proofread.models import (
    BookData,
    Conflict,
    EditsAnswer,
    EditsRequest,
    Event,
    Hits,
    PageAnswer,
    PageData,
    Problem,
    ReadRequest,
    Record,
    StateAnswer,
    StateRequest,
    Tiles,
)
from tongguocr.proofread.output import export_book, export_page
from tongguocr.proofread.page_data import page_data
from tongguocr.proofread.proofreading import Proofreading
from tongguocr.proofread.store import ConflictError, record
from tongguocr.version import __version__

STATIC = Path(__file__).parent / "static"
"""The built page (frontend/)."""
MAX_HITS = 10_000
REFUSED: dict[int | str, dict[str, Any]] = {404: {"model": Problem}, 422: {"model": Problem}}

Width = Annotated[int | None, Query(ge=1, le=100_000)]


def make_app(work: Proofreading, access: Access = Access()) -> FastAPI:
    """The application for one book."""
    # The usual pages of documentation fetch scripts from elsewhere.
    app = FastAPI(title="TongGuOCR", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    _add_error_handlers(app)
    app.include_router(_pages(work), prefix="/api", responses=REFUSED)
    app.include_router(_pictures(work), prefix="/api", responses=REFUSED)
    app.include_router(_book(work), prefix="/api", responses=REFUSED)
    if (STATIC / "index.html").exists():
        app.mount("/", StaticFiles(directory=STATIC, html=True))
    app.add_middleware(Guard, access=access)
    return app


def _pages(work: Proofreading) -> APIRouter:
    api = APIRouter()

    @api.get("/pages/{number}")
    def get_page(number: int) -> PageAnswer:
        """A page as it is now, and as it was read."""
        return work.page(number)

    @api.post("/pages/{number}/edits", responses={409: {"model": Conflict}}, response_model=EditsAnswer)
    def post_edits(number: int, request: EditsRequest) -> EditsAnswer | Response:
        """Edits, all or none; on the disk before this answers."""
        try:
            state, inverse = work.store.edit(number, request)
        except ConflictError as conflict:
            version, page = work.render(work.store.state(number))
            others = [record(v, row) for v, row in conflict.rows]
            told = Conflict.model_construct(version=version, page=page, others=others)
            return Response(told.model_dump_json(by_alias=True), 409, media_type="application/json")
        version, page = work.render(state)
        return EditsAnswer.model_construct(version=version, page=page, inverse=inverse)

    @api.get("/pages/{number}/history")
    def get_history(number: int) -> list[Record]:
        """All that ever happened to the page."""
        return work.history(number)

    @api.get("/pages/{number}/versions/{version}")
    def get_version(number: int, version: int) -> PageData:
        """The page as it was after so many records of its history."""
        return page_data(work.store.version(number, version))

    @api.post("/pages/{number}/state")
    def post_state(number: int, request: StateRequest) -> StateAnswer:
        """Mark the page as proofread; its files are written before this answers."""
        state = work.store.mark(number, request.proofread, request.who, request.client)
        work.writer.flush(number)
        return StateAnswer(version=state.version, state=work.overview.state(number))

    @api.post("/pages/{number}/read", status_code=202)
    def post_read(number: int, request: ReadRequest) -> None:
        """Read the page again; events tell when it is done."""
        work.read(number, request)

    return api


def _pictures(work: Proofreading) -> APIRouter:
    api = APIRouter()

    def picture(request: Request, number: int, angle: int, data: bytes) -> Response:
        tag = f'"{work.pictures.version(work.book.page(number), angle)}"'
        headers = {"Cache-Control": "private, no-cache", "ETag": tag}
        return Response(data, media_type="image/jpeg", headers=headers)

    def unchanged(request: Request, number: int, angle: int) -> Response | None:
        tag = f'"{work.pictures.version(work.book.page(number), angle)}"'
        return (
            Response(status_code=304, headers={"ETag": tag})
            if tag in request.headers.get("if-none-match", "")
            else None
        )

    @api.get("/pages/{number}/image", response_class=Response)
    def get_image(request: Request, number: int, width: Width = None) -> Response:
        """The whole page as a JPEG, at most so wide."""
        page, angle = work.book.page(number), work.angle(number)
        return unchanged(request, number, angle) or picture(
            request, number, angle, work.pictures.whole(page, angle, width)
        )

    @api.get("/pages/{number}/tiles.json")
    def get_tiles(number: int) -> Tiles:
        """What tiles there are."""
        return work.pictures.tiles(work.book.page(number), work.angle(number))

    @api.get("/pages/{number}/tiles/{level}/{column}_{row}.jpg", response_class=Response)
    def get_tile(request: Request, number: int, level: int, column: int, row: int) -> Response:
        """One tile as a JPEG."""
        page, angle = work.book.page(number), work.angle(number)
        return unchanged(request, number, angle) or picture(
            request, number, angle, work.pictures.tile(page, angle, level, column, row)
        )

    @api.get("/pages/{number}/thumbnail", response_class=Response)
    def get_thumbnail(request: Request, number: int) -> Response:
        """A small picture."""
        page, angle = work.book.page(number), 0
        if work.overview.summary(number).known:
            angle = work.angle(number)
        return unchanged(request, number, angle) or picture(
            request, number, angle, work.pictures.thumbnail(page, angle)
        )

    return api


def _book(work: Proofreading) -> APIRouter:
    api = APIRouter()

    @api.get("/book")
    def get_book() -> BookData:
        """The book and its pages."""
        return work.data()

    @api.get("/search")
    def get_search(
        q: Annotated[str, Query(max_length=1000)],
        fold: bool = False,
        limit: Annotated[int, Query(ge=0, le=MAX_HITS)] = 200,
    ) -> Hits:
        """Where a text stands."""
        return work.search(q, fold, limit)

    @api.get("/changes.tsv", response_class=Response)
    def get_changes() -> Response:
        """What was changed."""
        return _file("changes.tsv", work.changes(), "text/tab-separated-values; charset=utf-8")

    @api.get("/export", response_class=Response)
    def get_export(format: str, page: int | None = None) -> Response:
        """A page, or all that were read, in one of our formats."""
        work.writer.flush()
        if page is not None:
            name, data = export_page(work.store, page, format)
            return _file(name, data, find_format(format).media_type)
        name, data = export_book(work.store, format)
        zipped = name.endswith(".zip")
        return _file(name, data, "application/zip" if zipped else find_format(format).media_type)

    @api.get("/events", response_class=StreamingResponse, responses={200: {"model": Event}})
    def get_events() -> StreamingResponse:
        """What happens from now on."""
        return StreamingResponse(work.events.stream(), media_type="text/event-stream")

    return api


def _file(name: str, data: bytes, media_type: str) -> Response:
    """A file to be kept, never to be shown as a page of this site."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(data, media_type=media_type, headers=headers)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    def not_there(request: Request, error: InputError) -> Response:
        return JSONResponse({"detail": str(error)}, 404 if request.method == "GET" else 422)

    @app.exception_handler(NotWrittenError)
    def not_written(request: Request, error: NotWrittenError) -> Response:
        return JSONResponse({"detail": str(error)}, 503)

    @app.exception_handler(EditError)
    def not_applied(request: Request, error: EditError) -> Response:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(RequestValidationError)
    def not_understood(request: Request, error: RequestValidationError) -> Response:
        """One sentence; what was sent is not sent back."""
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return JSONResponse(
            {"detail": f"{place}: {first['msg']}."[:500].encode(errors="replace").decode()}, 422
        )
