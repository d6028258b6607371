"""Numbers in page files: read exactly, refused beyond a limit, and written as Python prints them."""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from numbers import Integral

from tongguocr.errors import InputError

LIMIT = 10**9
"""No coordinate or size lies beyond this: a page a thousand million pixels wide is a broken file."""

EXACT = Context(prec=400)
"""Enough digits that the difference of any two coordinates within LIMIT loses nothing."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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
    """The number in a text of a file: a whole one as an int, any other as the nearest float."""
    return to_number(parse_decimal(text, where))


def parse_confidence(text: str | None, where: str) -> float | None:
    """A confidence from 0 to 1, or None where the file has none."""
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


def is_number(value: object) -> bool:
    """Whether a value out of JSON is a number within LIMIT; neither true and false nor an infinity are."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LIMIT
