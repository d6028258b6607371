"""Lines in reading order -> the column and row of each, found here once for blocks and formats.

A column may be several lines: stretches of main text one below another, and between them the two rows of a
note side by side. Kinds, directions and boxes are looked at, never text. A page written in rows is turned
first, so that its columns are its rows. Margins, the fold and lines across the page's writing mode are in
columns of their own, and the text's column may go on after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tongguocr.geometry import Box, centre, union, width
from tongguocr.layout.frame import WritingMode, guess_writing_mode, turn_upright
from tongguocr.layout.order import order_lines
from tongguocr.page import Line, Page
from tongguocr.straight import as_read

SHARED = 0.5
"""A line goes on with a column if it shares this part of the narrower width, or has its middle in it."""
BELOW = 4.0
"""It begins no more than this many of its own thicknesses below: a wider blank parts registers."""
ROWS_OVERLAP = 0.5
"""The rows of a note share no more than this part of the thinner one's width."""
ROWS_APART = 1.0
"""They are no farther apart than this part of it, nor do they begin at heights that differ by more."""

CENTRED = 0.2
"""Main text stands this near to the middle of a note above or below it, in widths of both rows."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that may go on."""

    number: int
    box: Box
    top: float
    """Where its last part begins."""


def number_columns(page: Page, direction: WritingMode | None = None) -> Page:
    """The page with every line's `column` and `row` set; as it is where all lines have them already.

    The lines' order and kinds are taken as right, and so is the writing mode `direction`, where it is given.
    If no line is said to be a note, notes are told by their place, and believed if one of them stands in a
    column with main text; the lines' kinds stay as they are.
    """
    lines = page.lines
    if all(line.column is not None and line.row is not None for line in lines):
        return page
    if page.skew:
        upright = number_columns(as_read(replace(page, pixels=None)), direction).lines
        pairs = zip(lines, upright, strict=True)
        return replace(page, lines=tuple(replace(a, column=b.column, row=b.row) for a, b in pairs))
    mode = direction or guess_writing_mode(lines)
    boxes = _upright_boxes(lines, mode)
    notes = {k for k, line in enumerate(lines) if line.kind == "note"}
    if not notes and _may_hold_notes(boxes) and (told := _notes_by_place(page, mode)):
        numbered = _number(page, boxes, mode, told)
        main = {line.column for k, line in enumerate(numbered.lines) if k not in told}
        if any(line.row and line.column in main for line in numbered.lines):
            return numbered
    return _number(page, boxes, mode, notes)


def _may_hold_notes(boxes: Sequence[Box]) -> bool:
    """Whether any two lines stand side by side with a third above or below their middle: a cheap question."""
    for n, (right, left) in enumerate(pairwise(boxes)):
        around = boxes[max(n - 1, 0) : n + 3]
        if _side_by_side(right, left) and any(_is_centred(box, union((right, left))) for box in around):
            return True
    return False


def _notes_by_place(page: Page, mode: WritingMode) -> set[int]:
    """The lines that reading order would tell to be notes, by their numbers."""
    by_number = tuple(replace(line, id=str(k)) for k, line in enumerate(page.lines))
    told = order_lines(replace(page, lines=by_number), mode)
    return {int(line.id) for line in told.lines if line.kind == "note"}


def _number(page: Page, boxes: Sequence[Box], mode: WritingMode, notes: set[int]) -> Page:
    """The page with columns and rows, the lines numbered `notes` being rows of notes."""
    lines = page.lines
    numbered: list[Line] = []
    latest: dict[tuple[str, bool], _Column] = {}
    count = 0
    while (n := len(numbered)) < len(lines):
        rows = 2 if {n, n + 1} <= notes and _side_by_side(*boxes[n : n + 2]) else 1
        part, group = union(boxes[n : n + rows]), _group(lines[n], mode)
        before = latest.get(group)
        if before is not None and _goes_on(before, part, min(map(width, boxes[n : n + rows]))):
            column = _Column(before.number, union((before.box, part)), part[1])
        else:
            column = _Column(count, part, part[1])
            count += 1
        latest[group] = column
        numbered += [replace(lines[n + row], column=column.number, row=row) for row in range(rows)]
    return replace(page, lines=tuple(numbered))


def text_columns(lines: Sequence[Line]) -> list[list[int]]:
    """The columns of text in reading order, each as the numbers of its lines, main text and notes."""
    columns: dict[int | None, list[int]] = {}
    for n, line in enumerate(lines):
        if line.kind in ("main", "note"):
            columns.setdefault(line.column, []).append(n)
    return list(columns.values())


def register_starts(lines: Sequence[Line]) -> list[int]:
    """The lines with which registers begin, of numbered lines: blocks of columns one below another.

    A register begins with a column that stands to the right of the one before it and below those around that.
    """
    mode = guess_writing_mode(tuple(lines))
    boxes = _upright_boxes(lines, mode)
    starts: list[int] = []
    register: list[Box] = []
    for column in text_columns(lines):
        if lines[column[0]].is_vertical == (mode == "horizontal"):
            continue
        box = union(boxes[n] for n in column)
        if not register or (centre(box)[0] > register[-1][2] and box[1] >= _foot(register) - width(box)):
            starts.append(column[0])
            register = []
        register.append(box)
    return starts


def _foot(register: Sequence[Box]) -> float:
    """Where most of a register's columns have ended."""
    return float(np.median([box[3] for box in register]))


def _upright_boxes(lines: Sequence[Line], mode: WritingMode) -> list[Box]:
    """The lines' boxes in the frame where columns stand, at least a pixel wide and high."""
    turned = turn_upright(np.array([line.box for line in lines], np.float64).reshape(-1, 4), mode)
    return [(x0, y0, max(x1, x0 + 1.0), max(y1, y0 + 1.0)) for x0, y0, x1, y1 in turned.tolist()]


def _group(line: Line, mode: WritingMode) -> tuple[str, bool]:
    """What may share a column: text, margins or the fold, along the writing mode or across it."""
    kind = "text" if line.kind in ("main", "note") else line.kind
    return kind, line.is_vertical == (mode != "horizontal")


def _side_by_side(right: Box, left: Box) -> bool:
    """Whether two rows of notes are those of one note, the right one first."""
    thin = min(width(right), width(left))
    beside = -ROWS_OVERLAP * thin <= right[0] - left[2] <= ROWS_APART * thin
    return beside and abs(right[1] - left[1]) <= thin


def _is_centred(box: Box, pair: Box) -> bool:
    """Whether a line stands above or below the middle of two rows; neither of the rows does."""
    return abs(centre(box)[0] - centre(pair)[0]) < CENTRED * width(pair)


def _goes_on(column: _Column, part: Box, thickness: float) -> bool:
    """Whether the part stands below what the column has so far, and in line with it."""
    box = column.box
    shared = min(box[2], part[2]) - max(box[0], part[0])
    in_line = shared >= SHARED * min(width(box), width(part)) or box[0] <= centre(part)[0] <= box[2]
    return in_line and column.top < part[1] and part[1] - box[3] <= BELOW * thickness
