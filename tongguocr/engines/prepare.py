"""A block's crop -> the picture that the model looks at, and the way back from the picture to the page.

Grey in 0..1 as the training images are, cut to the block's region without the canvas's padding, scaled so
that characters are as high as in training, filled up with background to whole features. Paper 3.1.3: each
block uses the full resolution available.

How high characters are is seen in the ink. A line's box tells how thick it is, not how close its characters
stand: flat type in wide columns has pitches of 0.6 of the thickness. Ink along a line comes and goes once a
character, so the lag at which the lines look most like themselves is their pitch. Where ink tells nothing,
the characters that the detector saw do; ink comes first, as it reads the frozen benchmark a little better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tongguocr.engines.base import BlockInput
from tongguocr.geometry import Box, Point, clip, height, width
from tongguocr.page import Line, Pixels

Picture = NDArray[np.float32]
Floats = NDArray[np.float64]

SHORTEST = 32
"""The least side of a picture in pixels."""
STEP = 16
"""The model's stride: sides are multiples of it, and so are SHORTEST and `Scaling.longest`."""
BLANK = 0.08
"""A picture whose ink and paper differ by less, of 1, holds no text."""

# Where a pitch is looked for; lengths in thicknesses of the line.
LEAST_PITCH, MOST_PITCH = 0.4, 1.5
ALIKE = 0.75
"""Lines are measured together if the thinner has at least this part of the other's thickness."""
SHORTEST_LINE = 2.5
"""A line shorter than this says nothing."""
EVIDENCE = 0.06
"""Likeness of a line to itself at some lag, from 0 to 1, below which it is chance."""
CHANCE = 4.0
"""Likeness below this over the root of the pixels measured is chance: any short line has some."""
PART = 0.7
"""Two or three characters are as regular as one: a half or third of the lag is taken where it is this much as
like."""
FEWEST_STEPS = 4
"""From one detected character to the next: fewer steps say nothing of the pitch."""
INNER = 0.8
"""The part of the thickness that is looked at: rules run along the sides."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How large the model sees a block."""

    character: float = 40.0
    """Wanted height of a character in pixels."""
    most: float = 2.0
    """Scans with smaller characters are enlarged by no more than this: there is nothing more to see."""
    longest: int = 896
    """What the shipped weights were trained on; characters of longer columns become smaller."""


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


def find_peak(pointed: Picture, grid: tuple[int, int]) -> Point:
    """Where on a picture a token was read, in features from its top left: x and y of the pointer's peak.

    `pointed` is the pointer's certainty at every feature, row by row; `grid` is rows and columns. The pointer
    is taught the four features around a character's centre, nearer ones more, so the middle of its peak and
    the features around it is the centre to a fraction of a feature.
    """
    weights = pointed.reshape(grid)
    row, column = divmod(int(pointed.argmax()), grid[1])
    top, left = max(row - 1, 0), max(column - 1, 0)
    part = weights[top : row + 2, left : column + 2].astype(np.float64)
    total = part.sum()
    if not total > 0:
        return (column + 0.5, row + 0.5)
    # A place's own middle is half a feature in.
    across = part.sum(0) @ np.arange(left, left + part.shape[1]) / total
    down = part.sum(1) @ np.arange(top, top + part.shape[0]) / total
    return (float(across) + 0.5, float(down) + 0.5)


def is_blank(picture: NDArray[Any]) -> bool:
    """Whether there is no ink: its darkest and brightest parts, specks left out, are too close together.

    In whole numbers a picture goes up to 255, otherwise up to 1.
    """
    dark, bright = np.percentile(picture, (0.1, 99.9))
    white = 255 if np.issubdtype(picture.dtype, np.integer) else 1
    return bool(float(bright - dark) < white * BLANK)


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
    picture = np.full((_round_up(high), _round_up(wide)), paper, np.float32)
    picture[:high, :wide] = small
    return Prepared(
        picture,
        (wide / grey.shape[1], high / grey.shape[0]),
        crop.to_page((x0, y0, x1, y1))[:2],
        max(size * scale, 1.0),
        is_blank(small),
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


def _round_up(side: int) -> int:
    return max(-(-side // STEP) * STEP, SHORTEST)


def character_size(grey: Pixels, lines: Sequence[Line]) -> float | None:
    """The height of most of the block's characters, no more than the lines are thick; None without lines."""
    if not lines:
        return None
    extents = [extent(line) for line in lines]
    usual = _weighted_median([(max(across, 1.0), along / max(across, 1.0)) for across, along in extents])
    alike = [
        line
        for line, (across, along) in zip(lines, extents, strict=True)
        if ALIKE <= max(across, 1.0) / usual <= 1 / ALIKE and along >= SHORTEST_LINE * usual
    ]
    pitch = _pitch([_profile(grey, line) for line in alike], usual) or _detected_pitch(alike)
    return min(pitch, usual) if pitch else usual


def _detected_pitch(lines: Sequence[Line]) -> float | None:
    """The usual step from one detected character to the next; None where too few were detected to tell."""
    steps: list[float] = []
    for line in lines:
        axis = 1 if line.is_vertical else 0
        centres = [(char.box[axis] + char.box[axis + 2]) / 2 for char in line.chars]
        steps += np.abs(np.diff(centres)).tolist()
    return float(np.median(steps)) if len(steps) >= FEWEST_STEPS else None


def extent(line: Line) -> tuple[float, float]:
    """Across and along the line's direction."""
    sides = (width(line.box), height(line.box))
    return sides if line.is_vertical else (sides[1], sides[0])


def _weighted_median(pairs: Sequence[tuple[float, float]]) -> float:
    """The value in the middle of all, each (value, weight) counted by its weight, at least 1."""
    ordered = sorted((value, max(weight, 1.0)) for value, weight in pairs)
    reached = np.cumsum([weight for _, weight in ordered])
    return ordered[int(np.searchsorted(reached, reached[-1] / 2))][0]


def _profile(grey: Pixels, line: Line) -> Floats:
    """Ink along the line: how much darker than paper each row of it is."""
    high, wide = grey.shape
    x0, y0, x1, y1 = (round(value) for value in clip(line.box, wide, high))
    cut = grey[y0:y1, x0:x1].astype(np.float64)
    cut = cut if line.is_vertical else cut.T
    margin = round((1 - INNER) / 2 * cut.shape[1])
    cut = cut[:, margin : max(cut.shape[1] - margin, margin + 1)]
    if not cut.size:
        return np.zeros(0)
    ink: Floats = np.maximum(np.percentile(cut, 90) - cut, 0).mean(1)
    return ink


def _pitch(profiles: Sequence[Floats], thickness: float) -> float | None:
    """The lag at which all profiles together are most like themselves; None where there is no such lag."""
    low, high = round(LEAST_PITCH * thickness), round(MOST_PITCH * thickness)
    total, weight = np.zeros(high + 2), 0.0
    for profile in profiles:
        if len(profile) > 2 * low:
            total += len(profile) * _likeness(profile, high + 2)
            weight += len(profile)
    if not weight:
        return None
    total /= weight
    peaks = [k for k in range(max(low, 1), high + 1) if total[k - 1] < total[k] >= total[k + 1]]
    best = max(peaks, key=total.__getitem__, default=0)
    if not best or total[best] < max(EVIDENCE, CHANCE / weight**0.5):
        return None
    parts = [
        k
        for k in peaks
        if total[k] >= PART * total[best] and any(abs(m * k - best) <= 0.1 * best for m in (2, 3))
    ]
    return float(parts[0] if parts else best)


def _likeness(profile: Floats, count: int) -> Floats:
    """Autocorrelation for lags up to half of the profile, 1 at lag 0; 0 beyond."""
    n = len(profile)
    centred = profile - profile.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    raw = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[:n]
    result = np.zeros(count)
    if raw[0] > 1e-9:
        kept = min(count, n // 2)
        result[:kept] = (raw / raw[0] * n / (n - np.arange(n)))[:kept]
    return result
