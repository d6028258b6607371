"""Anything that holds page images -> its pages, one by one: what `read` and the batches start from.

In: an image file, a folder of them, a ZIP archive, a PDF, a DjVu file, a IIIF manifest (a file or an http
address), or a file's bytes. Out: `SourcePage`s in order, whose pixels are loaded only when asked for, so that
a book of a thousand pages costs no more memory than one page. A source that cannot be opened at all is an
`InputError` at once; a page that cannot be read is one when that page is loaded, and the other pages are not
touched by it. Only a manifest leads to the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.sources import folders
from tongguocr.sources.folders import list_file, list_folder
from tongguocr.sources.iiif import list_manifest
from tongguocr.sources.images import (
    IMAGE_SUFFIXES,
    MAX_PIXELS,
    MemoryFile,
    StoredFile,
    find_image,
    image_named,
    image_pixels,
    image_size,
    load_frame,
    load_pixels,
    open_binary,
)
from tongguocr.sources.listing import SourcePage, parse_pages, pick_pages
from tongguocr.sources.pdf import Rendering, list_pdf
from tongguocr.sources.web import Fetching

__all__ = [
    "IMAGE_SUFFIXES",
    "MAX_PIXELS",
    "Fetching",
    "MemoryFile",
    "Rendering",
    "SourcePage",
    "find_image",
    "image_named",
    "image_pixels",
    "image_size",
    "load_frame",
    "load_pixels",
    "open_source",
    "parse_pages",
    "passed_over",
]
_ARCHIVES = (".zip", ".cbz")
_DJVU = (".djvu", ".djv")


def open_source(
    source: str | Path | MemoryFile,
    pages: str | None = None,
    recursive: bool = False,
    rendering: Rendering = Rendering(),
    fetching: Fetching = Fetching(),
    password: str | None = None,
) -> Iterator[SourcePage]:
    """The source's pages in order; `pages` picks some of them, as in "1-3,7,12-"; a PDF may need a password.

    An address must be a `str`: a `Path` would fold its two slashes into one.
    """
    wanted = parse_pages(pages) if pages is not None else None
    listed = _list_pages(source, recursive, rendering, fetching, password)
    return listed if wanted is None else pick_pages(listed, wanted, str(source))


def passed_over(source: str | Path | MemoryFile, recursive: bool = False) -> list[str]:
    """What a folder or an archive has besides its pages, by name; nothing of other sources."""
    if _is_address(source):
        return []
    file = source if isinstance(source, MemoryFile) else Path(source)
    if isinstance(file, Path) and file.is_dir():
        return folders.passed_over(file, recursive)
    try:
        is_archive = _is_archive(file, _first_bytes(file))
    except InputError:
        return []  # Opening it says why.
    if not is_archive:
        return []
    from tongguocr.sources.archive import passed_over_members

    return passed_over_members(file)


def _list_pages(
    source: str | Path | MemoryFile,
    recursive: bool,
    rendering: Rendering,
    fetching: Fetching,
    password: str | None,
) -> Iterator[SourcePage]:
    if isinstance(source, str) and _is_address(source):
        return list_manifest(source, fetching)
    file = source if isinstance(source, MemoryFile) else Path(source)
    if isinstance(file, Path) and file.is_dir():
        return list_folder(file, recursive)
    start = _first_bytes(file)
    if not start:
        raise InputError(f"{file}: the file is empty.")
    suffix = _suffix(file)
    if suffix in IMAGE_SUFFIXES:
        return list_file(file)
    if suffix == ".pdf" or b"%PDF-" in start:
        return list_pdf(file, rendering, password)
    if _is_archive(file, start):
        from tongguocr.sources.archive import list_archive

        return list_archive(file)
    if suffix in _DJVU or start.startswith(b"AT&TFORM"):
        from tongguocr.sources.djvu import list_djvu

        return list_djvu(file)
    is_json = suffix == ".json" or start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    if is_json and isinstance(file, Path):
        return list_manifest(file, fetching)
    return list_file(file)


def _is_address(source: object) -> bool:
    return isinstance(source, str) and re.match(r"(?i)[a-z][a-z0-9+.-]*://", source) is not None


def _is_archive(file: StoredFile, start: bytes) -> bool:
    """Whether it is a ZIP file, by its name or by what it begins with; no image begins so."""
    return _suffix(file) in _ARCHIVES or start.startswith((b"PK\3\4", b"PK\5\6"))


def _suffix(file: StoredFile) -> str:
    return file.suffix.lower() if isinstance(file, Path) else ""


def _first_bytes(file: StoredFile) -> bytes:
    """Enough of the file to tell its kind: a PDF may carry up to a kilobyte of something else in front."""
    try:
        # A pipe or a device would be opened, and waited for.
        if isinstance(file, Path) and file.exists() and not file.is_file():
            raise InputError(f"{file}: this is neither a file nor a folder.")
        with open_binary(file) as opened:
            return opened.read(1024)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{file}: the file cannot be read ({reason}).") from None
