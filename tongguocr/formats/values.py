"""Values that every format checks or makes alike: coordinates, texts, names, outlines, and kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation
from numbers import Integral
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.geometry import Box, Point, centre
from tongguocr.page import Kind, Line

LIMIT = 10**9
"""No coordinate or size lies beyond this: a page a thousand million pixels wide is a broken file."""

EXACT = Context(prec=400)
"""Enough digits that the difference of any two coordinates within LIMIT loses nothing."""

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

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INDENTATION = re.compile(r"^[ \t]*[\r\n][ \t\r\n]*|[ \t\r\n]*[\r\n][ \t]*$")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The letters that every XML 1.0 validator takes in a name; newer editions allow more.
_XML_NAME = re.compile(r"[A-Za-z_\u4e00-\u9fa5][A-Za-z0-9_.\u4e00-\u9fa5-]*")


def parse_decimal(text: str, where: str, limit: int = LIMIT) -> Decimal:
    """The number in a text of a file, exactly; `where` begins the sentence if it is none."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{where}: {text[:40]!r} is not a number.")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise InputError(f"{where}: {text[:40]!r} is not a number.") from None
    if not -limit <= value <= limit:
        raise InputError(f"{where}: {text[:40]!r} is too large.")
    return value


def to_number(value: Decimal) -> float:
    """A whole number as an int, any other as the nearest float."""
    number = float(value)
    return int(number) if number.is_integer() else number


def parse_number(text: str, where: str) -> float:
    return to_number(parse_decimal(text, where))


def parse_confidence(text: str | None, where: str) -> float | None:
    if text is None:
        return None
    value = float(parse_decimal(text, where))
    if not 0 <= value <= 1:
        raise InputError(f"{where}: the confidence {text!r} is not between 0 and 1.")
    return value


def plain(value: float) -> float:
    """Python's own int or float, also where numpy's came in."""
    return int(value) if isinstance(value, Integral) else float(value)


def to_decimal(value: float) -> Decimal:
    """The number as Python prints it, whole floats without their `.0`."""
    value = plain(value)
    return Decimal(int(value)) if float(value).is_integer() else Decimal(repr(value))


def corners(box: Box) -> tuple[Point, ...]:
    """Clockwise from the top left."""
    x0, y0, x1, y1 = box
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def baseline(line: Line) -> tuple[Point, Point]:
    """The line that kraken follows, without which it sees none: down the middle of a column, or along the
    foot of a horizontal line, from the left whichever way it is read.
    """
    x0, y0, x1, y1 = line.box
    if not line.is_vertical:
        return (x0, y1), (x1, y1)
    first, last = (line.chars[0].box, line.chars[-1].box) if line.chars else (line.box, line.box)
    ends = (centre(first)[0], y0), (centre(last)[0], y1)
    return ends if line.direction == "top-to-bottom" else ((ends[0][0], y1), (ends[1][0], y0))


def has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def is_number(value: object) -> bool:
    """Whether a value out of JSON is a number within LIMIT; neither true and false nor an infinity are."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LIMIT


def one_line(value: object, where: str) -> str:
    """A value out of JSON that must be a text without a line break."""
    if not isinstance(value, str):
        raise InputError(f"{where} must be a text.")
    if has_line_break(value):
        raise InputError(f"{where} must hold no line break.")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise InputError(f"{where} holds half of a surrogate pair, which is no character.")
    return value


def line_text(text: str, where: str) -> str:
    """A line's text out of XML, where a break at its ends is the file's indentation and not text."""
    if not has_line_break(text):
        return text
    text = _INDENTATION.sub("", text)
    if has_line_break(text):
        raise InputError(f"{where}: the text of a line holds a line break.")
    return text


def check_xml_text(text: str, where: str) -> None:
    """Refuse what XML 1.0 cannot hold: control characters, noncharacters, halves of surrogate pairs."""
    if found := _NOT_XML.search(text):
        raise InputError(f"{where}: XML cannot hold the character U+{ord(found.group()):04X}.")


def unique_name(name: str, taken: set[str]) -> str:
    """The name, or with a number where it is taken; it is taken from now on."""
    free, n = name, 1
    while free in taken:
        n += 1
        free = f"{name}_{n}"
    taken.add(free)
    return free


def xml_line_names(lines: tuple[Line, ...]) -> list[str]:
    """The lines' ids as XML wants them; one that is no XML name, or comes twice, becomes l1, l2 ..."""
    taken = {line.id for line in lines if _XML_NAME.fullmatch(line.id)}
    seen: set[str] = set()
    names = []
    for n, line in enumerate(lines, start=1):
        fits = line.id in taken and line.id not in seen
        seen.add(line.id)
        names.append(line.id if fits else unique_name(f"l{n}", taken))
    return names


def names_of_lines(ids: Sequence[str | None], path: Path) -> list[str]:
    """The ids of a file's lines; one without gets l1, l2 ... by its place, and no id may come twice."""
    taken: set[str] = set()
    for name in filter(None, ids):
        if has_line_break(name):
            raise InputError(f"{path}: the line id {name!r} holds a line break.")
        if name in taken:
            raise InputError(f"{path}: the line id {name!r} is used twice.")
        taken.add(name)
    return [name or unique_name(f"l{n}", taken) for n, name in enumerate(ids, start=1)]
