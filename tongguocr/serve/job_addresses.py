"""The addresses of jobs: a book in, its progress, and its pages as they are done, in any format.

POST /v1/jobs, GET and DELETE /v1/jobs/ID, GET /v1/jobs/ID/pages/N, GET /v1/jobs/ID/result. There is no list
of jobs: who knows a job's name, which nobody can guess, has it.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from starlette.background import BackgroundTask

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS
from tongguocr.serve import describe
from tongguocr.serve.jobs import Job, JobOptions, JobReader, JobStore, prepare_job
from tongguocr.serve.queue import Budget, Deadline, RequestQueue, StatusError
from tongguocr.serve.results import book_result, page_result, zip_result
from tongguocr.serve.upload import STYLES, ReadOptions, is_true, parse_options, receive_file
from tongguocr.serve.workers import Readers

BOOK = "book"


@dataclass(frozen=True)
class Jobs:
    """What the addresses of jobs need."""

    store: JobStore
    reader: JobReader
    incoming: Budget
    pages: RequestQueue
    books: RequestQueue
    """Those who wait for a page, and for all pages of a job: written by a thread each, so that neither these
    nor readings are kept waiting by a large book."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read jobs meanwhile."""
        reading = asyncio.create_task(self.reader.run())
        try:
            yield
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            self.pages.close()
            self.books.close()


def job_status(job: Job) -> dict[str, Any]:
    """A job and how far it is, as JSON."""
    failed = [
        {"page": number, "name": job.names[number - 1], "message": job.failed[number]}
        for number in sorted(job.failed)
    ]
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "created": job.created,
        "finished": job.finished,
        "pages": len(job.names),
        "done": len(job.done),
        "failed": failed,
    }


def make_router(jobs: Jobs, readers: Readers, queue: RequestQueue) -> APIRouter:
    """The addresses of jobs."""
    router, bounds, store = APIRouter(prefix="/v1/jobs"), queue.bounds, jobs.store

    @router.post(
        "",
        status_code=202,
        responses=describe.answers(
            "The job, which is read from now on.", describe.JOB, *describe.READ_REFUSALS, status=202
        ),
        openapi_extra=describe.joined(
            describe.parameters(name=describe.NAME, **describe.READINGS),
            describe.body(describe.form(("file",), file=describe.BOOK, **describe.READINGS), describe.BOOK),
        ),
    )
    async def create(request: Request) -> Response:
        """A PDF or a ZIP file of images -> a job, whose pages are read whether or not somebody waits."""
        store.refuse_if_full()
        folder = store.new_folder()
        try:
            name, options = await _receive(request, folder)
            with queue.admit() as deadline:
                work = partial(readers.call, prepare_job, folder / "source", bounds)
                sources = await queue.run(work, deadline, request.is_disconnected)
            store.refuse_if_full()
            job = store.add(folder, name, JobOptions(options.direction, options.turn), sources)
        except OSError as error:
            raise StatusError(507, f"The server cannot keep this file ({error.strerror}).") from None
        finally:
            if folder.name not in store.jobs:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        jobs.reader.add(job)
        return JSONResponse(job_status(job), 202, {"Location": f"/v1/jobs/{job.id}"})

    async def _receive(request: Request, folder: Path) -> tuple[str, ReadOptions]:
        try:
            with jobs.incoming.account() as take:
                async with asyncio.timeout(bounds.job_upload_seconds):
                    return await receive_file(request, folder / "source", bounds, take)
        except TimeoutError:
            raise StatusError(
                408, f"The request did not arrive within {bounds.job_upload_seconds:g} seconds."
            ) from None

    @router.get(
        "/{id}",
        responses=describe.answers("The job.", describe.JOB, 401, 404),
        openapi_extra=describe.parameters("path", id=describe.ID),
    )
    async def tell(request: Request) -> Response:
        """How far a job is."""
        return JSONResponse(job_status(_job(request)))

    @router.delete(
        "/{id}",
        responses=describe.answers("The job as it was left.", describe.JOB, 401, 404),
        openapi_extra=describe.parameters("path", id=describe.ID),
    )
    async def cancel(request: Request) -> Response:
        """Read no more of a job; what has been read stays. A job that is finished is removed."""
        job = _job(request)
        if job.finished is None:
            store.cancel(job)
        else:
            await asyncio.to_thread(store.remove, job)
        return JSONResponse(job_status(job))

    @router.get(
        "/{id}/pages/{number}",
        response_class=Response,
        responses=describe.answers("The page, in the wanted format.", None, 400, 401, 404, 409, 422, 503),
        openapi_extra=describe.joined(
            describe.parameters("path", id=describe.ID, number=describe.PAGE_NUMBER),
            describe.parameters(**describe.STYLES),
        ),
    )
    async def page(request: Request) -> Response:
        """A page of a job, as soon as it is read."""
        options = parse_options(request.query_params, STYLES)
        job, written = _job(request), request.path_params["number"]
        if not (written.isascii() and written.isdecimal() and len(written) < 9):
            raise InputError(f"{written[:20]!r} is no number of a page.")
        with jobs.pages.admit() as deadline:
            work = partial(page_result, job, int(written), options, bounds)
            data = await jobs.pages.run(work, deadline, request.is_disconnected)
        return Response(data, media_type=FORMATS[options.format].media_type)

    @router.get(
        "/{id}/result",
        response_class=Response,
        responses=describe.BOOKS | describe.refuses(400, 401, 404, 409, 503),
        openapi_extra=describe.joined(
            describe.parameters("path", id=describe.ID),
            describe.parameters(**describe.STYLES, book=describe.AS_BOOK),
        ),
    )
    async def result(request: Request) -> Response:
        """All pages of a job that have been read so far: a ZIP file, or with `book` one file."""
        written = dict(request.query_params)
        as_book = is_true(written, BOOK)
        written.pop(BOOK, None)
        options, job = parse_options(written, STYLES), _job(request)
        return await _result(request, job, options, as_book)

    async def _result(request: Request, job: Job, options: ReadOptions, as_book: bool) -> Response:
        format = FORMATS[options.format]
        ending, media = (format.ending, format.media_type) if as_book else (".zip", "application/zip")
        name = f"{Path(job.name).stem or 'job'}{ending}"
        # However long it takes: a book of large pictures is written for minutes.
        with jobs.books.admit(Deadline(math.inf)) as deadline:
            folder = Path(tempfile.mkdtemp(prefix="tongguocr-"))
            path = folder / f"result{ending}"
            write = book_result if as_book else zip_result
            work = partial(write, job, options, path, bounds, jobs.books.check)
            try:
                await jobs.books.run(work, deadline, request.is_disconnected)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        clean = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(path, media_type=media, filename=name, background=clean)

    def _job(request: Request) -> Job:
        return store.find(request.path_params["id"])

    return router
