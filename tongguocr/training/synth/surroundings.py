"""Surroundings: what a photograph shows beyond the page: table, ruler, colour chart, label, facing page.

The size of the picture and where the page lies on it come in, a colour image goes out; the page is laid on
it afterwards, with its shadow.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

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


@dataclass(frozen=True, slots=True)
class Stitching:
    """Holes along a bound edge and the thread through them, in pixels."""

    holes: tuple[tuple[float, float], ...]
    radius: float
    thread: tuple[tuple[float, float, float, float], ...]
    """From x, y to x, y."""


def stitches(shape: Shape, em: float, right: bool, rng: np.random.Generator) -> Stitching:
    """A book sewn at its left or right edge: four to six holes, thread from hole to hole and round the edge.

    The thread of some shows along its whole way, of others round the edge alone or not at all.
    """
    height, width = shape
    depth, count = em * float(rng.uniform(0.35, 1.0)), int(rng.integers(4, 7))
    x, edge = (width - depth, float(width)) if right else (depth, 0.0)
    first, last = height * float(rng.uniform(0.03, 0.12)), height * float(rng.uniform(0.88, 0.97))
    ys = np.linspace(first, last, count) + rng.normal(0, 0.1 * em, count)
    holes = tuple((x + float(rng.normal(0, 0.04 * em)), float(y)) for y in ys)
    kind = rng.random()
    around = [(hx, hy, edge, hy + float(rng.normal(0, 0.05 * em))) for hx, hy in holes] if kind < 0.7 else []
    along = [(*a, *b) for a, b in pairwise(holes)] if kind < 0.45 else []
    return Stitching(holes, max(em * float(rng.uniform(0.03, 0.08)), 1.0), tuple(around + along))


def barcode(size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """A white slip of this width and height with bars, figures under them, and now and then a library's name
    in letters above: grey."""
    width, height = size
    picture = Image.new("L", size, int(rng.integers(222, 256)))
    draw, ink = ImageDraw.Draw(picture), int(rng.integers(5, 60))
    named = rng.random() < 0.4
    top, foot = height * (0.3 if named else 0.08), height * float(rng.uniform(0.68, 0.85))
    unit = max(width / float(rng.uniform(70, 130)), 1.0)
    x = 6 * unit
    while x < width - 7 * unit:
        bar = int(rng.integers(1, 4)) * unit
        draw.rectangle((x, top, x + bar - 1, foot), fill=ink)
        x += bar + int(rng.integers(1, 4)) * unit
    font = _digits(0.8 * (height - foot))
    draw.text((width * 0.2, foot), "".join(rng.choice(list("0123456789"), 10)), fill=ink, font=font)
    if named:
        letters = "".join(rng.choice(list("ABCDEFGHILMNOPRSTU   "), 16))
        draw.text((width * 0.06, height * 0.02), letters, fill=ink, font=_digits(0.22 * height))
    return picture


def shelf_mark(size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """A slip with a border and one to three rows of letters and figures: grey."""
    width, height = size
    picture = Image.new("L", size, int(rng.integers(205, 250)))
    draw, ink = ImageDraw.Draw(picture), int(rng.integers(20, 90))
    if rng.random() < 0.6:
        draw.rectangle((2, 2, width - 3, height - 3), outline=ink)
    rows = int(rng.integers(1, 4))
    high = 0.85 * height / rows
    for row in range(rows):
        count = max(int(width / (0.55 * high)) - 1, 1)
        text = "".join(rng.choice(list("ABCDEFGHKLMNPRSTUVXZ0123456789.-/ "), count))
        draw.text((0.06 * width, 0.06 * height + row * high), text, fill=ink, font=_digits(0.75 * high))
    return picture


def chart_strip(size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """Grey and colour patches in a row."""
    width, height = size
    picture = Image.new("RGB", size, (236, 236, 232))
    draw, count = ImageDraw.Draw(picture), int(rng.integers(5, len(_CHART) + 1))
    for k, number in enumerate(rng.permutation(len(_CHART))[:count].tolist()):
        x = k * width / count
        draw.rectangle((x, 2, x + width / count - 1, height - 3), fill=_CHART[number])
    return picture
