"""TEI P5: pages in, an edition's raw material out.

The facsimile has a surface for each page and a zone for each line; the text has a page beginning, a column
beginning for each column of the page, and for each line a line beginning that points at its zone. A run of
double-row notes is one inline note, a run of margin lines one note at its place, and the centre fold a forme
work. A surface is the image as it lies: where it was turned to be read, its zones have `rotate`. The text
stands in an `ab`, not in paragraphs: where the author began a new one, no program knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import inf
from pathlib import Path
from urllib.parse import quote
from xml.etree.ElementTree import indent

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.formats.numbers import to_decimal
from tongguocr.formats.xml import Element, add, check_xml_text, new_root, to_bytes, unique_name
from tongguocr.formats.xml_lines import ids_for_xml
from tongguocr.geometry import centre
from tongguocr.layout.columns import column_starts, number_columns
from tongguocr.page import Direction, Kind, Line, Page, as_it_lies
from tongguocr.version import __version__

NAMESPACE = "http://www.tei-c.org/ns/1.0"
STYLE: dict[Direction, str] = {
    "top-to-bottom": "writing-mode: vertical-rl",
    "bottom-to-top": "writing-mode: sideways-lr",
    "left-to-right": "writing-mode: horizontal-tb",
    "right-to-left": "writing-mode: horizontal-tb; direction: rtl",
}
"""Directions as the Guidelines tell them, in CSS."""
_XML_ID = "xml:id"


def render_tei(page: Page, path: Path) -> bytes:
    """One page as a TEI document."""
    return render_tei_book([page], path)


def write_tei_book(pages: Iterable[Page], path: Path) -> None:
    """Several pages as one TEI document, whole or not at all."""
    write_bytes(render_tei_book(list(pages), path), path)


def render_tei_book(pages: Sequence[Page], path: Path) -> bytes:
    """Several pages as one TEI document."""
    if not pages:
        raise InputError(f"{path}: a TEI document needs at least one page.")
    root = new_root("TEI", NAMESPACE)
    _write_header(root, pages, path)
    facsimile = add(root, "facsimile")
    text = add(root, "text")
    block = add(add(text, "body"), "ab")
    taken: set[str] = set()
    for n, page in enumerate(pages, start=1):
        prefix = f"p{n}_" if len(pages) > 1 else ""
        names = [unique_name(prefix + name, taken) for name in ids_for_xml(page.lines)]
        surface = unique_name(f"surface{n}", taken)
        _write_surface(facsimile, page, surface, names)
        add(block, "pb", {"n": str(n), "facs": f"#{surface}"})
        _write_text(block, page, names, path)
    # Only these are indented: in the text, white space would count.
    for part in (root[0], facsimile):
        indent(part)
        part.tail = "\n"
    root.text = text.tail = "\n"
    written = to_bytes(root)
    # A row of the file for each line of the page, its break inside the tag: beside it, it would be text.
    return re.sub(rb"<([pcl]b) ", rb"<\1\n", written)


def _write_header(root: Element, pages: Sequence[Page], path: Path) -> None:
    images = [page.image for page in pages if page.image]
    for image in images:
        check_xml_text(image, f"{path}: image")
    source = f"Read from {', '.join(images)}." if images else "Read from images without a name."
    header = add(root, "teiHeader")
    description = add(header, "fileDesc")
    title = images[0] if len(images) == 1 else f"Transcription of {len(pages)} pages"
    add(add(description, "titleStmt"), "title", text=title)
    add(
        add(description, "publicationStmt"), "p", text="Unpublished: written by a program, not yet proofread."
    )
    add(add(description, "sourceDesc"), "p", text=source)
    program = {"ident": "TongGuOCR", "version": __version__}
    add(add(add(add(header, "encodingDesc"), "appInfo"), "application", program), "label", text="TongGuOCR")


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


def _write_text(block: Element, page: Page, names: Sequence[str], path: Path) -> None:
    """The lines in reading order, what belongs together in one element."""
    starts = column_starts(number_columns(page).lines)
    body, columns = _body(page), {line: n for n, line in enumerate(starts, start=1)}
    lines = enumerate(page.lines)
    for (kind, place), run in groupby(lines, lambda pair: (pair[1].kind, _place(pair[1], body))):
        parent: Element | None = None
        for n, line in run:
            check_xml_text(line.text, f"{path}: line {line.id}")
            # A column that begins with a note begins before the note.
            if n in columns:
                add(block if parent is None else parent, "cb", {"n": str(columns[n])})
            parent = _holder(block, kind, place) if parent is None else parent
            add(parent, "lb", {"facs": f"#{names[n]}"}).tail = line.text


def _holder(block: Element, kind: Kind, place: str) -> Element:
    """The element that holds lines of this kind: the text itself for main text."""
    match kind:
        case "main":
            return block
        case "note":
            return add(block, "note", {"place": "inline", "type": "double-row"})
        case "margin":
            return add(block, "note", {"place": place})
        case "fold":
            return add(block, "fw", {"type": "fold"})


def _place(line: Line, body: tuple[float, float]) -> str:
    """Whether a margin line stands above the text, at the `top`, below it, or elsewhere in the `margin`."""
    y = centre(line.box)[1]
    if line.kind != "margin":
        return ""
    return "top" if y < body[0] else "bottom" if y > body[1] else "margin"


def _body(page: Page) -> tuple[float, float]:
    """From where to where the text reaches down the page; without any, everything stands above it."""
    boxes = [line.box for line in page.lines if line.kind in ("main", "note")]
    top = min((box[1] for box in boxes), default=inf)
    return top, max((box[3] for box in boxes), default=inf)


def _number(value: float) -> str:
    return f"{to_decimal(value):f}"
