"""Anything that holds page images -> its pages, one by one: what `read` and the batches start from.

In: an image file, a folder of them, a PDF, or a IIIF manifest (a file or an http address). Out: `SourcePage`s
in order, whose pixels are loaded only when asked for, so that a book of a thousand pages costs no more memory
than one page. A source that cannot be opened at all is an `InputError` at once; a page that cannot be read is
one when that page is loaded, and the other pages are not touched by it. Only a manifest leads to the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.sources.folders import list_file, list_folder
from tongguocr.sources.iiif import list_manifest
from tongguocr.sources.images import (
    IMAGE_SUFFIXES,
    MAX_PIXELS,
    find_image,
    image_named,
    image_size,
    load_pixels,
)
from tongguocr.sources.listing import SourcePage, parse_pages, pick_pages
from tongguocr.sources.pdf import Rendering, list_pdf
from tongguocr.sources.web import Fetching

__all__ = [
    "IMAGE_SUFFIXES",
    "MAX_PIXELS",
    "Fetching",
    "Rendering",
    "SourcePage",
    "find_image",
    "image_named",
    "image_size",
    "load_pixels",
    "open_source",
    "parse_pages",
]


def open_source(
    source: str | Path,
    pages: str | None = None,
    recursive: bool = False,
    rendering: Rendering = Rendering(),
    fetching: Fetching = Fetching(),
) -> Iterator[SourcePage]:
    """The source's pages in order; `pages` picks some of them, as in "1-3,7,12-".

    An address must be a `str`: a `Path` would fold its two slashes into one.
    """
    wanted = parse_pages(pages) if pages is not None else None
    listed = _list_pages(source, recursive, rendering, fetching)
    return listed if wanted is None else pick_pages(listed, wanted, str(source))


def _list_pages(
    source: str | Path, recursive: bool, rendering: Rendering, fetching: Fetching
) -> Iterator[SourcePage]:
    if isinstance(source, str) and re.match(r"(?i)[a-z][a-z0-9+.-]*://", source):
        return list_manifest(source, fetching)
    path = Path(source)
    if path.is_dir():
        return list_folder(path, recursive)
    start = _first_bytes(path)
    if not start:
        raise InputError(f"{path}: the file is empty.")
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return list_file(path)
    if suffix == ".pdf" or b"%PDF-" in start:
        return list_pdf(path, rendering)
    if suffix == ".json" or start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return list_manifest(path, fetching)
    return list_file(path)


def _first_bytes(path: Path) -> bytes:
    """Enough of the file to tell its kind: a PDF may carry up to a kilobyte of something else in front."""
    try:
        # A pipe or a device would be opened, and waited for.
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: this is neither a file nor a folder.")
        with path.open("rb") as file:
            return file.read(1024)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read ({reason}).") from None
