"""Writing hOCR 1.2: a Page in, XHTML out.

Each run of lines of one kind is an `ocr_carea`, each line an `ocr_line`, each character an `ocrx_word`: the
script has no spaces, and a word is what programs select and correct. Columns are marked as the specification
asks for writing directions, in CSS: `textangle` is for text whose glyphs are turned, which upright columns
are not. Boxes are in the image as it lies: where it was turned to be read, every line has its `textangle`.
"""

from __future__ import annotations

import re
from math import ceil, floor
from pathlib import Path

from tongguocr.formats.xml import Element, add, check_xml_text, new_root, to_bytes, unique_name
from tongguocr.formats.xml_lines import ids_for_xml, runs_of_kind, whole_angle
from tongguocr.geometry import Box, union
from tongguocr.page import Direction, Line, Page, as_it_lies
from tongguocr.version import __version__

NAMESPACE = "http://www.w3.org/1999/xhtml"
_DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"'
    ' "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'
)
_XML_LANG = "xml:lang"
_CAPABILITIES = "ocr_page ocr_carea ocr_line ocrx_word ocrp_lang ocrp_dir"
STYLE: dict[Direction, dict[str, str]] = {
    "top-to-bottom": {"style": "writing-mode: vertical-rl"},
    "bottom-to-top": {"style": "writing-mode: sideways-lr"},
    "left-to-right": {},
    # Ideographs run from the left by themselves, whatever `dir` says.
    "right-to-left": {"dir": "rtl", "style": "unicode-bidi: bidi-override"},
}


def render_hocr(page: Page, path: Path) -> bytes:
    """The page as an hOCR file."""
    check_xml_text(page.image, f"{path}: image")
    angle, page = whole_angle(page), as_it_lies(page)
    names = ids_for_xml(page.lines)
    taken = set(names)
    root = new_root("html", NAMESPACE, {_XML_LANG: "zh", "lang": "zh"})
    _write_head(root, page)
    title = f"{_bbox((0, 0, page.width, page.height))}; ppageno 0"
    if page.image:
        title = f'image "{_quoted(page.image)}"; {title}'
    body = add(root, "body")
    sheet = add(body, "div", {"class": "ocr_page", "id": unique_name("page_1", taken), "title": title})
    for n, run in enumerate(runs_of_kind(page.lines), start=1):
        lines = [(page.lines[i], names[i]) for i in run]
        title = f"{_bbox(union(line.box for line, _ in lines))}; x_kind {lines[0][0].kind}"
        area = add(
            sheet, "div", {"class": "ocr_carea", "id": unique_name(f"carea_{n}", taken), "title": title}
        )
        for line, name in lines:
            _write_line(area, line, angle, name, taken, f"{path}: line {line.id}")
    _break_rows(root)
    # Browsers take an empty element that closes itself for an open one.
    return re.sub(rb"<(span|div|title)([^>]*)/>", rb"<\1\2></\1>", to_bytes(root, _DOCTYPE))


def _write_head(root: Element, page: Page) -> None:
    head = add(root, "head")
    add(head, "title", text=page.image or "Page")
    add(head, "meta", {"http-equiv": "Content-Type", "content": "text/html; charset=utf-8"})
    facts = {
        "ocr-system": f"TongGuOCR {__version__}",
        "ocr-capabilities": _CAPABILITIES,
        "ocr-number-of-pages": "1",
        "ocr-langs": "zh",
        "ocr-scripts": "Hani",
    }
    for name, content in facts.items():
        add(head, "meta", {"name": name, "content": content})


def _write_line(area: Element, line: Line, angle: float, name: str, taken: set[str], where: str) -> None:
    """The line's characters; without them, or where they do not spell its text, all of it as one word."""
    # Counterclockwise, so as far as the page must be turned clockwise; glyphs of a line that climbs lie too.
    leaning = (angle + (90 if line.direction == "bottom-to-top" else 0)) % 360
    title = _bbox(line.box) + (f"; textangle {leaning:g}" if leaning else "")
    attributes = {"class": "ocr_line", "id": name, "title": title, **STYLE[line.direction]}
    element = add(area, "span", attributes)
    words = [(char.text, char.box, char.confidence) for char in line.chars if char.text]
    if "".join(text for text, _, _ in words) != line.text:
        words = [(line.text, line.box, line.confidence)]
    # Browsers take a span without an end tag for the start of one.
    element.text = None if words else ""
    for n, (text, box, confidence) in enumerate(words, start=1):
        check_xml_text(text, where)
        sure = "" if confidence is None else f"; x_wconf {round(100 * confidence, 2):g}"
        number = unique_name(f"{name}_w{n}", taken)
        add(element, "span", {"class": "ocrx_word", "id": number, "title": _bbox(box) + sure}, text)


def _break_rows(parent: Element) -> None:
    """A row of the file for each element down to the lines; inside a line white space would be text."""
    if parent.get("class") == "ocr_line" or not len(parent):
        return
    parent.text = "\n"
    for child in parent:
        child.tail = "\n"
        _break_rows(child)


def _bbox(box: Box) -> str:
    """Whole pixels that hold the box; hOCR has no negative ones."""
    x0, y0 = (max(0, floor(value)) for value in box[:2])
    x1, y1 = (max(0, ceil(value)) for value in box[2:])
    return f"bbox {x0} {y0} {x1} {y1}"


def _quoted(name: str) -> str:
    """A file name for a property, where a quotation mark or a semicolon would end it."""
    return name.replace("%", "%25").replace('"', "%22").replace(";", "%3B")
