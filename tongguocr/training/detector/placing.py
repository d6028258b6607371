"""Compositions moved, cut and put together on one window, and what their characters' labels are.

In: compositions of pages or real lines. Out: one composition a window, and for every character of a batch the
next one of its line and its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Point
from tongguocr.layout.peaks import Flags
from tongguocr.page import KINDS
from tongguocr.training.synth.composition import ComposedLine, Composition, Patch
from tongguocr.training.synth.real_blocks import REAL_LINES


def typical_size(boxes: NDArray[np.float32]) -> float:
    """The middle height of characters; a page without any is scaled as if its cells were 50 px high."""
    return max(float(np.median(boxes[:, 3] - boxes[:, 1])), 8.0) if len(boxes) else 50.0


def moved(page: Composition, dx: float, dy: float, side: int) -> Composition:
    """The page on a square canvas of this side, so far right and down."""

    def point(p: Point) -> Point:
        return (p[0] + dx, p[1] + dy)

    return replace(
        page,
        width=side,
        height=side,
        boxes=page.boxes + np.array([dx, dy, dx, dy], np.float32),
        strokes=tuple(replace(s, start=point(s.start), end=point(s.end)) for s in page.strokes),
        patches=tuple(Patch(tuple(map(point, patch.points))) for patch in page.patches),
        marks=tuple(replace(mark, centre=point(mark.centre)) for mark in page.marks),
    )


def merge(parts: Sequence[Composition]) -> Composition:
    """Compositions of one size as one."""
    starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    return replace(
        parts[0],
        text=tuple(char for part in parts for char in part.text),
        faces=np.concatenate([part.faces for part in parts]),
        boxes=np.concatenate([part.boxes for part in parts]),
        angles=np.concatenate([part.angles for part in parts]),
        white=np.concatenate([part.white for part in parts]),
        lines=tuple(
            replace(line, start=line.start + start, stop=line.stop + start)
            for part, start in zip(parts, starts, strict=False)
            for line in part.lines
        ),
        strokes=tuple(stroke for part in parts for stroke in part.strokes),
        patches=tuple(patch for part in parts for patch in part.patches),
        marks=tuple(mark for part in parts for mark in part.marks),
    )


NO_LINE = -1
"""The kind of ink that belongs to no line, and is not to be found."""


def label(compositions: Sequence[Composition]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every character of a batch the number of the next one of its line, or -1, and its kind.

    Ink in no line, such as a slice of the facing page, has the kind `NO_LINE` and no next.
    """
    count = sum(map(len, compositions))
    following, kinds = np.full(count, -1, np.int64), np.full(count, NO_LINE, np.int64)
    start = 0
    for composition in compositions:
        for line, after in zip(composition.lines, _running_on(composition), strict=True):
            inside = slice(start + line.start, start + line.stop)
            following[inside] = np.arange(inside.start + 1, inside.stop + 1)
            following[start + line.stop - 1] = start + after if after >= 0 else -1
            kinds[inside] = KINDS.index(line.kind)
        start += len(composition)
    return following, kinds


def _running_on(composition: Composition) -> NDArray[np.int64]:
    """For each line of real lines the first character of the one that goes on just below it, or -1.

    Images of lines are set one below the other without a gap, so nobody can see where one ends. Composed
    lines end where their text does.
    """
    lines, none = composition.lines, np.full(len(composition.lines), -1, np.int64)
    if composition.kind != REAL_LINES or not lines:
        return none
    first, last = (composition.boxes[[f(line) for line in lines]] for f in (_start, _end))
    wide, high = first[:, 2] - first[:, 0], last[:, 3] - last[:, 1]
    aside = np.abs(first[None, :, 0] + wide[None] / 2 - (last[:, 0] + last[:, 2])[:, None] / 2)
    gap = first[None, :, 1] - last[:, 3, None]
    kinds = np.array([line.kind for line in lines])
    goes_on = (kinds[:, None] == kinds[None]) & (aside < 0.25 * wide[None])
    goes_on &= (gap > -0.3 * high[:, None]) & (gap < 0.6 * high[:, None])
    goes_on &= np.maximum(wide[:, None], wide[None]) < 1.3 * np.minimum(wide[:, None], wide[None])
    starts = np.array([line.start for line in lines], np.int64)
    return np.where(goes_on.any(1), starts[goes_on.argmax(1)], none)


def _start(line: ComposedLine) -> int:
    return line.start


def _end(line: ComposedLine) -> int:
    return line.stop - 1


def keep_glyphs(composition: Composition, keep: Flags) -> Composition:
    """The composition without some of its glyphs; a line that loses its middle becomes two."""
    place = np.cumsum(keep) - 1
    lines = []
    for line in composition.lines:
        inside = np.flatnonzero(keep[line.start : line.stop]) + line.start
        for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            if len(run):
                start, stop = int(place[run[0]]), int(place[run[-1]]) + 1
                lines.append(ComposedLine(start, stop, line.kind, line.direction))
    return replace(
        composition,
        text=tuple(char for char, kept in zip(composition.text, keep.tolist(), strict=True) if kept),
        faces=composition.faces[keep],
        boxes=composition.boxes[keep],
        angles=composition.angles[keep],
        white=composition.white[keep],
        lines=tuple(lines),
    )
