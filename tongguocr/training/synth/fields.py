"""Random fields: smooth noise at a given scale, made small and enlarged, because full-size noise is slow.

A shape and a generator come in, float32 arrays go out. The paper, the ink and the light all draw on them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from PIL import Image, ImageFilter

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Floats
from tongguocr.training.synth.warp import Points

Shape = tuple[int, int]
"""Height, width."""


def enlarge(small: Floats, shape: Shape, smooth: bool = True) -> Floats:
    how = Image.Resampling.BICUBIC if smooth else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(small).resize((shape[1], shape[0]), how), np.float32)


def smooth_noise(
    rng: np.random.Generator, shape: Shape, scale: float, stretch: tuple[float, float] = (1.0, 1.0)
) -> Floats:
    """Normal noise whose bumps are about `scale` pixels across, times `stretch` in y and x."""
    height, width = (max(ceil_div(n, scale * s), 2) for n, s in zip(shape, stretch, strict=True))
    small = rng.standard_normal((height, width), np.float32)
    return enlarge(small, shape, smooth=scale > 6)


def ceil_div(length: float, step: float) -> int:
    return int(-(-length // max(step, 1.0)))


def soft_step(values: Floats, low: float, high: float) -> Floats:
    """0 below `low`, 1 above `high`, straight between."""
    steps: Floats = np.clip((values - np.float32(low)) * np.float32(1 / (high - low)), 0, 1)
    return steps


def blurred(canvas: Pixels, sigma: float) -> Pixels:
    """A Gaussian blur of a grey or colour image."""
    if sigma < 0.05:
        return canvas
    return np.asarray(Image.fromarray(canvas).filter(ImageFilter.GaussianBlur(sigma)))


def through_mesh(
    image: Image.Image, size: tuple[int, int], cell: int, source: Callable[[Points], Points]
) -> Image.Image:
    """An image of `size`, each of whose points is read where `source` says: worked out at every cell's
    corners, bilinear between them."""
    xs, ys = ([*range(0, side, cell), side] for side in size)
    grid = source(np.stack(np.meshgrid(xs, ys), -1).astype(np.float64))
    corners = np.concatenate([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1)
    cells = [(x0, y0, x1, y1) for y0, y1 in pairwise(ys) for x0, x1 in pairwise(xs)]
    mesh = list(zip(cells, map(tuple, corners.reshape(-1, 8).tolist()), strict=True))
    return image.transform(size, Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)


def ramp(shape: Shape, rng: np.random.Generator) -> Floats:
    """A slope from -1 to 1 in a random direction, with a slow bend."""
    angle = rng.random() * 2 * np.pi
    y, x = np.mgrid[-1:1:9j, -1:1:9j].astype(np.float32)
    slope = x * np.float32(np.cos(angle)) + y * np.float32(np.sin(angle))
    slope += rng.standard_normal((9, 9), np.float32) * np.float32(0.12)
    return enlarge(np.clip(slope, -1.4, 1.4) / np.float32(1.4), shape)
