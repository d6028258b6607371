"""EPUB 3: pages in, a book to be read in columns from the right out.

Each page begins with a page break that the page list points at; a file of the book holds some twenty pages.
A column of the page is a row of the paragraph, with `flow` they run on. A double-row note stands in its
place, half as large and in its two rows; where a program knows no such boxes, it is small text there.
Margins, and the fold if it is asked for, are asides. Pages written in rows stay in rows. The identifier is
made from what is in the book: the same book has the same one.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid5

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.registry import page_stem
from tongguocr.formats.style import Style
from tongguocr.formats.tei_header import HOME, LANGUAGE
from tongguocr.formats.txt import join_words
from tongguocr.formats.unread import NOT_READ, is_unread, today
from tongguocr.formats.xml import (
    Element,
    add,
    append_text,
    check_xml_text,
    fit_for_xml,
    new_root,
    render_xml,
    to_bytes,
)
from tongguocr.layout.columns import number_columns
from tongguocr.layout.frame import guess_writing_mode
from tongguocr.page import Line, Page
from tongguocr.version import __version__

PAGES_A_FILE = 20
"""More would be slow to open on a small device, and fewer would begin a new screen too often."""
_XHTML = "http://www.w3.org/1999/xhtml"
_OPS = "http://www.idpf.org/2007/ops"
_SCRIPTS = {"keep": "Hant", "simplified": "Hans"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""What the ZIP says of each file's time: the earliest that it can."""
_CONTAINER = b"""<?xml version='1.0' encoding='UTF-8'?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""
_CSS = b"""html.vertical {
  -epub-writing-mode: vertical-rl;
  -webkit-writing-mode: vertical-rl;
  writing-mode: vertical-rl;
}
body { line-height: 1.7; }
p { margin: 0; text-indent: 0; }
.break { font-size: 0.6em; line-height: 1; color: #777; }
.break::before { content: attr(aria-label); }
.vertical .break::before { text-combine-upright: all; }
small { font-size: 0.55em; }
@supports (display: inline-block) {
  small.note { display: inline-block; vertical-align: middle; line-height: 1.2; text-indent: 0; }
  small.note span { display: block; }
}
aside { font-size: 0.75em; color: #444; }
.vertical aside { margin: 0 0.8em; }
.horizontal aside { margin: 0.8em 0; }
.unread { font-style: italic; }
"""


@dataclass(slots=True)
class _Book:
    """What is known of a book once its pages have gone by."""

    title: str
    language: str
    files: list[tuple[str, int, int]] = field(default_factory=list)
    """The files with pages: each one's name, and the numbers of its first and its last page."""
    modes: Counter[str] = field(default_factory=Counter)
    images: list[str] = field(default_factory=list)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)


def render_epub(page: Page, path: Path, style: Style = Style()) -> bytes:
    """One page as an EPUB."""
    file = io.BytesIO()
    _write([page], path, file, style, today())
    return file.getvalue()


def write_epub(pages: Iterable[Page], path: Path, style: Style = Style(), day: date | None = None) -> None:
    """An EPUB of all the pages, whole or not at all, some written before the next are asked for."""
    with open_whole(path) as file:
        _write(pages, path, file, style, day or today())


def _write(pages: Iterable[Page], path: Path, file: BinaryIO, style: Style, day: date) -> None:
    book = _Book(fit_for_xml(page_stem(path)), f"{LANGUAGE}-{_SCRIPTS[style.script]}")
    with zipfile.ZipFile(file, "w") as archive:
        _put(archive, "mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        _put(archive, "META-INF/container.xml", _CONTAINER)
        _put(archive, "EPUB/style.css", _CSS)
        for mode, group in _groups(pages):
            _put_pages(archive, book, mode, group, style, path)
        if not book.files:
            raise InputError(f"{path}: an EPUB needs at least one page.")
        _put(archive, "EPUB/nav.xhtml", _navigation(book))
        _put(archive, "EPUB/package.opf", _package(book, day))


def _put(archive: zipfile.ZipFile, name: str, data: bytes, packing: int = zipfile.ZIP_DEFLATED) -> None:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    # Else these tell of the system that the program runs on.
    entry.compress_type, entry.create_system, entry.external_attr = packing, 3, 0o644 << 16
    archive.writestr(entry, data)


def _groups(pages: Iterable[Page]) -> Iterator[tuple[str, list[tuple[int, Page]]]]:
    """Pages with their numbers, as many as go into one file, and how they are written."""
    mode, group = "vertical", list[tuple[int, Page]]()
    for number, page in enumerate(pages, start=1):
        lying = guess_writing_mode(page.lines) == "horizontal"
        wanted = mode if not page.lines else "horizontal" if lying else "vertical"
        if group and (wanted != mode or len(group) == PAGES_A_FILE):
            yield mode, group
            group = []
        mode = wanted
        group.append((number, replace(page, pixels=None, jpeg=None)))
    if group:
        yield mode, group


def _put_pages(
    archive: zipfile.ZipFile,
    book: _Book,
    mode: str,
    group: Sequence[tuple[int, Page]],
    style: Style,
    path: Path,
) -> None:
    first, last = group[0][0], group[-1][0]
    root = new_root("html", _XHTML, {"xmlns:epub": _OPS, "xml:lang": book.language, "class": mode})
    _add_head(root, f"{book.title} {_range(first, last)}")
    body = add(root, "body")
    for number, page in group:
        _add_page(body, number, page, style, path)
        book.images += [page.image] if page.image else []
    data, name = to_bytes(root), f"pages-{first:05d}.xhtml"
    book.digest.update(data)
    book.modes[mode] += len(group)
    book.files.append((name, first, last))
    _put(archive, f"EPUB/{name}", data)


def _add_head(root: Element, title: str) -> None:
    head = add(root, "head")
    add(head, "title", text=title)
    add(head, "link", {"rel": "stylesheet", "type": "text/css", "href": "style.css"})


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _add_page(body: Element, number: int, page: Page, style: Style, path: Path) -> None:
    section = add(body, "section")
    mark = {"epub:type": "pagebreak", "role": "doc-pagebreak", "aria-label": str(number)}
    add(section, "div", {"id": f"page{number}", "class": "break", **mark})
    if is_unread(page):
        add(section, "p", {"class": "unread", "xml:lang": "en"}, NOT_READ)
    wanted = [line for line in number_columns(page).lines if line.text and _is_wanted(line, style)]
    for line in wanted:
        check_xml_text(line.text, f"{path}: line {line.id}")
    for block, run in groupby(wanted, lambda line: _block(line, style)):
        if block == "text":
            _add_text(add(section, "p"), list(run), style.flow)
        else:
            _add_aside(section, block, [line.text for line in run], style.flow)


def _is_wanted(line: Line, style: Style) -> bool:
    return (line.kind != "fold" or style.fold) and (line.kind != "note" or style.notes != "omit")


def _block(line: Line, style: Style) -> str:
    """What a line is part of: the text, with its notes unless these are to be lines, or an aside."""
    return "text" if line.kind == "main" or (line.kind == "note" and style.notes != "lines") else line.kind


def _add_text(paragraph: Element, lines: Sequence[Line], flow: bool) -> None:
    """Columns as rows of a paragraph, or run on; the two rows of a note as one thing in its place."""
    before, last = "", lines[0].column
    for (column, kind), run in groupby(lines, lambda line: (line.column, line.kind)):
        texts = [line.text for line in run]
        if column != last and flow:
            append_text(paragraph, _space(before, texts[0]))
        elif column != last:
            add(paragraph, "br")
        if kind == "note":
            note = add(paragraph, "small", {"class": "note"})
            for text in texts:
                add(note, "span", text=text)
        else:
            append_text(paragraph, "".join(texts))
        before, last = texts[-1], column


def _space(before: str, text: str) -> str:
    """What stands between two words that were in two columns: a space, but none beside an ideograph."""
    return " " * (len(join_words((before, text))) - len(before) - len(text))


def _add_aside(section: Element, kind: str, texts: Sequence[str], flow: bool) -> None:
    aside = add(section, "aside", {"class": kind, "role": "note"})
    for n, text in enumerate([join_words(texts)] if flow else texts):
        if n:
            add(aside, "br")
        append_text(aside, text)


def _navigation(book: _Book) -> bytes:
    """The files as table of contents, which is all that is known of chapters, and all pages."""
    root = new_root("html", _XHTML, {"xmlns:epub": _OPS, "xml:lang": book.language})
    _add_head(root, book.title)
    body = add(root, "body")
    contents = _add_list(body, "toc", book.title)
    for name, first, last in book.files:
        add(add(contents, "li"), "a", {"href": f"{name}#page{first}"}, _range(first, last))
    pages = _add_list(body, "page-list")
    for name, first, last in book.files:
        for number in range(first, last + 1):
            add(add(pages, "li"), "a", {"href": f"{name}#page{number}"}, str(number))
    return render_xml(root)


def _add_list(body: Element, kind: str, heading: str = "") -> Element:
    hidden = {} if heading else {"hidden": "hidden"}
    nav = add(body, "nav", {"epub:type": kind, "id": kind, **hidden})
    if heading:
        add(nav, "h1", text=heading)
    return add(nav, "ol")


def _package(book: _Book, day: date) -> bytes:
    """What the book is, which files it has, and in which order and direction they are read."""
    attributes = {"version": "3.0", "unique-identifier": "id", "xml:lang": book.language}
    root = new_root("package", "http://www.idpf.org/2007/opf", attributes)
    metadata = add(root, "metadata", {"xmlns:dc": "http://purl.org/dc/elements/1.1/"})
    named = uuid5(NAMESPACE_URL, f"{HOME} {book.title} {book.digest.hexdigest()}")
    add(metadata, "dc:identifier", {"id": "id"}, f"urn:uuid:{named}")
    add(metadata, "dc:title", text=book.title)
    # Programs choose fonts and vertical writing by the first; the second says it more exactly.
    for language in (f"zh-{book.language.rpartition('-')[2]}", LANGUAGE):
        add(metadata, "dc:language", text=language)
    add(metadata, "dc:contributor", {"id": "program"}, f"TongGuOCR {__version__}")
    add(metadata, "meta", {"refines": "#program", "property": "role", "scheme": "marc:relators"}, "trc")
    if book.images:
        ends = dict.fromkeys((book.images[0], book.images[-1]))
        add(metadata, "dc:source", text=" – ".join(map(fit_for_xml, ends)))
    add(metadata, "meta", {"property": "dcterms:modified"}, f"{day:%Y-%m-%d}T00:00:00Z")
    for name, value in (
        ("accessMode", "textual"),
        ("accessModeSufficient", "textual"),
        ("accessibilityFeature", "pageBreakMarkers"),
        ("accessibilityFeature", "pageNavigation"),
        ("accessibilityHazard", "none"),
    ):
        add(metadata, "meta", {"property": f"schema:{name}"}, value)
    vertical = book.modes["vertical"] >= book.modes["horizontal"]
    mode = "vertical-rl" if vertical else "horizontal-lr"
    # No part of EPUB: Kindle looks for it.
    add(metadata, "meta", {"name": "primary-writing-mode", "content": mode})
    manifest = add(root, "manifest")
    xhtml = {"media-type": "application/xhtml+xml"}
    add(manifest, "item", {"id": "nav", "href": "nav.xhtml", "properties": "nav", **xhtml})
    add(manifest, "item", {"id": "style", "href": "style.css", "media-type": "text/css"})
    spine = add(root, "spine", {"page-progression-direction": "rtl" if vertical else "ltr"})
    for name, _, _ in book.files:
        item = name.removesuffix(".xhtml")
        add(manifest, "item", {"id": item, "href": name, **xhtml})
        add(spine, "itemref", {"idref": item})
    return render_xml(root)
