"""Pages in files: our JSON, PAGE XML, ALTO and plain text, in and out; others out only.

`read_page` tells the formats apart by what is in the file; `write_page` goes by the name, or by `format`.
`registry` is the table of all formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes
from tongguocr.formats.folder import files_by_stem
from tongguocr.formats.registry import (
    ENDINGS,
    FORMATS,
    LINE_ENDINGS,
    READ_ENDINGS,
    Format,
    check_obeyed,
    check_style,
    ending_of,
    find_format,
    page_stem,
)
from tongguocr.formats.style import Style, in_style

if TYPE_CHECKING:
    from tongguocr.page import Page

__all__ = [
    "ENDINGS",
    "FORMATS",
    "LINE_ENDINGS",
    "READ_ENDINGS",
    "Format",
    "Style",
    "check_obeyed",
    "check_style",
    "ending_of",
    "files_by_stem",
    "find_format",
    "format_of",
    "page_stem",
    "read_page",
    "render_page",
    "write_book",
    "write_page",
]


def read_page(path: Path) -> Page:
    """The page in this file: JSON, PAGE XML and ALTO are told apart by what is inside, `.txt` by its name.

    A line's characters follow its text where somebody corrected that (`follow`).
    """
    from tongguocr.formats.follow import follow_text

    return follow_text(_read(path))


def _read(path: Path) -> Page:
    suffix, data = path.suffix.lower(), read_bytes(path)
    if suffix == ".txt":
        return FORMATS["txt"].parse(data, path)
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not start:
        raise InputError(f"{path}: the file is empty.")
    # XML may be in UTF-16, which starts with its byte order mark.
    is_xml = start == b"<" or data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if start in (b"{", b"[") or (suffix == ".json" and not is_xml):
        return FORMATS["json"].parse(data, path)
    if is_xml or suffix == ".xml":
        return _read_xml(data, path)
    raise InputError(f"{path}: this is neither our JSON, PAGE XML, ALTO nor plain text (.txt).")


def _read_xml(data: bytes, path: Path) -> Page:
    from tongguocr.formats.xml import parse_xml

    root = parse_xml(data, path)
    for format in FORMATS.values():
        if root.tag == format.xml_root:
            return format.parse(root, path)
    raise InputError(f"{path}: this XML is neither PAGE nor ALTO (its root is {root.tag!r}).")


def write_page(
    page: Page, path: Path, format: str | None = None, style: Style = Style(), image: Path | None = None
) -> None:
    """Write the page whole or not at all, in the named one of FORMATS; without a name the file's own decides.

    Endings are those of the formats: `.json`, `.txt`, `.xml` (PAGE), `.alto.xml`, `.pdf` and so on. `image`
    is the page's image file for a PDF, where it does not lie beside it.
    """
    write_bytes(render_page(page, path, format, style, image), path)


def render_page(
    page: Page, path: Path, format: str | None = None, style: Style = Style(), image: Path | None = None
) -> bytes:
    """The bytes that `write_page` would write to this path."""
    from tongguocr.formats.follow import follow_text
    from tongguocr.formats.page_json import check_page

    chosen = _choose(path, format)
    check_page(page, path)
    return chosen.render(in_style(follow_text(page), style), path, style, image)


def write_book(
    pages: Iterable[Page],
    path: Path,
    format: str | None = None,
    images: Path | None = None,
    style: Style = Style(),
    day: date | None = None,
) -> None:
    """Write several pages into one file, page by page, whole or not at all, in a format that can hold them.

    `images` is the folder of the pages' images for a PDF, where they do not lie beside it; `day` the day that
    TEI and EPUB name, today unless given.
    """
    from tongguocr.formats.follow import follow_text

    styled = (in_style(follow_text(page), style) for page in pages)
    _choose(path, format).write_book(styled, path, images, style, day)


def _choose(path: Path, name: str | None) -> Format:
    return find_format(name) if name else format_of(path)


def format_of(path: Path) -> Format:
    """The format that the ending of the file's name says."""
    if not (ending := ending_of(path)):
        raise InputError(f"{path}: the name does not tell the format; take one of {', '.join(ENDINGS)}.")
    return ENDINGS[ending]
