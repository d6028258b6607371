"""Block -> Crop: a block's image with other blocks' lines masked, on a square canvas (paper 3.1.3, S1.8).

In: a page with pixels, its blocks. Out: for each block its expanded region, the lines of other blocks in it
painted over with the local background except where they overlap own lines, centred on a square of alpha
times the longer side. Nothing is scaled here: the recogniser chooses its own resolution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from tongguocr.geometry import Box, clip, expand, height, intersection, width
from tongguocr.page import CANVAS_PADDING, Block, Crop, Line, Page, Pixels

Mask = NDArray[np.bool_]

LEAST_MARGIN = 4
"""Pixels: no block gets a narrower margin, however small its page."""
RELIABLE = 0.02
"""Share of the region that must be free of all text for its median to count as background."""
PAPER_PERCENTILE = 85.0
"""Where too little is free: paper is brighter than ink, so the bright part of the region's own pixels."""


@dataclass(frozen=True, slots=True)
class CropSettings:
    """How much room a block gets on its canvas."""

    margin: float = 0.01
    """p, in units of the page's longer side: half a character of a half-leaf, so that strokes outside a tight
    box and the rules beside it stay visible."""
    padding: float = CANVAS_PADDING
    """alpha: the canvas's side over the longer side of the region."""


def crop_blocks(
    page: Page, blocks: Iterable[Block], settings: CropSettings = CropSettings()
) -> tuple[Crop, ...]:
    """The crops of a page's blocks, in order."""
    return tuple(crop_block(page, block, settings) for block in blocks)


def crop_block(page: Page, block: Block, settings: CropSettings = CropSettings()) -> Crop:
    """The block's region, expanded, with the lines of other blocks masked, on its square canvas."""
    if page.pixels is None:
        raise ValueError("a page without pixels cannot be cropped")
    region = expanded_region(block.box, page.pixels.shape[1], page.pixels.shape[0], settings)
    x0, y0, x1, y1 = (int(v) for v in region)
    pixels = page.pixels[y0:y1, x0:x1].copy()
    own = line_mask(block.lines(page), region)
    foreign = line_mask(page.lines[: block.start] + page.lines[block.stop :], region)
    background = estimate_background(pixels, ~(own | foreign))
    pixels[foreign & ~own] = background
    return _on_square(block, pixels, region, background, settings.padding)


def expanded_region(box: Box, page_width: int, page_height: int, settings: CropSettings) -> Box:
    """Omega_t: the block's box and its margin, clipped to the page, in whole pixels, at least one."""
    margin = max(settings.margin * max(page_width, page_height), LEAST_MARGIN)
    x0, y0, x1, y1 = clip(expand(box, margin), page_width, page_height)
    left, top = min(floor(x0), page_width - 1), min(floor(y0), page_height - 1)
    return (left, top, max(ceil(x1), left + 1), max(ceil(y1), top + 1))


def line_mask(lines: Iterable[Line], region: Box) -> Mask:
    """Which pixels of the region lie in any of these lines: their polygon where they have one."""
    canvas = Image.new("1", (int(width(region)), int(height(region))))
    draw = ImageDraw.Draw(canvas)
    for line in lines:
        if intersection(line.box, region) is None:
            continue
        if line.polygon and len(line.polygon) > 2:
            draw.polygon([(x - region[0], y - region[1]) for x, y in line.polygon], fill=1)
        else:
            x0, y0, x1, y1 = line.box
            left, top = floor(x0 - region[0]), floor(y0 - region[1])
            draw.rectangle((left, top, ceil(x1 - region[0]) - 1, ceil(y1 - region[1]) - 1), fill=1)
    return np.asarray(canvas, dtype=np.bool_)


def estimate_background(pixels: Pixels, free: Mask) -> tuple[int, ...]:
    """The colour of the paper here: the median of text-free pixels, or else of the region's bright part."""
    flat = pixels.reshape(pixels.shape[0] * pixels.shape[1], -1)
    chosen = flat[free.ravel()]
    if len(chosen) < max(RELIABLE * len(flat), 1):
        grey = flat.mean(axis=1)
        chosen = flat[grey >= np.percentile(grey, PAPER_PERCENTILE)]
    return tuple(int(v) for v in np.median(chosen, axis=0))


def _on_square(
    block: Block, pixels: Pixels, region: Box, background: tuple[int, ...], padding: float
) -> Crop:
    h, w = pixels.shape[:2]
    side = max(round(padding * max(w, h)), 1)
    canvas = np.empty((side, side, *pixels.shape[2:]), np.uint8)
    canvas[:] = background
    left, top = (side - w) // 2, (side - h) // 2
    canvas[top : top + h, left : left + w] = pixels
    return Crop(block, canvas, region, (region[0] - left, region[1] - top), background)
