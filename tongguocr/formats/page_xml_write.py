"""Writing PAGE XML for Transkribus, eScriptorium, LAREX, OCR-D and kraken: a Page in, XML out.

One TextRegion is made of each run of lines of one kind, so that a reader that only knows regions in order
still gets our lines in order. Points are whole numbers from 0: what is finer is rounded, what is negative
becomes 0. They are points of the image as it lies: where it was turned to be read, `orientation` says by how
much. The kind is carried as `custom="structure {type:note;}"`, the spelling that the other tools have for
their own types.

The schema is that of 2019, or for Transkribus, which takes no newer one, that of 2013. That has no other
readings of a character; directions and turns stand at regions, so that a region ends where they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import floor
from pathlib import Path

from tongguocr.formats.numbers import plain, to_decimal
from tongguocr.formats.style import PAGE_SCHEMAS, PageSchema
from tongguocr.formats.xml import Element, add, check_xml_text, new_root, render_xml, unique_name
from tongguocr.formats.xml_lines import baseline, corners, ids_for_xml, runs_of_kind, whole_angle
from tongguocr.geometry import Point, bounds, union
from tongguocr.page import Kind, Line, Page, as_it_lies

NAMESPACE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/"
"""Of every version; the version's day follows."""
_XSI = "http://www.w3.org/2001/XMLSchema-instance"

REGION_TYPE: dict[Kind, str] = {
    "main": "paragraph",
    "note": "other",
    "margin": "marginalia",
    "fold": "header",
}
"""The nearest of PAGE's own region types; it has none for a note inside the column."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What every part of one file needs: schema, path, the page's angle, and the ids that are taken."""

    schema: PageSchema
    path: Path
    angle: int
    whole: float
    """The angle, and what the page leans beyond it."""
    taken: set[str]

    @property
    def is_old(self) -> bool:
        return self.schema == "2013-07-15"


def render_page_xml(
    page: Page, path: Path, schema: PageSchema = PAGE_SCHEMAS[0], created: datetime | None = None
) -> bytes:
    """The page as a PAGE file; `created` is the time that goes into its metadata, now unless given."""
    space = NAMESPACE + schema
    location = {"xmlns:xsi": _XSI, "xsi:schemaLocation": f"{space} {space}/pagecontent.xsd"}
    root = new_root("PcGts", space, location)
    _metadata(root, created or datetime.now(UTC))
    check_xml_text(page.image, f"{path}: image")
    names = ids_for_xml(page.lines)
    context = _Context(schema, path, page.angle, whole_angle(page), set(names))
    page = as_it_lies(page)
    size = {"imageWidth": str(int(page.width)), "imageHeight": str(int(page.height))}
    turned = {} if context.is_old else _orientation(context)
    element = add(root, "Page", {"imageFilename": page.image, **size, **turned})
    runs = _runs(page.lines, context)
    regions = [unique_name(f"r{n}", context.taken) for n in range(1, len(runs) + 1)]
    _write_order(element, regions, context.taken)
    for n, (region, run) in enumerate(zip(regions, runs, strict=True)):
        _write_region(element, region, n, [(names[i], page.lines[i]) for i in run], context)
    return render_xml(root)


def _orientation(context: _Context) -> dict[str, str]:
    """How far the page must be turned clockwise; by the schema, from -179.999 to 180."""
    whole = context.whole
    clockwise = to_decimal(whole) if whole <= 180 else to_decimal(whole) - 360
    return {"orientation": str(clockwise)} if whole else {}


def _runs(lines: Sequence[Line], context: _Context) -> list[list[int]]:
    """The lines' places in reading order, those of one region together."""
    if not context.is_old:
        return runs_of_kind(lines)
    key = [(line.kind, line.direction) for line in lines]
    return [list(run) for _, run in groupby(range(len(lines)), lambda i: key[i])]


def _write_region(
    page: Element, name: str, place: int, lines: Sequence[tuple[str, Line]], context: _Context
) -> None:
    kind = lines[0][1].kind
    custom = f"readingOrder {{index:{place};}} structure {{type:{kind};}}"
    attributes = {"id": name, "type": REGION_TYPE[kind], "custom": custom}
    if context.is_old:
        attributes |= {"readingDirection": lines[0][1].direction, **_orientation(context)}
    region = add(page, "TextRegion", attributes)
    outlines = [_outline(line) for _, line in lines]
    _write_coords(region, corners(union(bounds(_whole(outline)) for outline in outlines)))
    for n, (line_name, line) in enumerate(lines):
        _write_line(region, line, line_name, n, context)


def _metadata(root: Element, created: datetime) -> None:
    metadata = add(root, "Metadata")
    add(metadata, "Creator", text="TongGuOCR")
    for name in ("Created", "LastChange"):
        add(metadata, name, text=created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _write_order(page: Element, regions: list[str], taken: set[str]) -> None:
    if not regions:
        return
    group = add(add(page, "ReadingOrder"), "OrderedGroup", {"id": unique_name("order", taken)})
    for n, region in enumerate(regions):
        add(group, "RegionRefIndexed", {"index": str(n), "regionRef": region})


def _write_line(region: Element, line: Line, name: str, place: int, context: _Context) -> None:
    where = f"{context.path}: line {line.id}"
    direction = {} if context.is_old else {"readingDirection": line.direction}
    attributes = {"id": name, **direction, "custom": f"readingOrder {{index:{place};}}"}
    element = add(region, "TextLine", attributes)
    _write_coords(element, _outline(line))
    add(element, "Baseline", {"points": _points_text(baseline(line, context.angle))})
    if line.chars:
        word = add(element, "Word", {"id": unique_name(f"{name}_w", context.taken)})
        _write_coords(word, _outline(line))
        for n, char in enumerate(line.chars, start=1):
            glyph = add(word, "Glyph", {"id": unique_name(f"{name}_c{n}", context.taken)})
            _write_coords(glyph, corners(char.box))
            others = () if context.is_old else char.candidates
            _write_texts(glyph, [(char.text, char.confidence), *others], where)
        _write_texts(word, [(line.text, None)], where)
    if line.text or line.chars or line.confidence is not None:
        _write_texts(element, [(line.text, line.confidence)], where)


def _write_texts(parent: Element, readings: Sequence[tuple[str, float | None]], where: str) -> None:
    for n, (text, confidence) in enumerate(readings):
        check_xml_text(text, where)
        attributes = {"index": str(n)} if len(readings) > 1 else {}
        if confidence is not None:
            attributes["conf"] = str(plain(confidence))
        add(add(parent, "TextEquiv", attributes), "Unicode", text=text)


def _outline(line: Line) -> tuple[Point, ...]:
    return line.polygon or corners(line.box)


def _whole(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple((max(0, floor(x + 0.5)), max(0, floor(y + 0.5))) for x, y in points)


def _write_coords(parent: Element, points: Sequence[Point]) -> None:
    add(parent, "Coords", {"points": _points_text(points)})


def _points_text(points: Sequence[Point]) -> str:
    return " ".join(f"{x},{y}" for x, y in _whole(points))
