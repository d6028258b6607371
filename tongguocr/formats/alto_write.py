"""Writing ALTO 4.4: a Page in, XML out.

One TextBlock is made of each run of lines of one kind, in reading order, and ReadingOrder says the order
again; each line is one String, each of its characters a Glyph, and the kind is an OtherTag. Every line has a
baseline and an outline: kraken sees no other lines. Positions and sizes are exact decimals, in the image as
it lies: where it was turned to be read, the Page's ROTATION says by how much. A Glyph may hold only one code
point and a Variant three: the rest of a character stays in its String, and a longer reading is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tongguocr.formats.alto_read import DIRECTION_OF_BASE
from tongguocr.formats.numbers import EXACT, plain, to_decimal
from tongguocr.formats.xml import Element, add, check_xml_text, new_root, render_xml, unique_name
from tongguocr.formats.xml_lines import baseline, corners, ids_for_xml, runs_of_kind, whole_angle
from tongguocr.geometry import Box, Point, union
from tongguocr.page import Char, Kind, Line, Page, as_it_lies

NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"

KIND_DESCRIPTION: dict[Kind, str] = {
    "main": "main text",
    "note": "one row of a double-row note",
    "margin": "head note or other margin",
    "fold": "running title on the centre fold",
}
_BASE_OF_DIRECTION = {direction: base for base, direction in DIRECTION_OF_BASE.items()}
_MAX_VARIANT = 3
"""Code points that a Variant may hold by the schema."""


def render_alto(page: Page, path: Path) -> bytes:
    """The page as an ALTO file."""
    check_xml_text(page.image, f"{path}: image")
    angle, whole, page = page.angle, whole_angle(page), as_it_lies(page)
    names = ids_for_xml(page.lines)
    taken = set(names)
    runs = runs_of_kind(page.lines)
    blocks = [unique_name(f"b{n}", taken) for n in range(1, len(runs) + 1)]
    root = new_root("alto", NAMESPACE, {"SCHEMAVERSION": "4.4"})
    _write_description(root, page, unique_name("tongguocr", taken))
    tags = _write_tags(root, [page.lines[run[0]].kind for run in runs], taken)
    _write_order(root, blocks, taken)
    size = {"WIDTH": str(int(page.width)), "HEIGHT": str(int(page.height))}
    page_attributes = {"ID": unique_name("page", taken), "PHYSICAL_IMG_NR": "1", **size}
    # The schema's degrees are how far the text leans to the left: as far as the page must be turned back.
    rotation = {"ROTATION": str(to_decimal(whole))} if whole else {}
    element = add(add(root, "Layout"), "Page", {**page_attributes, **rotation})
    space = add(element, "PrintSpace", {"HPOS": "0", "VPOS": "0", **size})
    for name, run in zip(blocks, runs, strict=True):
        lines = [page.lines[i] for i in run]
        place = _place(union(line.box for line in lines))
        block = add(space, "TextBlock", {"ID": name, "TAGREFS": tags[lines[0].kind], **place})
        for i, line in zip(run, lines, strict=True):
            _write_line(block, line, baseline(line, angle), names[i], f"{path}: line {line.id}")
    return render_xml(root)


def _write_description(root: Element, page: Page, name: str) -> None:
    description = add(root, "Description")
    add(description, "MeasurementUnit", text="pixel")
    add(add(description, "sourceImageInformation"), "fileName", text=page.image)
    software = add(add(description, "Processing", {"ID": name}), "processingSoftware")
    add(software, "softwareName", text="TongGuOCR")


def _write_tags(root: Element, kinds: list[Kind], taken: set[str]) -> dict[Kind, str]:
    """A tag for each kind that occurs; the tags' ids by kind."""
    tags = {kind: unique_name(f"kind_{kind}", taken) for kind in KIND_DESCRIPTION if kind in kinds}
    container = add(root, "Tags") if tags else root
    for kind, name in tags.items():
        label = {"LABEL": kind, "DESCRIPTION": KIND_DESCRIPTION[kind]}
        add(container, "OtherTag", {"ID": name, "TYPE": "kind", **label})
    return tags


def _write_order(root: Element, blocks: list[str], taken: set[str]) -> None:
    if not blocks:
        return
    group = add(add(root, "ReadingOrder"), "OrderedGroup", {"ID": unique_name("order", taken)})
    for block in blocks:
        add(group, "ElementRef", {"ID": unique_name(f"order_{block}", taken), "REF": block})


def _write_line(block: Element, line: Line, ends: Sequence[Point], name: str, where: str) -> None:
    base = {"BASEDIRECTION": _BASE_OF_DIRECTION[line.direction], "BASELINE": _points(ends)}
    element = add(block, "TextLine", {"ID": name, **_place(line.box), **base})
    add(add(element, "Shape"), "Polygon", {"POINTS": _points(line.polygon or corners(line.box))})
    check_xml_text(line.text, where)
    confidence = {} if line.confidence is None else {"WC": str(plain(line.confidence))}
    string = add(element, "String", {**_place(line.box), "CONTENT": line.text, **confidence})
    for char in line.chars:
        if char.text:
            _write_glyph(string, char, where)


def _write_glyph(string: Element, char: Char, where: str) -> None:
    confidence = {} if char.confidence is None else {"GC": str(plain(char.confidence))}
    check_xml_text(char.text, where)
    glyph = add(string, "Glyph", {"CONTENT": char.text[0], **_place(char.box), **confidence})
    for text, value in char.candidates:
        check_xml_text(text, where)
        if len(text) <= _MAX_VARIANT:
            add(glyph, "Variant", {"CONTENT": text, "VC": str(plain(value))})


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{to_decimal(x)},{to_decimal(y)}" for x, y in points)


def _place(box: Box) -> dict[str, str]:
    x0, y0, x1, y1 = map(to_decimal, box)
    place = {"HPOS": x0, "VPOS": y0, "WIDTH": EXACT.subtract(x1, x0), "HEIGHT": EXACT.subtract(y1, y0)}
    return {name: str(value) for name, value in place.items()}
