"""Which lines make up a column of the page: lines in reading order in, their columns out.

A column may be several lines: stretches of main text, and between them the two rows of a note side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tongguocr.geometry import Box, centre, height, union, width
from tongguocr.page import Line


@dataclass(frozen=True, slots=True)
class Unit:
    """A line, or the two rows of a note side by side."""

    lines: tuple[int, ...]
    box: Box
    upright: bool

    @property
    def middle(self) -> float:
        return centre(self.box)[0]


def find_units(lines: Sequence[Line], boxes: Sequence[Box]) -> Iterator[Unit]:
    """All the lines, in their order; `boxes` are where they stand."""
    n = 0
    while n < len(lines):
        count = 2 if _is_pair(lines[n : n + 2], boxes[n : n + 2]) else 1
        upright = lines[n].direction == "top-to-bottom" and lines[n].kind in ("main", "note")
        yield Unit(tuple(range(n, n + count)), union(boxes[n : n + count]), upright)
        n += count


def _is_pair(lines: Sequence[Line], boxes: Sequence[Box]) -> bool:
    """Whether these are the right and the left row of a note."""
    if len(lines) < 2 or any(x.kind != "note" or x.direction != "top-to-bottom" for x in lines):
        return False
    (right, left), shorter = boxes, min(map(height, boxes))
    beside = left[2] <= right[0] + min(map(width, boxes)) / 2
    near = right[0] - left[2] <= min(map(width, boxes))
    return beside and near and min(left[3], right[3]) - max(left[1], right[1]) > shorter / 2


def column_starts(lines: Sequence[Line]) -> list[int]:
    """The lines with which a column begins; those in margins, on the fold and horizontal ones are in none."""
    starts: list[int] = []
    column: Box | None = None
    top = 0.0
    for unit in find_units(lines, [line.box for line in lines]):
        if not unit.upright:
            continue
        if column is None or not column[0] <= unit.middle <= column[2] or unit.box[1] < top:
            starts.append(unit.lines[0])
            column = unit.box
        column, top = union((column, unit.box)), unit.box[1]
    return starts
