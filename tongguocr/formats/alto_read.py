"""Reading ALTO, as libraries keep it and as kraken and eScriptorium exchange it: XML in, a Page out.

Versions 2 to 4 are taken, with or without a namespace. The order is that of ReadingOrder, else that of the
blocks' IDNEXT, else the file's own. Places are in the image as it lies; the Page's ROTATION says how far to
turn it. A Glyph holds one code point by the schema: the variation selectors that stand only in the
String are put back.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePosixPath

from tongguocr.errors import InputError
from tongguocr.formats.numbers import LIMIT, parse_confidence, parse_decimal, to_number
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
from tongguocr.geometry import Box, Point, bounds, make_box, union
from tongguocr.page import Char, Direction, Kind, Line, Page, turn_page
from tongguocr.sources import image_size

DIRECTION_OF_BASE: dict[str, Direction] = {
    "ltr": "left-to-right",
    "rtl": "right-to-left",
    "ttb": "top-to-bottom",
    "btt": "bottom-to-top",
}


@dataclass(frozen=True, slots=True)
class _Context:
    """What every part of one file needs: path, pixels a unit, the kind each tag means, the page's angle."""

    path: Path
    scale: tuple[Decimal, Decimal]
    kinds: dict[str, Kind]
    angle: int


@dataclass(frozen=True, slots=True)
class _FoundLine:
    """A TextLine and the blocks around it, innermost first, up to its PrintSpace or margin."""

    element: Element
    blocks: tuple[Element, ...]


def parse_alto(root: Element, path: Path) -> Page:
    """The page in an ALTO file, by its root element alto."""
    pages = root.findall("Layout/Page")
    if len(pages) != 1:
        raise InputError(f"{path}: the ALTO file has {len(pages)} pages; one is expected.")
    image = root.findtext("Description/sourceImageInformation/fileName") or ""
    image = line_text(image.strip(), f"{path}: fileName")
    angle, skew = angle_and_skew(pages[0].get("ROTATION"), f"{path}: ROTATION")
    context = _Context(path, _scale(root, pages[0], image, path), _kinds(root), angle)
    found = [line for space in pages[0] for line in _lines_of(space, ())]
    names = ids_from_xml([line.element.get("ID") for line in found], path)
    owners = [
        [name, *(block.get("ID", "") for block in line.blocks)]
        for name, line in zip(names, found, strict=True)
    ]
    order = reading_order(owners, _references(root, pages[0], found, names))
    lines = tuple(_read_line(found[i], names[i], context) for i in order)
    return turn_page(Page(image, *_page_size(pages[0], lines, context), lines, skew=skew), angle)


def _scale(root: Element, page: Element, image: str, path: Path) -> tuple[Decimal, Decimal]:
    """Pixels a unit. Other units than pixels need the image beside the file, as the schema explains."""
    unit = (root.findtext("Description/MeasurementUnit") or "pixel").strip()
    if unit == "pixel":
        return Decimal(1), Decimal(1)
    beside = path.parent / PurePosixPath(image.replace("\\", "/")).name
    if unit not in ("mm10", "inch1200"):
        raise InputError(f"{path}: the measurement unit {unit!r} is not known.")
    sizes = [parse_decimal(page.get(name, "0"), f"{path}: Page {name}") for name in ("WIDTH", "HEIGHT")]
    if not image or not beside.is_file() or min(sizes) < 1:
        raise InputError(f"{path}: sizes are in {unit}, and the page's size in pixels is not known.")
    pixels = image_size(beside)
    return Decimal(pixels[0]) / sizes[0], Decimal(pixels[1]) / sizes[1]


def _kinds(root: Element) -> dict[str, Kind]:
    """The kind that each tag of the file means, by the tag's id."""
    labels = {tag.get("ID", ""): tag.get("LABEL", "").lower() for tag in root.iterfind("Tags/*")}
    return {name: KIND_OF_LABEL[label] for name, label in labels.items() if label in KIND_OF_LABEL}


def _lines_of(parent: Element, blocks: tuple[Element, ...]) -> Iterator[_FoundLine]:
    for child in parent:
        if child.tag == "TextLine":
            yield _FoundLine(child, (parent, *blocks))
        elif child.tag in ("TextBlock", "ComposedBlock"):
            yield from _lines_of(child, (parent, *blocks))


def _references(root: Element, page: Element, found: list[_FoundLine], names: list[str]) -> list[str]:
    """Ids in reading order: the first group of ReadingOrder (more are alternatives), or the IDNEXT chain."""
    group = next(iter(root.findall("ReadingOrder/*")), None)
    if group is None:
        return _chain(page)
    part_of = {
        part.get("ID", ""): name
        for name, line in zip(names, found, strict=True)
        for part in line.element.iter()
        if part.tag in ("String", "Glyph")
    }
    references = [ref for element in group.iter() for ref in element.get("REF", "").split()]
    return [part_of.get(reference, reference) for reference in references]


def _chain(page: Element) -> list[str]:
    """The blocks in the order of their IDNEXT, each chain from its start; nothing where no block has one."""
    blocks = (block for block in page.iter() if block.tag in ("TextBlock", "ComposedBlock"))
    following = {block.get("ID", ""): block.get("IDNEXT", "") for block in blocks}
    if not any(following.values()):
        return []
    targets = set(following.values())
    chain: list[str] = []
    for start in (name for name in following if name not in targets):
        while start in following and start not in chain:
            chain.append(start)
            start = following[start]
    return chain


def _page_size(page: Element, lines: Sequence[Line], context: _Context) -> tuple[int, int]:
    """WIDTH and HEIGHT in pixels; where the file leaves them out, as far as its lines reach."""
    reach = union(line.box for line in lines) if lines else (0, 0, 0, 0)
    sizes = []
    for name, scale, far in zip(("WIDTH", "HEIGHT"), context.scale, reach[2:], strict=True):
        value = page.get(name)
        size = parse_decimal(value, f"{context.path}: Page {name}") * scale if value else Decimal(far)
        if size < 0:
            raise InputError(f"{context.path}: Page {name} must not be negative.")
        sizes.append(round(size))
    return sizes[0], sizes[1]


def _read_line(found: _FoundLine, name: str, context: _Context) -> Line:
    element, where = found.element, f"{context.path}: line {name}"
    strings = element.findall("String")
    polygon = _polygon(element, context, where)
    box = _box(element, context, where) or (bounds(polygon) if polygon else None)
    if box is None:
        boxes = [b for string in strings if (b := _box(string, context, where))]
        if not boxes:
            raise InputError(f"{where}: the line has no position.")
        box = union(boxes)
    text = line_text(_text(element), where)
    return Line(
        id=name,
        box=box,
        text=text,
        kind=_kind((element, *found.blocks), context),
        direction=_direction((element, *found.blocks)) or direction_of(box, text, context.angle),
        confidence=_confidence(strings, where),
        # An outline that says no more than the box is none.
        polygon=None if polygon == corners(box) else polygon,
        chars=_chars(strings, context, where),
    )


def _text(line: Element) -> str:
    """Strings, spaces and the hyphen at the end; where no SP stands between two strings, words are joined."""
    parts: list[str] = []
    for child in line:
        if child.tag == "SP":
            parts.append(" ")
        elif child.tag in ("String", "HYP"):
            content = child.get("CONTENT", "")
            # The hyphen belongs to the word before it.
            parts += [content] if child.tag == "String" or not parts else [parts.pop() + content]
    return join_words(parts)


def _kind(owners: Sequence[Element], context: _Context) -> Kind:
    """The innermost tag that means one of our kinds; without one, what stands in a margin is a margin."""
    for owner in owners:
        for reference in owner.get("TAGREFS", "").split():
            if reference in context.kinds:
                return context.kinds[reference]
    return "margin" if owners[-1].tag.endswith("Margin") else "main"


def _direction(owners: Sequence[Element]) -> Direction | None:
    values = (DIRECTION_OF_BASE.get(owner.get("BASEDIRECTION", "")) for owner in owners)
    return next(filter(None, values), None)


def _confidence(strings: list[Element], where: str) -> float | None:
    """The strings' WC; for several strings their mean, each with the weight of its length."""
    pairs = [(len(s.get("CONTENT", "")), parse_confidence(s.get("WC"), f"{where}: WC")) for s in strings]
    if len(pairs) == 1:
        return pairs[0][1]
    weight = sum(length for length, _ in pairs)
    if not weight or any(confidence is None for _, confidence in pairs):
        return None
    return sum(length * (confidence or 0) for length, confidence in pairs) / weight


def _box(element: Element, context: _Context, where: str) -> Box | None:
    values = [element.get(name) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")]
    if any(value is None for value in values):
        return None
    # A width may reach from one end of what is allowed to the other.
    x, y, width, height = (parse_decimal(value or "", f"{where}: position", 2 * LIMIT) for value in values)
    sx, sy = context.scale
    x0, y0, x1, y1 = (to_number(v) for v in (x * sx, y * sy, (x + width) * sx, (y + height) * sy))
    if max(map(abs, (x0, y0, x1, y1))) > LIMIT:
        raise InputError(f"{where}: the position is too far out.")
    return make_box(x0, y0, x1, y1)


def _polygon(element: Element, context: _Context, where: str) -> tuple[Point, ...] | None:
    """The Shape's polygon; points come as `x,y x,y` or, as eScriptorium and kraken write, `x y x y`."""
    shape = element.find("Shape/Polygon")
    numbers = shape.get("POINTS", "").replace(",", " ").split() if shape is not None else []
    if len(numbers) % 2:
        raise InputError(f"{where}: POINTS has a point without its second number.")
    values = [parse_decimal(number, f"{where}: POINTS") for number in numbers]
    xs, ys = (
        [to_number(v * scale) for v in values[start::2]]
        for start, scale in zip((0, 1), context.scale, strict=True)
    )
    return tuple(zip(xs, ys, strict=True)) if len(xs) >= 3 else None


def _chars(strings: list[Element], context: _Context, where: str) -> tuple[Char, ...]:
    """The line's characters: glyphs, or strings of one character; none where a string is not taken apart.

    A line that is one String says nothing of its characters, even where it holds only one.
    """
    chars: list[Char] = []
    for string in strings:
        content = string.get("CONTENT", "")
        glyphs = string.findall("Glyph")
        if glyphs:
            texts = _with_selectors([glyph.get("CONTENT", "") for glyph in glyphs], content)
            parts = list(zip(glyphs, texts, strict=True))
        elif len(strings) > 1 and is_one_character(content) and string.get("HPOS") is not None:
            parts = [(string, content)]
        elif content.strip():
            return ()
        else:
            continue
        chars += [_char(part, text, context, where) for part, text in parts]
    return tuple(chars)


def _with_selectors(texts: list[str], content: str) -> list[str]:
    """The glyphs' texts with the marks that follow them in the string, if together they spell it."""
    full, at = [], 0
    for text in texts:
        if not content.startswith(text, at):
            return texts
        end = at + len(text)
        while end < len(content) and unicodedata.category(content[end]) == "Mn":
            end += 1
        full.append(content[at:end])
        at = end
    return full if at == len(content) else texts


def _char(element: Element, text: str, context: _Context, where: str) -> Char:
    box = _box(element, context, where)
    if box is None and (polygon := _polygon(element, context, where)):
        box = bounds(polygon)
    if box is None:
        raise InputError(f"{where}: a Glyph has no position.")
    confidence = parse_confidence(element.get("GC") or element.get("WC"), f"{where}: GC")
    variants = tuple(
        (line_text(v.get("CONTENT", ""), where), parse_confidence(v.get("VC"), f"{where}: VC") or 0.0)
        for v in element.findall("Variant")
    )
    return Char(line_text(text, where), box, confidence, variants)
