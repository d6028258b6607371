"""The addresses of jobs: a book in, its progress, and its pages as they are done, in any format.

POST /v1/jobs, GET and DELETE /v1/jobs/ID, GET /v1/jobs/ID/pages/N, GET /v1/jobs/ID/result. There is no list
of jobs: who knows a job's name, which nobody can guess, has it.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from starlette.background import BackgroundTask

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS
from tongguocr.serve import describe
from tongguocr.serve.bounded import list_source
from tongguocr.serve.jobs import SOURCE, Job, JobOptions
from tongguocr.serve.queue import Deadline, StatusError
from tongguocr.serve.results import book_result, page_result, zip_result
from tongguocr.serve.state import Jobs, jobs_of, receive_in_time, state_of
from tongguocr.serve.upload import STYLES, ReadOptions, is_true, parse_options, receive_file
from tongguocr.sources import SourcePage

BOOK = "book"
router = APIRouter(prefix="/v1/jobs")


def job_status(job: Job) -> dict[str, Any]:
    """A job and how far it is, as JSON."""
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "created": job.created,
        "finished": job.finished,
        "pages": len(job.names),
        "done": len(job.done),
        "failed": _told_of_pages(job, job.failed),
        "warnings": _told_of_pages(job, job.warnings),
    }


def _told_of_pages(job: Job, sentences: Mapping[int, str]) -> list[dict[str, Any]]:
    """Pages of which a sentence is to be told, in their order."""
    return [
        {"page": number, "name": job.names[number - 1], "message": sentences[number]}
        for number in sorted(sentences)
    ]


@router.post(
    "",
    status_code=202,
    responses=describe.answers(
        "The job, which is read from now on.", describe.JOB, *describe.READ_REFUSALS, status=202
    ),
    openapi_extra=describe.joined(
        describe.parameters(name=describe.NAME, **describe.OPENINGS),
        describe.body(describe.form(("file",), file=describe.BOOK, **describe.OPENINGS), describe.BOOK),
    ),
)
async def create(request: Request) -> Response:
    """A PDF or another file of pages -> a job, whose pages are read whether or not somebody waits."""
    jobs = jobs_of(request)
    if not state_of(request).readers.finds_lines:
        raise InputError("This server has no detector, and jobs need one.")
    jobs.store.refuse_if_full()
    folder = jobs.store.new_folder()
    try:
        name, options = await _receive(request, jobs, folder)
        sources = await _list(request, jobs, folder, options)
        jobs.store.refuse_if_full()
        wanted = JobOptions(options.direction, options.turn, options.password)
        job = jobs.store.add(folder, name, wanted, sources)
    except OSError as error:
        raise StatusError(507, f"The server cannot keep this file ({error.strerror}).") from None
    finally:
        if folder.name not in jobs.store.jobs:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    jobs.reader.add(job)
    return JSONResponse(job_status(job), 202, {"Location": f"/v1/jobs/{job.id}"})


async def _receive(request: Request, jobs: Jobs, folder: Path) -> tuple[str, ReadOptions]:
    bounds = jobs.store.bounds
    with jobs.incoming.account() as take:
        receiving = receive_file(request, folder / SOURCE, bounds, take)
        return await receive_in_time(receiving, bounds.job_upload_seconds)


async def _list(request: Request, jobs: Jobs, folder: Path, options: ReadOptions) -> tuple[SourcePage, ...]:
    """The pages of the file that came, listed while others are read."""
    queue, bounds = jobs.listings, jobs.store.bounds
    with queue.admit() as deadline:
        work = partial(list_source, folder / SOURCE, bounds, options.password, queue.check)
        return await queue.run(work, deadline, request.is_disconnected)


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
    job, store = _job(request), jobs_of(request).store
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
    options, queue = parse_options(request.query_params, STYLES), jobs_of(request).pages
    job, written = _job(request), request.path_params["number"]
    if not (written.isascii() and written.isdecimal() and len(written) < 9):
        raise InputError(f"{written[:20]!r} is no number of a page.")
    with queue.admit() as deadline:
        work = partial(page_result, job, int(written), options, queue.bounds)
        data = await queue.run(work, deadline, request.is_disconnected)
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
    format = FORMATS[options.format]
    ending, media = (format.ending, format.media_type) if as_book else (".zip", "application/zip")
    path = await _write_result(request, job, options, as_book, ending)
    name = f"{Path(job.name).stem or 'job'}{ending}"
    clean = BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, media_type=media, filename=name, background=clean)


async def _write_result(request: Request, job: Job, options: ReadOptions, as_book: bool, ending: str) -> Path:
    """A file in a folder of its own."""
    queue, write = jobs_of(request).books, book_result if as_book else zip_result
    # However long it takes: a book of large pictures is written for minutes.
    with queue.admit(Deadline(math.inf)) as deadline:
        path = Path(tempfile.mkdtemp(prefix="tongguocr-")) / f"result{ending}"
        work = partial(write, job, options, path, queue.bounds, queue.check)
        try:
            await queue.run(work, deadline, request.is_disconnected)
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
    return path


def _job(request: Request) -> Job:
    return jobs_of(request).store.find(request.path_params["id"])
