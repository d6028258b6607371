"""Tight blocks: a line or less that fills a narrow picture to its edges, as the reader cuts a short line.

In: a composed page and the lines of a block. Out: which of them, or what part of one, to show, which canvas
they fill best, and a degradation that does not push their ends off it. Other lines are masked by `cut_out`,
as the reader masks them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import atan, degrees

import numpy as np

from tongguocr.geometry import Box, height, width
from tongguocr.training.recogniser.recipe import Canvas
from tongguocr.training.synth.composition import Composition
from tongguocr.training.synth.degradation import Degradation

ALONE = 0.75
"""Share of tight blocks that are part of one line; the others are up to three lines."""
FILLED = 0.6
"""A canvas of which less is filled is too large."""
STRAY = 0.06
"""The ends of a column may turn aside by this share of the canvas's width."""


def pick_lines(composition: Composition, lines: range, rng: np.random.Generator) -> tuple[Composition, range]:
    """One line cut short or a few lines, and the composition in which it is so short."""
    first = lines[int(rng.integers(len(lines)))]
    if rng.random() >= ALONE:
        return composition, range(first, min(first + int(rng.integers(1, 4)), lines.stop))
    whole = composition.lines[first]
    count = whole.stop - whole.start
    # Short ones more often: they are what goes wrong.
    kept = min(1 + int(rng.random() ** 1.5 * count), count)
    start = whole.start + int(rng.integers(count - kept + 1))
    short = replace(whole, start=start, stop=start + kept)
    before, after = composition.lines[:first], composition.lines[first + 1 :]
    return replace(composition, lines=(*before, short, *after)), range(first, first + 1)


def best_canvas(
    canvases: Iterable[Canvas], box: Box, own: float, sizes: tuple[float, float]
) -> Canvas | None:
    """The canvas that the box fills best, its characters, `own` pixels high now, between two sizes."""
    best, most = None, FILLED
    for canvas in canvases:
        factor = min(canvas.width / width(box), canvas.height / height(box))
        filled = factor**2 * width(box) * height(box) / (canvas.width * canvas.height)
        if sizes[0] <= own * factor <= sizes[1] and filled >= most:
            best, most = canvas, filled
    return best


def spare_ends(degradation: Degradation, canvas: Canvas) -> Degradation:
    """A degradation whose turn and curl leave the text of a tight block on its canvas."""
    short, long = sorted((canvas.height, canvas.width))
    most = degrees(atan(2 * STRAY * short / long))
    return replace(
        degradation, skew=float(np.clip(degradation.skew, -most, most)), curl=degradation.curl * short / long
    )
