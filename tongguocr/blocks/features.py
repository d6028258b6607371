"""Page -> the geometry that the penalties look at, as arrays over its lines (paper 3.1.1, supplement S1.4).

The paper speaks of columns; a page of horizontal lines is turned so that its rows become columns, and every
later step sees one frame only. Two features that the paper takes between neighbouring lines, horizontal gap
and vertical overlap, we take between neighbouring columns: a column that changes between main text and
double-row notes is several lines, one below another, and their lack of overlap means nothing.
On a page without notes a column is a line and the two readings agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Box, clip
from tongguocr.layout.columns import number_columns
from tongguocr.layout.frame import guess_writing_mode, turn_upright
from tongguocr.page import Line, Page

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOOSEST_PITCH = 1.5
"""Of its thickness: characters of a note row are about this much higher than wide; beyond lies blank."""


@dataclass(frozen=True, slots=True)
class Features:
    """One entry a line, in reading order, in the frame where lines stand upright."""

    boxes: Floats
    """n x 4: x0, y0, x1, y1, clipped to the page and at least a pixel wide and high."""
    size: Floats
    """The height of a character (its width, in a row)."""
    length: Floats
    """The line's extent along its own direction."""
    column: Ints
    """The running number of the column that the line belongs to."""
    column_boxes: Floats
    """The box of that column, from this line to the column's end."""
    gap: Floats
    """Horizontal gap to the column before, in page widths; 0 inside a column and for the first line."""
    overlap: Floats
    """Vertical overlap with the column before over the lesser height; 1 inside a column and for the first."""
    page_width: float
    page_height: float

    @property
    def columns(self) -> int:
        return int(self.column[-1]) + 1

    @property
    def page_area(self) -> float:
        return self.page_width * self.page_height


def measure_features(page: Page) -> Features:
    """The features of a page that has at least one line."""
    page_width, page_height = _extent(page)
    mode = guess_writing_mode(page.lines)
    boxes = np.array([_solid(clip(line.box, page_width, page_height)) for line in page.lines], np.float64)
    thickness, length = _thickness(page.lines, boxes)
    boxes = turn_upright(boxes, mode)
    if mode == "horizontal":
        page_width, page_height = page_height, page_width
    size = _character_size(page.lines, thickness, length)
    column = _columns(page)
    column_boxes = _column_boxes(boxes, column)
    gap, overlap = _neighbours(column_boxes, column, page_width)
    return Features(
        boxes=boxes,
        size=size,
        length=length,
        column=column,
        column_boxes=column_boxes,
        gap=gap,
        overlap=overlap,
        page_width=page_width,
        page_height=page_height,
    )


def _extent(page: Page) -> tuple[float, float]:
    """The page's size; where the source gives none, the lines' own extent."""
    right = page.width or max(line.box[2] for line in page.lines)
    bottom = page.height or max(line.box[3] for line in page.lines)
    return max(float(right), 1.0), max(float(bottom), 1.0)


def _solid(box: Box) -> Box:
    """At least one pixel each way, so that no area and no height is ever zero."""
    return (box[0], box[1], max(box[2], box[0] + 1.0), max(box[3], box[1] + 1.0))


def _thickness(lines: tuple[Line, ...], boxes: Floats) -> tuple[Floats, Floats]:
    """Each line's extent across and along its own direction."""
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    upright = np.array([line.is_vertical for line in lines])
    return np.where(upright, w, h), np.where(upright, h, w)


def _character_size(lines: tuple[Line, ...], thickness: Floats, length: Floats) -> Floats:
    """A line's length over its characters, read or detected, but no more than loose setting explains.

    Of a line whose characters nobody knows, its thickness.
    """
    count = np.array([len(line.text) or len(line.chars) for line in lines])
    pitch = np.minimum(length / np.maximum(count, 1), LOOSEST_PITCH * thickness)
    return np.maximum(np.where(count > 0, pitch, thickness), 1.0)


def _columns(page: Page) -> Ints:
    """Columns as they follow each other: one that goes on after a margin or a fold counts again."""
    column = np.array([line.column for line in number_columns(page).lines])
    return np.cumsum(np.diff(column, prepend=column[0]) != 0)


def _column_boxes(boxes: Floats, column: Ints) -> Floats:
    result = boxes.copy()
    for k in range(len(boxes) - 2, -1, -1):
        if column[k] == column[k + 1]:
            result[k, :2] = np.minimum(result[k, :2], result[k + 1, :2])
            result[k, 2:] = np.maximum(result[k, 2:], result[k + 1, 2:])
    return result


def _neighbours(column_boxes: Floats, column: Ints, page_width: float) -> tuple[Floats, Floats]:
    """Gap and overlap between each column and the one before it, at the column's first line."""
    gap, overlap = np.zeros(len(column)), np.ones(len(column))
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    whole = column_boxes[starts]
    before, after = whole[:-1], whole[1:]
    apart = np.maximum(after[:, 0] - before[:, 2], before[:, 0] - after[:, 2])
    gap[starts[1:]] = np.maximum(apart, 0.0) / page_width
    shared = np.minimum(after[:, 3], before[:, 3]) - np.maximum(after[:, 1], before[:, 1])
    lesser = np.minimum(after[:, 3] - after[:, 1], before[:, 3] - before[:, 1])
    overlap[starts[1:]] = np.maximum(shared, 0.0) / lesser
    return gap, overlap
