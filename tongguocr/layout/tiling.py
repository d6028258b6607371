"""A page's pixels -> grey pictures at any scale, in tiles: what the network is shown, in bounded memory.

A scan of 200 megapixels is never held as floats, nor copied whole: it is made grey and small strip by strip,
and the picture goes to the network tile by tile. Tiles overlap, so that every character is whole in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image

from tongguocr.layout.peaks import Floats
from tongguocr.page import Pixels

STRIP = 4_000_000
"""Pixels that are made grey at a time."""
MULTIPLE = 32
"""The network takes sides that are multiples of this many pixels."""
FLAT = 16
"""Grey levels: a tile with no greater contrast holds no ink."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of a picture: what is shown, and the core that it answers for."""

    x0: int
    y0: int
    x1: int
    y1: int
    core: tuple[float, float, float, float]
    """In pixels of the picture; the outermost cores reach beyond it."""


def to_grey(pixels: Pixels, factor: float) -> Pixels:
    """The page in grey, scaled by `factor`; at least one pixel each way."""
    height, width = pixels.shape[:2]
    size = (max(round(width * factor), 1), max(round(height * factor), 1))
    whole = max(min(int(1 / factor), height // size[1], width // size[0]), 1)
    rows = max(STRIP // (width * whole), 1) * whole
    strips = []
    for top in range(0, height, rows):
        strip = Image.fromarray(np.ascontiguousarray(pixels[top : top + rows])).convert("L")
        strips.append(np.asarray(strip.reduce(whole) if whole > 1 else strip))
    grey = Image.fromarray(np.concatenate(strips) if len(strips) > 1 else strips[0])
    if grey.size == size:
        return np.asarray(grey)
    return np.asarray(grey.resize(size, Image.Resampling.BICUBIC))


def cut_tiles(width: int, height: int, side: int, overlap: int) -> Iterator[Tile]:
    """Tiles of at most `side` pixels each way that share `overlap` pixels with each neighbour."""
    across, down = _spans(width, side, overlap), _spans(height, side, overlap)
    for y0, y1, top, bottom in down:
        for x0, x1, left, right in across:
            yield Tile(x0, y0, x1, y1, (left, top, right, bottom))


def _spans(length: int, side: int, overlap: int) -> list[tuple[int, int, float, float]]:
    """Start and stop of each tile along one axis, and of its core: neighbours meet in mid-overlap."""
    if length <= side:
        return [(0, length, -np.inf, np.inf)]
    count = -(-(length - overlap) // (side - overlap))
    # No larger than they must be: what several tiles show is looked at several times.
    side = min(-(-(length + (count - 1) * overlap) // count), side)
    starts = [round(k * (length - side) / (count - 1)) for k in range(count)]
    borders = [(a + side + b) / 2 for a, b in pairwise(starts)]
    edges = [-np.inf, *borders, np.inf]
    return [(s, s + side, edges[k], edges[k + 1]) for k, s in enumerate(starts)]


def is_blank(grey: Pixels) -> bool:
    return int(grey.max()) - int(grey.min()) <= FLAT


def padded(grey: Pixels) -> Floats:
    """1 x 1 x height x width from 0 to 1, continued by its edge to sides that the network takes."""
    down, right = (-side % MULTIPLE for side in grey.shape)
    image = np.pad(grey, ((0, down), (0, right)), mode="edge").astype(np.float32)
    return (image / np.float32(255))[None, None]
