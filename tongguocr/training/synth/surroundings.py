"""Surroundings: what a photograph shows beyond the page: table, ruler, colour chart, label, facing page.

The size of the picture and where the page lies on it come in, a colour image goes out; the page is laid on
it afterwards, with its shadow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Floats
from tongguocr.training.synth.degradation import Colour, Degradation, Ground
from tongguocr.training.synth.fields import Shape, ramp, smooth_noise

_GROUNDS: dict[Ground, tuple[Colour, ...]] = {
    "black": ((6, 6, 6), (14, 13, 13), (0, 0, 0)),
    "felt": ((158, 158, 158), (120, 122, 124), (72, 74, 76), (196, 196, 194)),
    "wood": ((134, 96, 62), (96, 66, 44), (158, 122, 84)),
    "cloth": ((44, 52, 74), (92, 38, 36), (60, 66, 58), (150, 142, 128)),
}
_CHART: tuple[Colour, ...] = (
    (20, 20, 22),
    (244, 244, 242),
    (178, 178, 178),
    (110, 110, 110),
    (196, 40, 44),
    (40, 130, 70),
    (44, 66, 150),
    (232, 200, 40),
    (196, 70, 130),
    (60, 160, 190),
)


@dataclass(frozen=True, slots=True)
class Margins:
    """How far the picture reaches beyond the page, in pixels."""

    left: int = 0
    top: int = 0
    right: int = 0
    bottom: int = 0


def make_margins(degradation: Degradation, shape: Shape, em: float, rng: np.random.Generator) -> Margins:
    """Room around the page; things beside it need more."""
    if degradation.ground == "none":
        return Margins()
    unit = min(shape) * 0.02 + 0.3 * em
    left, top, right, bottom = (int(unit * rng.uniform(0.6, 3.0)) for _ in range(4))
    if degradation.ruler:
        right += int(2.0 * em)
    if degradation.chart:
        left += int(2.2 * em)
    if degradation.label:
        bottom += int(1.6 * em)
    if degradation.facing:
        strip = int(min(shape) * rng.uniform(0.06, 0.16))
        left, right = (left + strip, right) if degradation.binding <= 0 else (left, right + strip)
    return Margins(left, top, right, bottom)


def make_ground(shape: Shape, degradation: Degradation, em: float, rng: np.random.Generator) -> Image.Image:
    """The empty table."""
    colours = _GROUNDS[degradation.ground]
    base = np.array(colours[int(rng.integers(len(colours)))], np.float32)
    light = _weave(shape, degradation.ground, em, rng)
    return Image.fromarray(np.clip(base * light[..., None], 0, 255).astype(np.uint8))


def lay_things(
    picture: Image.Image, degradation: Degradation, margins: Margins, em: float, rng: np.random.Generator
) -> None:
    """What a photographer puts beside a book."""
    if degradation.ruler:
        _draw_ruler(picture, margins, em, rng)
    if degradation.chart:
        _draw_chart(picture, margins, em, rng)
    if degradation.label:
        _draw_label(picture, margins, em, rng)


def _weave(shape: Shape, ground: Ground, em: float, rng: np.random.Generator) -> Floats:
    """The light a table gives back, about 1."""
    light = ramp(shape, rng) * np.float32(0.06 if ground != "black" else 0.02) + np.float32(1)
    if ground == "wood":
        light += smooth_noise(rng, shape, 0.12 * em, (1.0, 24.0)) * np.float32(0.06)
        light += smooth_noise(rng, shape, 0.6 * em, (1.0, 12.0)) * np.float32(0.06)
    elif ground == "cloth":
        light += smooth_noise(rng, shape, 2.0) * np.float32(0.09)
    else:
        light += smooth_noise(rng, shape, 1.5) * np.float32(0.02)
    return light


def _draw_ruler(picture: Image.Image, margins: Margins, em: float, rng: np.random.Generator) -> None:
    """A white ruler along the right edge, with millimetre ticks and figures."""
    draw = ImageDraw.Draw(picture)
    right = picture.width - max(int(0.15 * em), 1)
    left = max(right - max(int(1.1 * em), 3), picture.width - margins.right + 1)
    draw.rectangle((left, 0, right, picture.height), fill=(236, 236, 232))
    millimetre = max(em / float(rng.uniform(7, 12)), 2.0)
    font = _digits(em * 0.5)
    for k in range(int(picture.height / millimetre)):
        reach = (0.5, 0.25)[k % 5 != 0] if k % 10 else 0.65
        y = k * millimetre
        draw.line((left, y, left + (right - left) * reach * 0.6, y), fill=(30, 30, 30))
        if k % 10 == 0:
            draw.text((left + (right - left) * 0.5, y), str(k // 10 % 10), fill=(30, 30, 30), font=font)


def _digits(size: float) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Pillow's own face: it needs no font folder."""
    return ImageFont.load_default(max(size, 6))


def _draw_chart(picture: Image.Image, margins: Margins, em: float, rng: np.random.Generator) -> None:
    """A column of grey and colour patches at the left edge."""
    draw = ImageDraw.Draw(picture)
    side = max(int(min(1.2 * em, margins.left * 0.6)), 2)
    x, y = int(0.3 * em), int(picture.height * rng.uniform(0.05, 0.4))
    for k, colour in enumerate(_CHART):
        draw.rectangle((x, y + k * side, x + side, y + (k + 1) * side), fill=colour)


def _draw_label(picture: Image.Image, margins: Margins, em: float, rng: np.random.Generator) -> None:
    """The library's slip with a shelf mark below the page."""
    draw = ImageDraw.Draw(picture)
    height = max(int(0.7 * em), 4)
    x = int(rng.uniform(0.05, 0.6) * picture.width)
    y = picture.height - margins.bottom + int(0.5 * (margins.bottom - height)) + int(0.3 * em)
    mark = f"{rng.integers(100, 999)}-{rng.integers(1, 99)} ({rng.integers(1, 40)})"
    draw.rectangle((x, y, x + int(5 * em), y + height), fill=(240, 240, 236))
    draw.text((x + 0.2 * em, y + 0.05 * height), mark, fill=(40, 40, 40), font=_digits(height * 0.7))


def facing_strip(
    degradation: Degradation, shape: Shape, width: int, em: float, rng: np.random.Generator
) -> Pixels:
    """The blank margin of the facing page, darker towards the binding; its frame may show, no text does."""
    height = shape[0]
    away = np.arange(width, dtype=np.float32) / max(width, 1)
    if degradation.binding <= 0:
        away = away[::-1]
    shade = np.float32(1) - np.float32(0.45) * np.exp(-away * np.float32(6))
    light = smooth_noise(rng, (height, width), 1.5) * np.float32(0.012) + shade[None]
    strip = light[..., None] * np.array(degradation.paper, np.float32)
    picture = Image.fromarray(np.clip(strip, 0, 255).astype(np.uint8))
    if width > 3 * em and rng.random() < 0.5:
        x = int(width * (0.4 if degradation.binding <= 0 else 0.6))
        draw = ImageDraw.Draw(picture)
        draw.line((x, 0.12 * height, x, 0.9 * height), fill=degradation.ink, width=max(int(0.07 * em), 1))
    return np.asarray(picture)
