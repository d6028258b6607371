"""Boxes and polygons in page pixels, top left first: the arithmetic that layout, blocks and crops share."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]
"""(x0, y0, x1, y1) with x0 <= x1 and y0 <= y1; x1 and y1 are just past the last pixel."""


def make_box(x0: float, y0: float, x1: float, y1: float) -> Box:
    """A box from any two opposite corners."""
    return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def width(box: Box) -> float:
    return box[2] - box[0]


def height(box: Box) -> float:
    return box[3] - box[1]


def area(box: Box) -> float:
    return width(box) * height(box)


def centre(box: Box) -> Point:
    return ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)


def union(boxes: Iterable[Box]) -> Box:
    """The paper's MBR: the smallest box over all of these, at least one."""
    x0s, y0s, x1s, y1s = zip(*boxes, strict=True)
    return (min(x0s), min(y0s), max(x1s), max(y1s))


def intersection(a: Box, b: Box) -> Box | None:
    """The common part of two boxes, or None where it has no area."""
    box = (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
    return box if box[0] < box[2] and box[1] < box[3] else None


def clip(box: Box, page_width: float, page_height: float) -> Box:
    """The box moved inside the page; one wholly outside becomes an empty box on the nearest edge."""
    x0, x1 = (min(max(x, 0), page_width) for x in (box[0], box[2]))
    y0, y1 = (min(max(y, 0), page_height) for y in (box[1], box[3]))
    return (x0, y0, x1, y1)


def expand(box: Box, margin: float) -> Box:
    return (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin)


def bounds(polygon: Iterable[Point]) -> Box:
    """The box around a polygon."""
    xs, ys = zip(*polygon, strict=True)
    return (min(xs), min(ys), max(xs), max(ys))


def turn_point(point: Point, size: tuple[float, float], degrees: int) -> Point:
    """Where a point of a picture lies once the picture is turned clockwise by 0, 90, 180 or 270 degrees.

    `size` is the picture's width and height before.
    """
    if not degrees:
        return point
    (x, y), (wide, high) = point, size
    right, below = _difference(wide, x), _difference(high, y)
    return {90: (below, x), 180: (right, below), 270: (y, right)}[degrees]


def _difference(whole: float, part: float) -> float:
    """One less the other, in decimals: turned there and back, 912.69 is 912.69 and not 912.6900000000001."""
    if isinstance(whole, int) and isinstance(part, int):
        return whole - part
    return float(Decimal(str(whole)) - Decimal(str(part)))


def turn_box(box: Box, size: tuple[float, float], degrees: int) -> Box:
    """A box of a picture of this width and height once the picture is turned clockwise, as with a point."""
    return make_box(*turn_point(box[:2], size, degrees), *turn_point(box[2:], size, degrees))


def cross_section(polygon: tuple[Point, ...], at: float, axis: int) -> tuple[float, float] | None:
    """Where the line `coordinate[axis] == at` cuts the polygon: its extent on the other axis.

    None where the line misses the polygon.
    """
    cuts: list[float] = []
    for a, b in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        low, high = sorted((a, b), key=lambda p: p[axis])
        if low[axis] <= at <= high[axis]:
            span = high[axis] - low[axis]
            if span == 0:
                cuts += [low[1 - axis], high[1 - axis]]
            else:
                t = (at - low[axis]) / span
                cuts.append(low[1 - axis] + t * (high[1 - axis] - low[1 - axis]))
    return (min(cuts), max(cuts)) if cuts else None
