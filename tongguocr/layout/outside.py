"""The lines of a page -> which of them stand outside of its frame, and of which kind they are there.

What a printer or publisher put around the text is not part of it. Running titles, volume and page numbers,
in a strip beside the frame (strips.py) or in a small line above or below it, are `fold`. Small notes above
the frame are `margin`, and so is whatever stands far off, such as a library's stamp. In: a `View` and the
kinds that are known. Out: new kinds for some of the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tongguocr.layout.drawn import IN_LINE, WholeRule, join_pieces, share_ruled
from tongguocr.layout.frame import NOTES, Flags, Floats, View, lies, middle, typical
from tongguocr.layout.strips import THIN, find_strip
from tongguocr.page import Kind

Find: TypeAlias = Callable[[View, Floats], Flags]
"""From the lines that may be text to those that are not."""

# Lengths are in thicknesses of the page's typical line.
FAR = 2.5
"""What stands so far from the text, and not between the rules above and below it, is no text."""
FRAMED = 0.2
"""The part of the text that a rule above or below it must span."""
COVERED = 0.7
"""The part of the text that must stand between such rules for them to say anything."""
TOP = 0.6
"""The frame's upper side spans at least this part of the text's width."""
CLEAR = 3.0
"""Cells: the text begins so near below it."""
LITTLE = 0.2
"""What stands above it is no more than this part of the text, by length."""


def find_outside(view: View, known: Sequence[Kind | None]) -> dict[int, Kind]:
    """Lines that stand outside of the frame, with the kind that they are to have.

    Where kinds are known, they are only doubted if somebody looked for rules.
    """
    if view.drawn is None and any(kind is not None for kind in known):
        return {}
    text = np.flatnonzero([kind not in ("margin", "fold") for kind in known])
    found: dict[int, Kind] = {}
    steps: tuple[tuple[Find, Kind], ...] = ((_far, "margin"), (_small_rows, "fold"), (_head_notes, "margin"))
    for find, kind in steps:
        outside = text[find(view, view.boxes[text])] if len(text) else text
        found |= {int(k): kind for k in outside}
        text = np.setdiff1d(text, outside)
    for direction in (1, -1):
        strip = find_strip(view, text, known, direction)
        found |= {int(k): "fold" for k in strip}
        text = np.setdiff1d(text, strip)
    return found


def _far(view: View, boxes: Floats) -> Flags:
    """Lines that are far from the text and not between the rules above and below it, where most are."""
    x, high, size = middle(boxes), boxes[:, 3] - boxes[:, 1], typical(boxes)
    roof, floor = np.zeros(len(boxes), bool), np.zeros(len(boxes), bool)
    for rule in _across(view, size):
        over = (x >= rule.pieces.min() - size) & (x <= rule.pieces.max() + size)
        # What frames but little of the text is no frame: a seal has one of its own.
        if high[over].sum() >= FRAMED * high.sum():
            level = rule.height(x)
            roof |= over & (level <= boxes[:, 1] + size)
            floor |= over & (level >= boxes[:, 3] - size)
    inside = roof & floor
    if high[inside].sum() < COVERED * high.sum():
        return np.zeros(len(boxes), bool)
    near = boxes[inside]
    apart = np.maximum(boxes[:, None, 0] - near[None, :, 2], near[None, :, 0] - boxes[:, None, 2]).min(1)
    # A column of the text that the rules do not reach stands in line with the others.
    off = (boxes[:, 1] < near[:, 1].min() - view.cell) | (boxes[:, 3] > near[:, 3].max() + view.cell)
    return np.asarray(~inside & off & (apart > FAR * size))


def _across(view: View, size: float) -> list[WholeRule]:
    return [] if view.drawn is None else join_pieces(view.drawn.across, IN_LINE * size)


def _small_rows(view: View, boxes: Floats) -> Flags:
    """Small lines that lie above or below everything else; short ones only if a rule is drawn between."""
    flat = lies(boxes)
    small = boxes[:, 3] - boxes[:, 1] < THIN * min(typical(boxes[~flat]), view.cell)
    standing = boxes[~(flat | small)]
    if not len(standing):
        return small & False
    top, foot = float(standing[:, 1].min()), float(standing[:, 3].max())
    above, below = boxes[:, 3] <= top, boxes[:, 1] >= foot
    for k in np.flatnonzero(small & ~flat & (above | below)):
        gap = (float(boxes[k, 3]), top) if above[k] else (foot, float(boxes[k, 1]))
        sides = float(boxes[k, 0]), float(boxes[k, 2])
        flat[k] = view.drawn is not None and share_ruled(view.drawn.across, sides, gap) > COVERED
    return np.asarray(flat & small & (above | below))


def _head_notes(view: View, boxes: Floats) -> Flags:
    """The few thin lines that stand above the frame's upper side, where a rule is one."""
    size, x, high = typical(boxes), middle(boxes), boxes[:, 3] - boxes[:, 1]
    sides = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    for rule in _across(view, size):
        above = boxes[:, 3] <= rule.height(x) + 0.2 * size
        few = 0 < high[above].sum() <= LITTLE * high.sum()
        if not few or rule.share(*sides) < TOP or lies(boxes)[above].any():
            continue
        near = (boxes[~above, 1] - rule.height(x[~above])).min() < CLEAR * view.cell
        if near and typical(boxes[above], NOTES) < THIN * typical(boxes[~above]):
            return np.asarray(above)
    return np.zeros(len(boxes), bool)
