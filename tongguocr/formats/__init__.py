"""Pages in files: our JSON, PAGE XML, ALTO and plain text, in and out; others out only.

`read_page` tells the formats apart by what is in the file; `write_page` goes by the name, or by `format`.
Only written: Markdown, hOCR, TEI, the searchable PDF, the table of doubtful characters, and the overlay, a
picture of the page with what was read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes
from tongguocr.formats.alto import parse_alto
from tongguocr.formats.alto_write import render_alto
from tongguocr.formats.doubts import render_doubts
from tongguocr.formats.hocr import render_hocr
from tongguocr.formats.markdown import render_markdown
from tongguocr.formats.overlay import render_overlay
from tongguocr.formats.page_json import check_page, parse_json, render_json
from tongguocr.formats.page_xml import parse_page_xml, render_page_xml
from tongguocr.formats.script import in_script
from tongguocr.formats.searchable_pdf import render_searchable_pdf
from tongguocr.formats.style import Style
from tongguocr.formats.tei import render_tei
from tongguocr.formats.text import read_text, render_text
from tongguocr.formats.xml import parse_xml
from tongguocr.page import Page

__all__ = ["FORMATS", "Style", "read_page", "read_text", "write_page"]

_RENDER: dict[str, Callable[[Page, Path, Style], bytes]] = {
    "json": lambda page, path, style: render_json(page),
    "page": lambda page, path, style: render_page_xml(page, path),
    "alto": lambda page, path, style: render_alto(page, path),
    "text": lambda page, path, style: render_text(page, style.notes or "lines", style.flow),
    "markdown": lambda page, path, style: render_markdown(page, style.notes or "inline", style.flow),
    "hocr": lambda page, path, style: render_hocr(page, path),
    "tei": lambda page, path, style: render_tei(page, path),
    "pdf": lambda page, path, style: render_searchable_pdf(page, path),
    "doubts": lambda page, path, style: render_doubts([page]),
    "overlay": lambda page, path, style: render_overlay(page, path),
}
FORMATS = tuple(_RENDER)
"""The names that `write_page` takes."""

# Longest first: `.alto.xml` is also `.xml`.
_SUFFIXES = {
    ".alto.xml": "alto",
    ".tei.xml": "tei",
    ".xml": "page",
    ".alto": "alto",
    ".json": "json",
    ".txt": "text",
    ".md": "markdown",
    ".hocr": "hocr",
    ".html": "hocr",
    ".tei": "tei",
    ".pdf": "pdf",
    ".csv": "doubts",
    ".overlay.png": "overlay",
}


def read_page(path: Path) -> Page:
    """The page in this file: JSON, PAGE XML and ALTO are told apart by what is inside, `.txt` by its name."""
    if path.suffix.lower() == ".txt":
        return read_text(path)
    data = read_bytes(path)
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not start:
        raise InputError(f"{path}: the file is empty.")
    # XML may be in UTF-16, which starts with its byte order mark.
    is_xml = start == b"<" or data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if start in (b"{", b"[") or (path.suffix.lower() == ".json" and not is_xml):
        return parse_json(data, path)
    if is_xml or path.suffix.lower() == ".xml":
        return _read_xml(data, path)
    raise InputError(f"{path}: this is neither our JSON, PAGE XML, ALTO nor plain text (.txt).")


def _read_xml(data: bytes, path: Path) -> Page:
    root = parse_xml(data, path)
    if root.tag == "PcGts":
        return parse_page_xml(root, path)
    if root.tag == "alto":
        return parse_alto(root, path)
    raise InputError(f"{path}: this XML is neither PAGE nor ALTO (its root is {root.tag!r}).")


def write_page(page: Page, path: Path, format: str | None = None, style: Style = Style()) -> None:
    """Write the page whole or not at all, in one of FORMATS; without `format` the file's name decides.

    `.json`, `.txt`, `.xml` (PAGE), `.alto.xml` or `.alto`, `.md`, `.hocr` or `.html`, `.tei.xml` or `.tei`,
    `.pdf`, `.csv` (doubtful characters) and `.overlay.png` are known.
    """
    render = _RENDER.get(format or _format_of(path))
    if render is None:
        raise InputError(f"{path}: there is no format {format!r}; take one of {', '.join(FORMATS)}.")
    check_page(page, path)
    write_bytes(render(in_script(page, style.script), path, style), path)


def _format_of(path: Path) -> str:
    name = path.name.lower()
    for suffix, found in _SUFFIXES.items():
        if name.endswith(suffix):
            return found
    raise InputError(f"{path}: the name does not tell the format; take one of {', '.join(_SUFFIXES)}.")
