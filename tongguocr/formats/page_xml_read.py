"""Reading PAGE XML of Transkribus, eScriptorium, LAREX, OCR-D, kraken and ourselves: XML in, a Page out.

Every namespace version is taken, and both ways to give an order: ReadingOrder for regions, and
`custom="readingOrder {index:N;}"`. Points are those of the image as it lies; `orientation` says how far it
must be turned, at the page or, in older versions, at all of its regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tongguocr.errors import InputError
from tongguocr.formats.numbers import parse_confidence, parse_number
from tongguocr.formats.txt import join_words
from tongguocr.formats.xml import Element
from tongguocr.formats.xml_lines import (
    KIND_OF_LABEL,
    angle_and_skew,
    corners,
    direction_of,
    ids_from_xml,
    is_one_character,
    line_text,
    reading_order,
)
from tongguocr.geometry import Point, bounds, union
from tongguocr.page import (
    DIRECTIONS,
    Char,
    Direction,
    Kind,
    Line,
    Page,
    turn_page,
)

_CUSTOM = re.compile(r"([\w-]+)\s*\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class _FoundLine:
    """A TextLine and what encloses it, innermost first."""

    element: Element
    regions: tuple[Element, ...]


def parse_page_xml(root: Element, path: Path) -> Page:
    """The page in a PAGE file, by its root element PcGts."""
    page = root.find("Page")
    if page is None:
        raise InputError(f"{path}: the PAGE file has no Page element.")
    found = list(_lines_of(page, (), path))
    owners = [[e.get("id", "") for e in (line.element, *line.regions)] for line in found]
    references = [ref for order in page.findall("ReadingOrder") for ref in _references(order, path)]
    names = ids_from_xml([line.element.get("id") for line in found], path)
    angle, skew = _angle(page, path)
    lines = [_read_line(found[i], page, angle, names[i], path) for i in reading_order(owners, references)]
    width, height = (_size(page, name, path) for name in ("imageWidth", "imageHeight"))
    image = line_text(page.get("imageFilename", ""), f"{path}: imageFilename")
    return turn_page(Page(image, width, height, tuple(lines), skew=skew), angle)


def _angle(page: Element, path: Path) -> tuple[int, float]:
    """How far the page must be turned, in quarters and beyond: by its own word, or by that of its regions
    where all say the same."""
    where = f"{path}: orientation"
    if page.get("orientation"):
        return angle_and_skew(page.get("orientation"), where)
    turns = {angle_and_skew(region.get("orientation"), where) for region in page.iterfind("TextRegion")}
    return turns.pop() if len(turns) == 1 else (0, 0.0)


def _size(page: Element, name: str, path: Path) -> int:
    size = parse_number(page.get(name, ""), f"{path}: {name}")
    if size < 0 or size != int(size):
        raise InputError(f"{path}: {name} must be a whole number from 0.")
    return int(size)


def _lines_of(parent: Element, regions: tuple[Element, ...], path: Path) -> Iterator[_FoundLine]:
    """Every TextLine, region by region: nested regions before the region's own lines, as PAGE stores them."""
    inner = [e for e in parent if e.tag.endswith("Region") or e.tag == "TableCell"]
    for region in _by_index(inner, path):
        yield from _lines_of(region, (region, *regions), path)
    own = parent.findall("TextLine")
    if not own and not inner and regions and _texts(parent, path):
        raise InputError(f"{path}: the region {parent.get('id')!r} has text but no text lines.")
    for line in _by_index(own, path):
        yield _FoundLine(line, regions)


def _by_index(elements: list[Element], path: Path) -> list[Element]:
    """In the order their `custom` attributes give, where all of them do; as they stand otherwise."""
    indexes = [_custom(e, "readingOrder", "index") or e.get("index") for e in elements]
    if any(index is None for index in indexes):
        return elements
    numbers = [parse_number(index or "", f"{path}: readingOrder index") for index in indexes]
    return [elements[i] for i in sorted(range(len(elements)), key=lambda i: (numbers[i], i))]


def _references(group: Element, path: Path) -> Iterator[str]:
    """The region ids of a reading order, groups within groups; an indexed group goes by its indexes."""
    if reference := group.get("regionRef"):
        yield reference
    members = list(group)
    if group.tag.startswith("OrderedGroup"):
        members.sort(key=lambda member: parse_number(member.get("index", "0"), f"{path}: ReadingOrder index"))
    for member in members:
        yield from _references(member, path)


def _custom(element: Element, name: str, key: str) -> str | None:
    """`key` out of `custom="name {key:value; ...}"`."""
    for found, body in _CUSTOM.findall(element.get("custom", "")):
        if found == name:
            for pair in body.split(";"):
                k, _, value = pair.partition(":")
                if k.strip() == key:
                    return cast(str, value.strip())
    return None


def _read_line(found: _FoundLine, page: Element, angle: int, name: str, path: Path) -> Line:
    element = found.element
    where = f"{path}: line {name}"
    chars = _chars(element, where)
    texts = _texts(element, where)
    text = texts[0][0] if texts else join_words(_word_text(word, where) for word in element.findall("Word"))
    points = _line_points(element, where)
    box = bounds(points)
    return Line(
        id=name,
        box=box,
        text=line_text(text, where),
        kind=_kind((element, *found.regions)),
        direction=_direction((element, *found.regions, page)) or direction_of(box, text, angle),
        confidence=texts[0][1] if texts else None,
        polygon=None if len(points) < 3 or points == corners(box) else points,
        chars=chars,
    )


def _kind(owners: Sequence[Element]) -> Kind:
    """The innermost label that means one of our kinds; main text otherwise."""
    for owner in owners:
        for label in (_custom(owner, "structure", "type"), owner.get("type")):
            if label and label.lower() in KIND_OF_LABEL:
                return KIND_OF_LABEL[label.lower()]
    return "main"


def _direction(owners: Sequence[Element]) -> Direction | None:
    values = (owner.get("readingDirection") for owner in owners)
    return next((value for value in values if value in DIRECTIONS), None)


def _texts(element: Element, where: object) -> list[tuple[str, float | None]]:
    """The readings of an element with their confidence, the main one first."""
    readings = []
    for n, equiv in enumerate(element.findall("TextEquiv")):
        text = equiv.findtext("Unicode") if equiv.find("Unicode") is not None else equiv.findtext("PlainText")
        index = parse_number(equiv.get("index", "0"), f"{where}: TextEquiv index")
        confidence = parse_confidence(equiv.get("conf"), f"{where}: TextEquiv conf")
        readings.append((index, n, text or "", confidence))
    return [(text, confidence) for _, _, text, confidence in sorted(readings, key=lambda r: r[:2])]


def _word_text(word: Element, where: str) -> str:
    if texts := _texts(word, where):
        return texts[0][0]
    return "".join(_texts(glyph, where)[0][0] for glyph in word.findall("Glyph") if _texts(glyph, where))


def _chars(line: Element, where: str) -> tuple[Char, ...]:
    """The line's characters: glyphs, or words of one character; none where some word is not taken apart."""
    chars: list[Char] = []
    for word in line.findall("Word"):
        glyphs = word.findall("Glyph")
        if not glyphs and (text := _word_text(word, where)):
            if not is_one_character(text):
                return ()
            glyphs = [word]
        chars += [_char(glyph, where) for glyph in glyphs]
    return tuple(chars)


def _char(glyph: Element, where: str) -> Char:
    texts = _texts(glyph, where) or [("", None)]
    box = bounds(_points(glyph.find("Coords"), where))
    others = tuple((line_text(text, where), confidence or 0.0) for text, confidence in texts[1:])
    return Char(line_text(texts[0][0], where), box, texts[0][1], others)


def _line_points(line: Element, where: str) -> tuple[Point, ...]:
    """The line's outline; without one its words' outline, then its baseline."""
    outlines = [e for e in (line.find("Coords"), line.find("Baseline")) if e is not None and e.get("points")]
    words = [coords for word in line.findall("Word") if (coords := word.find("Coords")) is not None]
    if words and not (outlines and outlines[0].tag == "Coords"):
        return corners(union(bounds(_points(word, where)) for word in words))
    if not outlines:
        raise InputError(f"{where}: the line has no Coords.")
    return _points(outlines[0], where)


def _points(coords: Element | None, where: str) -> tuple[Point, ...]:
    pairs = coords.get("points", "").split() if coords is not None else []
    if not pairs:
        raise InputError(f"{where}: an element has no Coords.")
    points = []
    for pair in pairs:
        x, comma, y = pair.partition(",")
        if not comma:
            raise InputError(f"{where}: {pair[:40]!r} is not a point.")
        points.append((parse_number(x, f"{where}: points"), parse_number(y, f"{where}: points")))
    return tuple(points)
