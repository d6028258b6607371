"""Files of strangers -> pages, as `sources` lists them, within the bounds of the service.

In: the one file of a job, or the bytes of a picture. Out: pages, or pixels. What a file says of itself is
never believed: sizes are bounded before anything is unpacked, its kind is told by what it begins with, and
nothing is fetched: a IIIF manifest is an image here, and a damaged one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.sources import (
    MemoryFile,
    Rendering,
    SourcePage,
    TooManyPixelsError,
    at_most,
    is_archive,
    load_frame,
    open_source,
    takes_password,
)
from tongguocr.sources.archive import list_archive, measure_archive
from tongguocr.sources.images import Scan


def list_source(
    folder: Path,
    bounds: Bounds = Bounds(),
    password: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[SourcePage, ...]:
    """The pages of the one file in this folder; `check` is called before each."""
    (path,) = folder.iterdir()
    listed: list[SourcePage] = []
    try:
        for page in _pages(path, bounds, password):
            check()
            if len(listed) == bounds.job_pages:
                raise StatusError(422, f"{path.name}: more than the {bounds.job_pages} pages of a job.")
            listed.append(page)
    except InputError as error:
        raise StatusError(getattr(error, "status", 400), without_folder(str(error), folder)) from None
    return tuple(listed)


def _pages(path: Path, bounds: Bounds, password: str | None) -> Iterator[SourcePage]:
    if password is not None and not takes_password(path):
        raise InputError(f"password is for PDFs, and {path.name} is none.")
    if not is_archive(path):
        rendering = Rendering(max_pixels=min(Rendering().max_pixels, bounds.pixels))
        return open_source(path, rendering=rendering, fetching=None, password=password)
    # Before it is listed: the pages of a TIFF are counted in the unpacked file.
    count, size = measure_archive(path)
    if count > bounds.job_pages:
        raise StatusError(422, f"{path.name}: {count} images are more than the {bounds.job_pages} of a job.")
    if size > bounds.job_unpacked:
        raise StatusError(413, f"{path.name}: the images in the archive are larger than a job may be.")
    return list_archive(path, "")


def load_page(source: SourcePage, bounds: Bounds) -> Page:
    """A page with its pixels, no more of them than the bounds allow."""
    with _within(bounds):
        return source.load_page()


def load_picture(data: bytes, name: str, bounds: Bounds) -> Scan:
    """The first page of an image file that came with a request, no larger than the bounds allow."""
    if not data:
        raise InputError(f"{name}: the picture is empty.")
    with _within(bounds):
        return load_frame(MemoryFile(name, "", data), 0, name)


@contextmanager
def _within(bounds: Bounds) -> Iterator[None]:
    try:
        with at_most(bounds.pixels):
            yield
    except TooManyPixelsError as error:
        raise StatusError(422, str(error)) from None


def without_folder(sentence: str, folder: Path) -> str:
    """A sentence about a file, without where it lies here."""
    return sentence.replace(f"{folder}/", "").replace(f"{folder}\\", "")
