"""Lines whose ink is hardly darker than its paper: text of the other side that shows through.

In: lines as found and the page's pixels. Out: the lines that are printed on this side. A network sees the
shapes of characters however faint they are; how dark they are beside the rest of the page tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tongguocr.layout.peaks import Floats
from tongguocr.page import Line, Pixels

LOOKED_AT = 5
"""Characters of a line that are looked at, evenly out of all."""
HARDLY = 24.0
"""Grey levels: less contrast than this is no print, unless the whole page is as pale."""
PALE = 0.3
"""A page is pale if its lines have more than this part of the contrast that the page has."""
SHARES = (0.08, 0.5, 0.85)
"""Shares of a box's pixels that are darker than its ink's grey, its middle one, and its paper's."""
FAINTER = 0.25
"""A line with less than this part of the page's usual contrast shows through."""


def drop_faint(lines: Sequence[Line], pixels: Pixels) -> tuple[Line, ...]:
    """The lines without those that show through. The fold, of which pictures show slices, is kept.

    So are white characters in a dark field, whose contrast may be as low.
    """
    if not lines:
        return ()
    grey = pixels if pixels.ndim == 2 else pixels[..., 1]
    contrast, ground = np.array([look_at(line, grey) for line in lines], np.float32).T
    usual = float(np.median(np.repeat(contrast, [max(len(line.chars), 1) for line in lines])))
    ink, paper = page_levels(grey)
    faint = (contrast < HARDLY) & (contrast < PALE * (paper - ink)) | (contrast < FAINTER * usual)
    faint &= ground > (ink + paper) / 2
    kept = [line.kind == "fold" or not is_faint for line, is_faint in zip(lines, faint.tolist(), strict=True)]
    return tuple(line for line, keep in zip(lines, kept, strict=True) if keep)


def look_at(line: Line, grey: Pixels) -> tuple[float, float]:
    """How much darker the ink of a line's characters is than their paper, and the grey that is in the middle.

    Of each the middle of some characters, in grey levels.
    """
    boxes = [char.box for char in line.chars] or [line.box]
    step = max(len(boxes) // LOOKED_AT, 1)
    ink, ground, paper = np.median([_levels(grey, *box) for box in boxes[step // 2 :: step]], axis=0).tolist()
    return paper - ink, ground


def _levels(grey: Pixels, x0: float, y0: float, x1: float, y1: float) -> Floats:
    """A box's ink, middle and paper; all alike where it lies beyond the page."""
    top, left = max(round(y0), 0), max(round(x0), 0)
    inside = grey[top : max(round(y1), top + 1), left : max(round(x1), left + 1)].ravel()
    if not len(inside):
        return np.full(3, 255, np.float32)
    at = [int(share * len(inside)) for share in SHARES]
    return np.partition(inside, at)[at].astype(np.float32)


def page_levels(grey: Pixels) -> tuple[float, float]:
    """The darkest hundredth of a page and its paper, by a sample of its pixels."""
    step = max(int(np.sqrt(grey.size / 250_000)), 1)
    ink, paper = np.percentile(grey[::step, ::step], [1, 90])
    return float(ink), float(paper)
