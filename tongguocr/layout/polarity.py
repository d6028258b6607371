"""Lines and the pixels that they were found in -> whether the page is white on black.

A rubbing, a negative film or an inverted scan shows light characters on a dark ground. The detector finds
them all the same, and a recogniser reads them fluently and wrongly. What tells is the ground around each
character. A seal or a title in white on black does not speak for its page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tongguocr.geometry import Box, clip, expand, height, width
from tongguocr.page import Line, Pixels

LOOKED_AT = 3
"""Characters of a line that are looked at, evenly out of all."""
SHARES = (0.05, 0.95)
"""Shares of a character's pixels that are darker than its dark and its bright ones."""
BESIDE = 0.15
"""So far around a character, in its shorter sides, lies its ground: heavy ink may fill most of its box."""
SMALLEST = 4
"""Pixels: of a smaller box nothing can be told."""
MOSTLY = 0.7
"""A page is white on black if so many of its characters are."""


def is_white_on_black(lines: Sequence[Line], pixels: Pixels) -> bool:
    """Whether most characters of these lines are lighter than their ground; False without lines."""
    return share_of_white(lines, pixels) >= MOSTLY


def share_of_white(lines: Sequence[Line], pixels: Pixels) -> float:
    """The part of the lines' characters that are lighter than their ground, 0 to 1; 0 without lines."""
    grey = pixels if pixels.ndim == 2 else pixels[..., 1]
    count = np.array([max(len(line.chars), 1) for line in lines])
    white = np.array([_share(line, grey) for line in lines])
    return float(count @ white / count.sum()) if len(lines) else 0.0


def _share(line: Line, grey: Pixels) -> float:
    """The part of a line's characters, of those that are looked at."""
    boxes = [char.box for char in line.chars] or [line.box]
    step = max(len(boxes) // LOOKED_AT, 1)
    return float(np.mean([_is_white(grey, box) for box in boxes[step // 2 :: step]]))


def _is_white(grey: Pixels, box: Box) -> bool:
    """Whether what surrounds a character is nearer to the dark than to the bright of it."""
    high, wide = grey.shape
    wider = expand(box, BESIDE * min(width(box), height(box)))
    x0, y0, x1, y1 = (round(value) for value in clip(wider, wide, high))
    cut = grey[y0:y1, x0:x1]
    if min(cut.shape) < SMALLEST:
        return False
    at = [int(share * cut.size) for share in SHARES]
    dark, bright = np.partition(cut.ravel(), at)[at].tolist()
    rim = max(round(2 * BESIDE / (1 + 2 * BESIDE) * min(cut.shape) / 2), 1)
    around = (cut[:rim], cut[-rim:], cut[:, :rim], cut[:, -rim:])
    return bool(2 * np.median(np.concatenate([part.ravel() for part in around])) < dark + bright)
