"""What was read -> files: one page in any format; all pages of a job so far, in a ZIP file or as one book.

In: pages, or jobs of the store. Out: bytes, or a file that can be long. Pages of jobs are loaded one by one,
with their pixels only where the format shows them.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import read_bytes
from tongguocr.formats import FORMATS, render_page
from tongguocr.formats.page_json import parse_json
from tongguocr.formats.style import in_style
from tongguocr.page import Page
from tongguocr.reader import take_lines
from tongguocr.serve.bounded import load_page, without_folder
from tongguocr.serve.jobs import Job
from tongguocr.serve.models import Models
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.serve.upload import ReadOptions, Upload

FAILED = "failed.txt"
"""In a ZIP file: pages that could not be read or written, and why."""
UNSQUEEZED = ("application/pdf", "image/png")
"""Packed already."""


def read_upload(models: Models, upload: Upload, bounds: Bounds) -> tuple[bytes, str]:
    """The whole way of one page, from its file to the file that is wanted, and what is to be said of it."""
    options = upload.options
    page = models.read(upload.page(bounds), upload.known(bounds), options.direction, options.turn)
    return render(page, upload), " ".join(page.warnings)


def render(page: Page, upload: Upload) -> bytes:
    """The page as a file.

    Some formats look for the page's image beside the file: in a folder of its own there is none of the
    server's.
    """
    with tempfile.TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / "answer"
        try:
            return render_page(page, path, upload.options.format, upload.options.style)
        except InputError as error:
            raise InputError(str(error).replace(str(path), upload.name)) from None


def page_result(job: Job, number: int, options: ReadOptions, bounds: Bounds) -> bytes:
    """A page of a job as a file; the sentence why there is none."""
    if not 1 <= number <= len(job.names):
        raise StatusError(404, f"This job has the pages 1 to {len(job.names)}.")
    if number in job.failed:
        raise StatusError(422, job.failed[number])
    if number not in job.done:
        never = job.finished is not None
        raise StatusError(409, f"Page {number} {'was not read' if never else 'is not read yet'}.")
    with tempfile.TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / f"result{FORMATS[options.format].ending}"
        try:
            page = _load(job, number, options, bounds)
            return render_page(page, path, options.format, options.style)
        except InputError as error:
            raise StatusError(getattr(error, "status", 400), _told(error, job, number, path)) from None


def zip_result(
    job: Job, options: ReadOptions, path: Path, bounds: Bounds, check: Callable[[], None] = lambda: None
) -> None:
    """The pages of a job that have been read, each a file in a ZIP; `check` is called before each."""
    format, failed = FORMATS[options.format], dict(job.failed)
    packing = zipfile.ZIP_STORED if format.media_type in UNSQUEEZED else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w", packing) as archive:
        for number in sorted(job.done):
            check()
            try:
                data = page_result(job, number, options, bounds)
            except InputError as error:
                failed[number] = str(error)
            else:
                archive.writestr(f"{job.names[number - 1]}{format.ending}", data)
        if failed:
            rows = (f"{job.names[number - 1]}: {failed[number]}\n" for number in sorted(failed))
            archive.writestr(FAILED, "".join(rows))


def book_result(
    job: Job, options: ReadOptions, path: Path, bounds: Bounds, check: Callable[[], None] = lambda: None
) -> None:
    """The pages of a job that have been read, in one file; `check` is called before each."""
    if not FORMATS[options.format].book:
        raise InputError(f"A file of the format {options.format} holds one page; ask without book.")
    if not job.done:
        raise StatusError(409, "No page of this job has been read yet.")

    def pages() -> Iterator[Page]:
        for number in sorted(job.done):
            check()
            yield in_style(_load(job, number, options, bounds), options.style)

    try:
        FORMATS[options.format].write_book(pages(), path, style=options.style)
    except InputError as error:
        raise StatusError(getattr(error, "status", 400), _told(error, job, 0, path)) from None


def _load(job: Job, number: int, options: ReadOptions, bounds: Bounds) -> Page:
    """A page that was read, with its pixels if the format shows them."""
    result = job.result(number)
    page = parse_json(read_bytes(result), result)
    if not FORMATS[options.format].image:
        return page
    return take_lines(load_page(job.source(number, bounds), bounds), page, page.image)


def _told(error: InputError, job: Job, number: int, path: Path) -> str:
    """The sentence without where things lie on the server."""
    name = job.names[number - 1] if number else job.name
    return without_folder(str(error).replace(str(path), name), job.folder / "source").replace(
        str(job.result(number)), name
    )
