"""Anything that holds page images -> its pages, one by one: what `read` and the batches start from.

In: an image file, a folder of them, a ZIP archive, a PDF, a DjVu file, a IIIF manifest or collection (a file
or an http address), the address of an image, or a file's bytes. Out: `SourcePage`s in order, whose pixels are
loaded only when asked for, so that a book of a thousand pages costs no more memory than one page. A source
that cannot be opened at all is an `InputError` at once; a page that cannot be read is one when that page is
loaded, and the other pages are not touched by it. Only addresses and manifests lead to the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.sources import folders
from tongguocr.sources.folders import list_file, list_folder
from tongguocr.sources.iiif_collection import list_iiif
from tongguocr.sources.images import (
    IMAGE_SUFFIXES,
    MAX_PIXELS,
    MemoryFile,
    StoredFile,
    TooManyPixelsError,
    at_most,
    find_image,
    image_named,
    image_pixels,
    image_size,
    load_frame,
    load_pixels,
    open_binary,
    tiff_pages,
)
from tongguocr.sources.kinds import Kind, kind_of_start
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
    "TooManyPixelsError",
    "at_most",
    "find_image",
    "image_named",
    "image_pixels",
    "image_size",
    "is_archive",
    "is_one_image",
    "load_frame",
    "load_pixels",
    "open_source",
    "parse_pages",
    "passed_over",
    "takes_password",
]
_SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys(IMAGE_SUFFIXES, "image"),
    ".pdf": "pdf",
    ".zip": "archive",
    ".cbz": "archive",
    ".djvu": "djvu",
    ".djv": "djvu",
    ".json": "manifest",
}


def open_source(
    source: str | Path | MemoryFile,
    pages: str | None = None,
    recursive: bool = False,
    rendering: Rendering = Rendering(),
    fetching: Fetching | None = Fetching(),
    password: str | None = None,
) -> Iterator[SourcePage]:
    """The source's pages in order; `pages` picks some of them, as in "1-3,7,12-"; a PDF may need a password.

    An address must be a `str`: a `Path` would fold its two slashes into one. Without `fetching` neither
    addresses nor manifests are followed.
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
        if not is_archive(file):
            return []
    except InputError:
        return []  # Opening it says why.
    from tongguocr.sources.archive import passed_over_members

    return passed_over_members(file)


def is_archive(file: StoredFile) -> bool:
    """Whether a file is a ZIP archive, by what it begins with or by its name."""
    return kind_of(file) == "archive"


def is_one_image(path: Path) -> bool:
    """Whether the file is an image of one page: no PDF, and no TIFF with several, whatever it is called.

    Where its beginning does not tell, or cannot be read, it is what its name says.
    """
    try:
        kind = kind_of_start(_first_bytes(path))
    except InputError:
        kind = None
    if kind is None and path.suffix.lower() in IMAGE_SUFFIXES:
        kind = "image"
    return kind == "image" and len(tiff_pages(path)) == 1


def takes_password(source: str | Path | MemoryFile) -> bool:
    """Whether a password may open it: a PDF, or a source of which nobody knows yet what is in it."""
    if _is_address(source):
        return True
    file = source if isinstance(source, MemoryFile) else Path(source)
    try:
        return (isinstance(file, Path) and file.is_dir()) or kind_of(file) == "pdf"
    except InputError:
        return True  # Opening it says what is wrong.


def _list_pages(
    source: str | Path | MemoryFile,
    recursive: bool,
    rendering: Rendering,
    fetching: Fetching | None,
    password: str | None,
) -> Iterator[SourcePage]:
    if isinstance(source, str) and _is_address(source):
        if fetching is None:
            raise InputError(f"{source}: addresses are not followed here.")
        return list_iiif(source, fetching)
    file = source if isinstance(source, MemoryFile) else Path(source)
    if isinstance(file, Path) and file.is_dir():
        return list_folder(file, recursive)
    kind = kind_of(file)
    if kind == "pdf":
        return list_pdf(file, rendering, password)
    if kind == "archive":
        from tongguocr.sources.archive import list_archive

        return list_archive(file)
    if kind == "djvu":
        from tongguocr.sources.djvu import list_djvu

        return list_djvu(file)
    if kind == "manifest" and isinstance(file, Path) and fetching is not None:
        return list_iiif(file, fetching)
    return list_file(file)


def _is_address(source: object) -> bool:
    return isinstance(source, str) and re.match(r"(?i)[a-z][a-z0-9+.-]*://", source) is not None


def kind_of(file: StoredFile) -> Kind:
    """What a file is, by what it begins with, or else by its name; an image, where neither tells."""
    start = _first_bytes(file)
    if not start:
        raise InputError(f"{file}: the file is empty.")
    if kind := kind_of_start(start):
        return kind
    if kind := _SUFFIXES.get(file.suffix.lower() if isinstance(file, Path) else ""):
        return kind
    if b"%PDF-" in start:
        return "pdf"
    return "manifest" if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" else "image"


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
