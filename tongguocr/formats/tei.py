"""TEI P5: pages in, an edition's raw material out.

The facsimile has a surface for each page and a zone for each line. The text has a page beginning for each
page, a line beginning with its number for each column of the page, in however many stretches it is written,
and a column beginning for each register where there are several. A stretch that does not begin its column,
and each row of a double-row note, is a segment; a run of such rows is one inline note, a run of margin lines
one note at its place, a line on the centre fold a forme work. Doubtful characters are marked as unclear. A
surface is the image as it lies: where it was turned to be read, its zones have `rotate`. The text stands in
an `ab`, not in paragraphs: where the author began a new one, no program knows. A page of a book that could
not be read is a gap.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain, groupby, islice
from math import inf
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO
from urllib.parse import quote
from xml.etree.ElementTree import indent

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.doubts import THRESHOLD, reason_for
from tongguocr.formats.numbers import to_decimal
from tongguocr.formats.tei_header import LANGUAGE, PROGRAM_ID, write_header
from tongguocr.formats.unread import NOT_READ, is_unread, today
from tongguocr.formats.xml import (
    DECLARATION,
    Element,
    add,
    append_text,
    check_xml_text,
    content_of,
    new_root,
    to_text,
    unique_name,
)
from tongguocr.formats.xml_lines import ids_for_xml
from tongguocr.geometry import centre
from tongguocr.layout.columns import number_columns, register_starts, text_columns
from tongguocr.page import Char, Direction, Kind, Line, Page, as_it_lies

NAMESPACE = "http://www.tei-c.org/ns/1.0"
STYLE: dict[Direction, str] = {
    "top-to-bottom": "writing-mode: vertical-rl",
    "bottom-to-top": "writing-mode: sideways-lr",
    "left-to-right": "writing-mode: horizontal-tb",
    "right-to-left": "writing-mode: horizontal-tb; direction: rtl",
}
"""Directions as the Guidelines tell them, in CSS."""
LOW = 0.5
"""Below this confidence certainty is low; below the threshold of the table of doubts it is medium."""
_NUMERALS = frozenset("〇○零一二三四五六七八九十廿卅百千0123456789０１２３４５６７８９第葉頁丁之上下")
"""A line on the fold that holds nothing else is a folio number."""
_XML_ID = "xml:id"
SPOOLED = 8 << 20
"""Bytes of a book that are kept in memory, for each of its two parts."""


def render_tei(page: Page, path: Path, created: date | None = None) -> bytes:
    """One page as a TEI document; `created` is the day that stands in its header, today unless given."""
    return render_tei_book([page], path, created)


def render_tei_book(pages: Iterable[Page], path: Path, created: date | None = None) -> bytes:
    """Several pages as one TEI document."""
    file = io.BytesIO()
    _write(pages, path, file, created or today())
    return file.getvalue()


def write_tei_book(pages: Iterable[Page], path: Path, day: date | None = None) -> None:
    """Several pages as one TEI document, whole or not at all, each written before the next is asked for."""
    with open_whole(path) as file:
        _write(pages, path, file, day or today())


def _write(pages: Iterable[Page], path: Path, file: BinaryIO, day: date) -> None:
    """Page by page; the facsimile stands before the text, and the header tells of all pages, so both wait."""
    images, count, several, pages = list[str](), 0, *_look_ahead(pages)
    with _spool(path) as surfaces, _spool(path) as texts:
        for count, page in enumerate(pages, start=1):
            surface, text = _render_page(page, count, several, path)
            surfaces.write(surface)
            texts.write(text)
            images += [page.image] if page.image else []
        if not count:
            raise InputError(f"{path}: a TEI document needs at least one page.")
        file.write(f'{DECLARATION}<TEI xmlns="{NAMESPACE}">\n{_header(images, count, day)}\n'.encode())
        for begin, part, end in (
            ("<facsimile>", surfaces, "\n</facsimile>\n"),
            (f'<text xml:lang="{LANGUAGE}"><body><ab>', texts, "</ab></body></text>\n</TEI>\n"),
        ):
            file.write(begin.encode())
            part.seek(0)
            shutil.copyfileobj(part, file)
            file.write(end.encode())


def _look_ahead(pages: Iterable[Page]) -> tuple[bool, Iterator[Page]]:
    """Whether there are several pages, and all of them."""
    pages = iter(pages)
    first = list(islice(pages, 2))
    return len(first) > 1, chain(first, pages)


def _spool(path: Path) -> IO[bytes]:
    """A nameless file that is in memory while it is small, and else on the disk that the book goes to."""
    folder = str(path.parent) if path.parent.is_dir() else None
    return SpooledTemporaryFile(SPOOLED, dir=folder)


def _header(images: Sequence[str], count: int, day: date) -> str:
    root = new_root("TEI", NAMESPACE)
    write_header(root, images, count, day)
    indent(root[0])
    return to_text(root[0])


def _render_page(page: Page, number: int, several: bool, path: Path) -> tuple[bytes, bytes]:
    """What one page adds to the facsimile and to the text."""
    check_xml_text(page.image, f"{path}: image")
    prefix, taken = f"p{number}_" if several else "", {PROGRAM_ID}
    names = [unique_name(prefix + name, taken) for name in ids_for_xml(page.lines)]
    surface = unique_name(f"surface{number}", taken)
    facsimile, block = Element("facsimile"), Element("ab")
    _write_surface(facsimile, page, surface, names)
    add(block, "pb", {"n": str(number), "facs": f"#{surface}"})
    if is_unread(page):
        add(add(block, "gap", {"reason": "unread", "unit": "page", "quantity": "1"}), "desc", text=NOT_READ)
    _TextWriter(block, page, names, path).write()
    # Only this is indented: in the text, white space would count.
    indent(facsimile)
    # A row of the file for each line of the page, its break inside the tag: beside it, it would be text.
    text = re.sub("<([pcl]b) ", r"<\1\n", content_of(block))
    return content_of(facsimile).rstrip("\n").encode(), text.encode()


def _write_surface(facsimile: Element, page: Page, name: str, lines: Sequence[str]) -> None:
    # Zones tell how far they were turned clockwise from upright, and we how far to turn them there.
    rotate, page = -page.angle % 360, as_it_lies(page)
    size = {"lrx": str(int(page.width)), "lry": str(int(page.height))}
    surface = add(facsimile, "surface", {_XML_ID: name, "ulx": "0", "uly": "0", **size})
    if page.image:
        pixels = {"width": f"{int(page.width)}px", "height": f"{int(page.height)}px"}
        add(surface, "graphic", {"url": quote(page.image), **pixels})
    for line, line_name in zip(page.lines, lines, strict=True):
        corners = dict(zip(("ulx", "uly", "lrx", "lry"), map(_number, line.box), strict=True))
        outline = {"points": " ".join(f"{_number(x)},{_number(y)}" for x, y in line.polygon or ())}
        attributes = {_XML_ID: line_name, "type": line.kind, **corners, **(outline if line.polygon else {})}
        attributes |= {"rotate": str(rotate)} if rotate else {}
        add(surface, "zone", {**attributes, "style": STYLE[line.direction]})


class _TextWriter:
    """Writes one page's lines in reading order, what belongs together in one element."""

    def __init__(self, block: Element, page: Page, names: Sequence[str], path: Path) -> None:
        self.block, self.path, self.names = block, path, names
        self.lines = number_columns(page).lines
        columns, registers = text_columns(self.lines), register_starts(self.lines)
        self.columns = {column[0]: (n, column) for n, column in enumerate(columns, start=1)}
        """By the line that begins it: a column's number, from 1, and its lines."""
        self.registers = {line: n for n, line in enumerate(registers, start=1)} if len(registers) > 1 else {}

    def write(self) -> None:
        body = _body(self.lines)
        numbered = enumerate(self.lines)
        for (kind, place), run in groupby(numbered, lambda pair: (pair[1].kind, _place(pair[1], body))):
            places = [n for n, _ in run]
            match kind:
                case "main" | "note":
                    self._write_text(places, kind)
                case "margin":
                    note = add(self.block, "note", {"place": place})
                    for n in places:
                        add(note, "lb", {"facs": f"#{self.names[n]}"})
                        self._write_chars(note, n)
                case "fold":
                    for n in places:
                        self._write_chars(add(self.block, "fw", self._fold(n)), n)

    def _write_text(self, places: Sequence[int], kind: Kind) -> None:
        """Lines of main text, or the rows of a note that follow each other."""
        parent: Element | None = self.block if kind == "main" else None
        for n in places:
            # A column that begins with a note begins before the note.
            begins = n in self.columns
            if begins:
                self._begin_column(self.block if parent is None else parent, n)
            if parent is None:
                parent = add(self.block, "note", {"place": "inline", "type": "double-row"})
            if begins and kind == "main":
                self._write_chars(parent, n)
                continue
            row = {"type": "row", "n": str((self.lines[n].row or 0) + 1)} if kind == "note" else {}
            self._write_chars(add(parent, "seg", {**row, "facs": f"#{self.names[n]}"}), n)

    def _begin_column(self, parent: Element, n: int) -> None:
        if n in self.registers:
            add(parent, "cb", {"n": str(self.registers[n])})
        number, lines = self.columns[n]
        zones = " ".join(f"#{self.names[line]}" for line in lines)
        add(parent, "lb", {"n": str(number), "facs": zones})

    def _fold(self, n: int) -> dict[str, str]:
        text = self.lines[n].text
        type = "pageNum" if text and set(text) <= _NUMERALS else "header"
        return {"type": type, "place": "fold", "facs": f"#{self.names[n]}"}

    def _write_chars(self, parent: Element, n: int) -> None:
        """A line's text at the end of an element, its doubtful characters marked."""
        line = self.lines[n]
        check_xml_text(line.text, f"{self.path}: line {line.id}")
        chars = line.chars
        if "".join(char.text for char in chars) != line.text:
            chars = (Char(line.text, line.box),)
        for doubt, run in groupby(chars, _doubt):
            text = "".join(char.text for char in run)
            if doubt:
                add(parent, "unclear", {**dict(doubt), "resp": f"#{PROGRAM_ID}"}, text)
            else:
                append_text(parent, text)


def _doubt(char: Char) -> tuple[tuple[str, str], ...]:
    """What `unclear` says of a character that the table of doubtful ones lists; nothing of others."""
    reason = reason_for(char)
    if reason is None:
        return ()
    sure = () if char.confidence is None else (("cert", certainty(char.confidence)),)
    return (("reason", reason), *sure)


def certainty(confidence: float) -> str:
    """A confidence in the words that TEI has for it."""
    return "low" if confidence < LOW else "medium" if confidence < THRESHOLD else "high"


def _place(line: Line, body: tuple[float, float]) -> str:
    """Whether a margin line stands above the text, at the `top`, below it, or elsewhere in the `margin`."""
    y = centre(line.box)[1]
    if line.kind != "margin":
        return ""
    return "top" if y < body[0] else "bottom" if y > body[1] else "margin"


def _body(lines: Sequence[Line]) -> tuple[float, float]:
    """From where to where the text reaches down the page; without any, everything stands above it."""
    boxes = [line.box for line in lines if line.kind in ("main", "note")]
    top = min((box[1] for box in boxes), default=inf)
    return top, max((box[3] for box in boxes), default=inf)


def _number(value: float) -> str:
    return f"{to_decimal(value):f}"
