"""A block of lines -> where its two half-leaves meet: the lines of the centre fold, or a wide gutter.

Boxes in the common frame (frame.py) in, line numbers or a place out. In a table, whose columns may look like
a fold, blanks run through from side to side.
"""

from __future__ import annotations

import numpy as np

from tongguocr.layout.frame import Floats, Ints, blanks, middle, typical
from tongguocr.layout.registers import TRIM, find_rows

GUTTER = 1.8
"""A gutter without text is this many times as wide as any other blank between columns."""
MIDDLE = (0.25, 0.75)
"""The gutter, like the fold, lies in this part of the block's width."""
LEAF = 4.0
"""Right and left of the fold is text at least this wide, in thicknesses of the typical line."""
FOLD_DROP = 0.08
"""The fold's text begins this part of the block's height below its top."""
TWIN = 0.3
"""The pieces of verses begin and end at the same heights, to within so many thicknesses."""
FOLD_GAP = 0.5
"""Pieces of the fold's text are at least this many thicknesses apart."""


def find_gutter(boxes: Floats) -> tuple[float, float] | None:
    """The one wide blank that parts two half-leaves, from its left side to its right, where there is one."""
    found = sorted(blanks(boxes[:, 0], boxes[:, 2]), key=lambda blank: blank[1] - blank[0])
    if len(found) < 4:
        return None
    a, b = found[-1]
    second = found[-2][1] - found[-2][0]
    x0, x1 = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    central = MIDDLE[0] <= ((a + b) / 2 - x0) / (x1 - x0) <= MIDDLE[1]
    wide = b - a >= max(GUTTER * second, 1.2 * typical(boxes))
    return (a, b) if central and wide else None


def find_fold(boxes: Floats, block: Ints) -> list[int]:
    """The lines of the centre fold, alone in their strip: some with a blank between, or one in a gutter.

    They begin lower than the columns beside them. In a table, whose every column is like that, blanks run
    through from side to side.
    """
    inside = boxes[block]
    x0, y0, x1, y1 = inside[:, 0].min(), inside[:, 1].min(), inside[:, 2].max(), inside[:, 3].max()
    x, w = middle(inside), inside[:, 2] - inside[:, 0]
    place = (x - x0) / (x1 - x0)
    low = inside[:, 1] >= y0 + FOLD_DROP * (y1 - y0)
    aside = np.minimum(x - x0, x1 - x) >= LEAF * typical(inside)
    central = np.flatnonzero(low & aside & (place >= MIDDLE[0]) & (place <= MIDDLE[1]))
    for k in sorted(central, key=lambda k: (abs(place[k] - 0.5), inside[k, 1])):
        strip = np.flatnonzero((inside[:, 0] < x[k] + 0.45 * w[k]) & (inside[:, 2] > x[k] - 0.45 * w[k]))
        deep = inside[strip, 3].max() > (y0 + y1) / 2
        chain = deep and _is_chain(inside[strip])
        if (chain and _has_twins(inside, strip)) or w[k] < w[strip].max() or not low[strip].all():
            continue
        if (chain or _in_gutter(inside, strip)) and not _rows_through(inside, strip):
            return [int(block[s]) for s in strip]
    return []


def _in_gutter(boxes: Floats, strip: Ints) -> bool:
    """Whether one line stands in a blank that is wide on both of its sides, and clear of the foot."""
    if len(strip) != 1:
        return False
    x0, _, x1, y1 = boxes[strip[0]]
    found = blanks(boxes[:, 0], boxes[:, 2])
    sides = [b - a for a, b in found if a == x1 or b == x0]
    usual = float(np.median([b - a for a, b in found])) if found else 0.0
    clear = y1 < boxes[:, 3].max() - 2 * FOLD_DROP * np.ptp(boxes[:, [1, 3]])
    return bool(clear) and len(sides) == 2 and min(sides) >= max(GUTTER * usual, 0.8 * (x1 - x0))


def _is_chain(boxes: Floats) -> bool:
    """Two or more lines of one middle, with a blank between some of them."""
    x, w = middle(boxes), boxes[:, 2] - boxes[:, 0]
    ordered = boxes[np.argsort(boxes[:, 1], kind="stable")]
    clear = ordered[1:, 1] - ordered[:-1, 3] >= FOLD_GAP * w.max()
    return len(boxes) > 1 and bool(clear.any()) and float(np.ptp(x)) <= 0.2 * float(w.max())


def _has_twins(boxes: Floats, strip: Ints) -> bool:
    """Whether every line of a strip begins and ends where two others do: then they are pieces of a verse."""
    others, near = np.delete(boxes, strip, axis=0), TWIN * typical(boxes)
    off = np.abs(others[None, :, [1, 3]] - boxes[strip][:, None, [1, 3]]).max(2)
    return bool(((off < near).sum(1) > 1).all())


def _rows_through(boxes: Floats, strip: Ints) -> bool:
    """Whether the other lines leave blanks from side to side, and no line of the strip crosses one."""
    others = np.delete(boxes, strip, axis=0)
    size = typical(boxes)
    rows = find_rows(others, size)
    crossed = [(boxes[strip, 1] < a) & (boxes[strip, 3] > b - TRIM * size) for a, b in rows]
    return bool(rows) and not any(bool(c.any()) for c in crossed)
