"""A block's crop -> the picture that the model looks at, and the way back to page pixels.

Grey in 0..1 as the training images are, cut to the block's region without the canvas's padding, scaled so
that characters are as high as in training, filled up with background to whole features. Paper 3.1.3: each
block uses the full resolution available.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tongguocr.engines.base import BlockInput
from tongguocr.engines.pitch import character_size
from tongguocr.geometry import Box, Point, clip
from tongguocr.page import Pixels

Picture = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scaling:
    """How large the model sees a block."""

    character: float = 40.0
    """Wanted height of a character in pixels."""
    most: float = 2.0
    """Scans with smaller characters are enlarged by no more than this: there is nothing more to see."""
    longest: int = 896
    """What the shipped weights were trained on; characters of longer columns become smaller."""
    shortest: int = 32
    step: int = 16
    """The model's stride: sides are multiples of it, and so are `longest` and `shortest`."""
    blank: float = 0.08
    """A picture whose ink and paper differ by less holds no text."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A picture for the model."""

    picture: Picture
    """height x width in 0..1, sides multiples of the step."""
    scale: Point
    """Pixels of the picture for one of the page, across and down."""
    origin: Point
    """Where the picture's top left lies on the page."""
    character: float
    """The height of a character in the picture."""
    blank: bool

    def to_page(self, at: Point) -> Point:
        """A point of the picture on the page."""
        return (at[0] / self.scale[0] + self.origin[0], at[1] / self.scale[1] + self.origin[1])


def contrast(picture: NDArray[Any]) -> float:
    """How far its darkest and brightest parts are apart, specks left out: little where there is no ink."""
    dark, bright = np.percentile(picture, (0.1, 99.9))
    return float(bright - dark)


def prepare(block: BlockInput, scaling: Scaling = Scaling()) -> Prepared:
    """The block's region, grey and scaled."""
    crop = block.crop
    x0, y0, x1, y1 = _region(crop.to_canvas(crop.region), crop.pixels)
    canvas = to_grey(crop.pixels)
    grey = canvas[y0:y1, x0:x1]
    size = character_size(canvas, block.lines) or scaling.character
    scale = min(scaling.character / size, scaling.most, scaling.longest / max(grey.shape))
    high, wide = (min(max(round(side * scale), 1), scaling.longest) for side in grey.shape)
    small = np.asarray(Image.fromarray(grey).resize((wide, high), Image.Resampling.BICUBIC), np.float32) / 255
    paper = to_grey(np.array(crop.background, np.uint8).reshape(1, 1, -1))[0, 0] / 255
    picture = np.full((_round_up(high, scaling), _round_up(wide, scaling)), paper, np.float32)
    picture[:high, :wide] = small
    return Prepared(
        picture,
        (wide / grey.shape[1], high / grey.shape[0]),
        crop.to_page((x0, y0, x1, y1))[:2],
        max(size * scale, 1.0),
        contrast(small) < scaling.blank,
    )


def to_grey(pixels: Pixels) -> Pixels:
    """Brightness, as the eye weighs colours; grey stays as it is."""
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    return (
        np.ascontiguousarray(pixels) if pixels.ndim == 2 else np.asarray(Image.fromarray(pixels).convert("L"))
    )


def _region(box: Box, pixels: Pixels) -> tuple[int, int, int, int]:
    """The region in whole pixels of the canvas, at least one."""
    high, wide = pixels.shape[:2]
    left, top, right, bottom = (round(value) for value in clip(box, wide, high))
    left, top = min(left, wide - 1), min(top, high - 1)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _round_up(side: int, scaling: Scaling) -> int:
    return max(-(-side // scaling.step) * scaling.step, scaling.shortest)
