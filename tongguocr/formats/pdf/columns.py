"""Stretches of a PDF's text, for programs that sort text by its place: lines in, columns out.

Poppler sorts: lines of one breadth that run down the page come from right to left, and nothing else comes
as it is read. So a line that is a column, or the first part of one, is left as it is; rows of notes, and
whatever stands off the columns (margins, the fold, a second register), are put behind one text. It takes its
place in the column before it, where a sorting program finds it in the right order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from tongguocr.geometry import Box, centre, union, width
from tongguocr.page import Line

_NARROWEST = 0.6
"""Of the page's column breadth: a narrower line is no column."""
_BROADEST = 1.5
"""Of the median breadth: a broader line does not set the page's column breadth."""
_SHIFT = 0.3
"""Column breadths by which the parts of a column may stand out of line."""
_STEP = 0.6
"""Column breadths from one column to the next, at least; nearer, and poppler takes them for one line."""
_REACH = 1.45
"""Column breadths from one column to the next within what poppler takes for one block."""
_POINTS_APART = 20
"""Between two blocks, at least: poppler looks for a block's beginning within 16 points."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A line, or the two rows of a note."""

    lines: tuple[int, ...]
    box: Box
    upright: bool

    @property
    def middle(self) -> float:
        return centre(self.box)[0]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other: one as it is, or any number `behind` a text that stands in a column."""

    lines: tuple[int, ...]
    behind: bool
    place: Box
    """Where the text stands, as broad as every column of the page."""

    @property
    def breadth(self) -> float:
        return width(self.place)


@dataclass(slots=True)
class _Column:
    units: list[Unit]
    middle: float
    top: float
    bottom: float

    def reach_over(self, top: float, bottom: float) -> None:
        self.top, self.bottom = min(self.top, top), max(self.bottom, bottom)


def find_stretches(lines: Sequence[Line], boxes: Sequence[Box], scale: float) -> list[Stretch]:
    """All the lines, in their order; `boxes` are where their characters stand, `scale` points a pixel."""
    units = list(find_units(lines, boxes))
    breadth = _breadth(units)
    columns = _columns(units, breadth)
    if _comes_sorted(columns, breadth, scale):
        return [stretch for column in columns for stretch in _stretches(column, breadth)]
    x0, y0, _, y1 = union(boxes)
    return [Stretch(tuple(range(len(lines))), True, (x0, y0, x0 + breadth, y1))]


def find_units(lines: Sequence[Line], boxes: Sequence[Box]) -> Iterator[Unit]:
    """All of these numbered lines, in their order; `boxes` are where they stand."""
    n = 0
    while n < len(lines):
        count = 2 if _are_rows(lines[n : n + 2]) else 1
        upright = lines[n].direction == "top-to-bottom" and lines[n].kind in ("main", "note")
        yield Unit(tuple(range(n, n + count)), union(boxes[n : n + count]), upright)
        n += count


def _are_rows(lines: Sequence[Line]) -> bool:
    """Whether these are the first and the second row of one note."""
    return [(line.column, line.row) for line in lines] == [(lines[0].column, 0), (lines[0].column, 1)]


def _breadth(units: Sequence[Unit]) -> float:
    """The breadth that all columns of the page get: that of the broadest which is no exception."""
    breadths = [width(unit.box) for unit in units if unit.upright] or [1.0]
    most = _BROADEST * median(breadths)
    return max(1.0, *(breadth for breadth in breadths if breadth <= most))


def _fits(unit: Unit, breadth: float) -> bool:
    return unit.upright and _NARROWEST * breadth <= width(unit.box) <= breadth


def _columns(units: Sequence[Unit], breadth: float) -> list[_Column]:
    """Columns from right to left; what is none goes with the column before it, or with the first."""
    columns: list[_Column] = []
    early: list[Unit] = []
    for unit in units:
        fits = _fits(unit, breadth)
        if fits and (not columns or unit.middle <= columns[-1].middle - _STEP * breadth):
            columns.append(_column([*early, unit], unit.box))
            early = []
        elif not columns:
            early.append(unit)
        else:
            columns[-1].units.append(unit)
            if fits and abs(unit.middle - columns[-1].middle) <= _SHIFT * breadth:
                columns[-1].reach_over(unit.box[1], unit.box[3])
    return columns or [_column(early, union(unit.box for unit in early))] if units else []


def _column(units: list[Unit], box: Box) -> _Column:
    return _Column(units, centre(box)[0], box[1], box[3])


def _comes_sorted(columns: Sequence[_Column], breadth: float, scale: float) -> bool:
    """Whether poppler sorts these columns from right to left.

    It gathers them from the left into blocks, as long as each stands beside those before it, and sorts the
    blocks from right to left if they stand beside each other.
    """
    blocks: list[_Column] = []
    last = 0.0
    for column in reversed(columns):
        step, last = column.middle - last, column.middle
        if blocks and step <= _REACH * breadth and _beside(blocks[-1], column):
            blocks[-1].reach_over(column.top, column.bottom)
        elif blocks and step * scale < _POINTS_APART:
            return False
        else:
            blocks.append(replace(column))
    return all(_beside(a, b) for n, a in enumerate(blocks) for b in blocks[n + 1 :])


def _beside(a: _Column, b: _Column) -> bool:
    return min(a.bottom, b.bottom) > max(a.top, b.top)


def _stretches(column: _Column, breadth: float) -> Iterator[Stretch]:
    """The column's units: what is left as it is by itself, what stands between behind one text."""
    told = zip(_left_alone(column, breadth), column.units, strict=True)
    runs = [(plain, [unit for _, unit in run]) for plain, run in groupby(told, lambda pair: pair[0])]
    for n, (plain, units) in enumerate(runs):
        lines = tuple(line for unit in units for line in unit.lines)
        before = runs[n - 1][1][0].box[3] if n else None
        after = runs[n + 1][1][0].box[1] if n + 1 < len(runs) else None
        # Nothing may begin off the page: poppler would not show it.
        x0 = max(0.0, (units[0].middle if plain else column.middle) - breadth / 2)
        y0, y1 = (units[0].box[1], units[0].box[3]) if plain else _between(column, before, after, breadth)
        yield Stretch(lines, not plain, (x0, y0, x0 + breadth, y1))


def _left_alone(column: _Column, breadth: float) -> list[bool]:
    """Whether each unit is left as it is: a part of the column, below the last such and not next to it."""
    told: list[bool] = []
    foot = 0.0
    for unit in column.units:
        in_line = abs(unit.middle - column.middle) <= _SHIFT * breadth and unit.box[1] >= foot
        told.append(len(unit.lines) == 1 and _fits(unit, breadth) and in_line and told[-1:] != [True])
        foot = unit.box[3] if told[-1] else foot
    return told


def _between(
    column: _Column, before: float | None, after: float | None, breadth: float
) -> tuple[float, float]:
    """From where to where the text reaches that stands between two parts of a column, or at its ends."""
    least = _SHIFT * breadth
    stop = column.bottom if after is None else after
    if before is None:
        return max(0.0, min(column.top, stop - least)), stop
    return before, max(stop, before + least)
