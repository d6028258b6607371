"""What PAGE, ALTO, hOCR and TEI have in common about lines: their order, ids, kinds, texts and outlines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.formats.numbers import parse_number
from tongguocr.formats.txt import characters, has_line_break
from tongguocr.formats.xml import unique_name
from tongguocr.geometry import Box, Point, centre, turn_box, turn_point
from tongguocr.page import Direction, Kind, Line, Page, guess_direction, turn_line

KIND_OF_LABEL: dict[str, Kind] = {
    "main": "main",
    "paragraph": "main",
    "mainzone": "main",
    "note": "note",
    "margin": "margin",
    "marginalia": "margin",
    "margintextzone": "margin",
    "footer": "margin",
    "footnote": "margin",
    "footnote-continued": "margin",
    "endnote": "margin",
    "fold": "fold",
    "header": "fold",
    "page-number": "fold",
    "runningtitlezone": "fold",
    "numberingzone": "fold",
}
"""Our own kinds, PAGE's region types and SegmOnto's zones, in lower case.

What a European book prints as header and page number stands on the centre fold of a Chinese one.
"""

SKEW_DIGITS = 4
"""Behind the point, of degrees."""
_INDENTATION = re.compile(r"^[ \t]*[\r\n][ \t\r\n]*|[ \t\r\n]*[\r\n][ \t]*$")
_ORIGIN = (0, 0)
"""A picture without extent turns about its corner."""
# The letters that every XML 1.0 validator takes in a name; newer editions allow more.
_XML_NAME = re.compile(r"[A-Za-z_\u4e00-\u9fa5][A-Za-z0-9_.\u4e00-\u9fa5-]*")


def reading_order(owners: Sequence[Sequence[str]], references: Sequence[str]) -> list[int]:
    """The lines' places in reading order.

    `owners` gives, for every line in the file's own order, the ids of the line and of all that encloses it,
    innermost first; `references` the ids that the file's reading order names. A line goes where the
    innermost of its owners that is named goes; lines that nothing names follow at the end.
    """
    place: dict[str, int] = {}
    for reference in references:
        place.setdefault(reference, len(place))

    def key(index: int) -> tuple[int, int]:
        named = (place[owner] for owner in owners[index] if owner in place)
        return next(named, len(place)), index

    return sorted(range(len(owners)), key=key)


def runs_of_kind(lines: Sequence[Line]) -> list[list[int]]:
    """The lines' places in reading order, those that follow each other and are of one kind together."""
    return [list(run) for _, run in groupby(range(len(lines)), lambda i: lines[i].kind)]


def is_one_character(text: str) -> bool:
    """Whether this is one character, with whatever variation selectors and combining marks follow it."""
    return len(characters(text)) == 1


def line_text(text: str, where: str) -> str:
    """A line's text out of XML, where a break at its ends is the file's indentation and not text."""
    if not has_line_break(text):
        return text
    text = _INDENTATION.sub("", text)
    if has_line_break(text):
        raise InputError(f"{where}: the text of a line holds a line break.")
    return text


def ids_from_xml(ids: Sequence[str | None], path: Path) -> list[str]:
    """The ids of a file's lines; one without gets l1, l2 ... by its place, and no id may come twice."""
    taken: set[str] = set()
    for name in filter(None, ids):
        if has_line_break(name):
            raise InputError(f"{path}: the line id {name!r} holds a line break.")
        if name in taken:
            raise InputError(f"{path}: the line id {name!r} is used twice.")
        taken.add(name)
    return [name or unique_name(f"l{n}", taken) for n, name in enumerate(ids, start=1)]


def ids_for_xml(lines: tuple[Line, ...]) -> list[str]:
    """The lines' ids as XML wants them; one that is no XML name, or comes twice, becomes l1, l2 ..."""
    taken = {line.id for line in lines if _XML_NAME.fullmatch(line.id)}
    seen: set[str] = set()
    names = []
    for n, line in enumerate(lines, start=1):
        fits = line.id in taken and line.id not in seen
        seen.add(line.id)
        names.append(line.id if fits else unique_name(f"l{n}", taken))
    return names


def corners(box: Box) -> tuple[Point, ...]:
    """The box as an outline, clockwise from the top left."""
    x0, y0, x1, y1 = box
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def angle_and_skew(written: str | None, where: str) -> tuple[int, float]:
    """The angle that a file gives its page, 0, 90, 180 or 270 degrees, and the skew that is left; 0 if none.

    A skew is no turn: boxes stay those of the image.
    """
    whole = parse_number(written, where) if written else 0
    quarters = round(whole / 90)
    return quarters * 90 % 360, round(float(whole) - 90 * quarters, SKEW_DIGITS)


def whole_angle(page: Page) -> float:
    """The page's angle and skew as one number, from 0 to 360, as files of XML have it."""
    return round((page.angle + page.skew) % 360, SKEW_DIGITS)


def direction_of(box: Box, text: str, angle: int) -> Direction:
    """The direction of a line that does not tell it, on a page that must be turned clockwise by an angle."""
    return guess_direction(turn_box(box, _ORIGIN, angle), text)


def baseline(line: Line, angle: int = 0) -> tuple[Point, Point]:
    """The line that kraken follows, without which it sees none: down the middle of a column, or along the
    foot of a horizontal line, from the left whichever way it is read.

    Where the page must be turned clockwise by an angle to stand upright, so must its baselines.
    """
    start, end = _upright_baseline(turn_line(line, _ORIGIN, angle))
    back = -angle % 360
    return turn_point(start, _ORIGIN, back), turn_point(end, _ORIGIN, back)


def _upright_baseline(line: Line) -> tuple[Point, Point]:
    x0, y0, x1, y1 = line.box
    if not line.is_vertical:
        return (x0, y1), (x1, y1)
    first, last = (line.chars[0].box, line.chars[-1].box) if line.chars else (line.box, line.box)
    ends = (centre(first)[0], y0), (centre(last)[0], y1)
    return ends if line.direction == "top-to-bottom" else ((ends[0][0], y1), (ends[1][0], y0))
