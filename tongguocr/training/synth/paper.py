"""Paper and its life: texture, brown edges, foxing, water stains, worm holes, the other side's ink.

A shape, a `Degradation` and a random generator come in. The sheet is three float32 planes of light from 0 to
1, one a colour, on which the renderer then prints.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Floats
from tongguocr.training.synth.degradation import Colour, Degradation
from tongguocr.training.synth.fields import Shape, blurred, ceil_div, enlarge, smooth_noise, soft_step
from tongguocr.training.synth.ink import as_floats

_BROWN = (0.16, 0.27, 0.45)
"""What age takes from red, green and blue."""
_SMALL = 4
"""Stains and light are made this much smaller."""


def make_sheet(shape: Shape, degradation: Degradation, em: float, rng: np.random.Generator) -> list[Floats]:
    """The empty sheet: red, green and blue from 0 to 1."""
    light = _texture(shape, degradation.texture, em, rng) if degradation.texture else None
    brown = _browned(shape, degradation, em, rng)
    creases = _creases(shape, degradation.folds, em, rng)
    planes = []
    for value, taken in zip(degradation.paper, _BROWN, strict=True):
        plane = np.full(shape, np.float32(value / 255))
        if light is not None:
            plane *= light
        if brown is not None:
            plane *= np.float32(1) - brown * np.float32(taken)
        for crease in creases:
            plane *= crease
        planes.append(plane)
    return planes


def _texture(shape: Shape, strength: float, em: float, rng: np.random.Generator) -> Floats:
    """Light reflected by the sheet's surface, about 1: clouds, pulp, laid lines and fibres."""
    light = smooth_noise(rng, shape, 1.6 * em) * np.float32(0.011)
    light += smooth_noise(rng, shape, 7 * em) * np.float32(0.02)
    light += smooth_noise(rng, shape, max(0.1 * em, 2.0), (1.0, 2.5)) * np.float32(0.012)
    light += smooth_noise(rng, shape, 1.5) * np.float32(0.016)
    if rng.random() < 0.6:
        light += _laid_lines(shape, em, rng)
    light += _fibres(shape, em, rng)
    light *= np.float32(strength)
    light += np.float32(1)
    return light


def _creases(shape: Shape, count: int, em: float, rng: np.random.Generator) -> list[Floats]:
    """Light across old folds: a thin dark line, and the paper tilted a little on either side of it."""
    creases = []
    for _ in range(count):
        upright = rng.random() < 0.7
        length = shape[1] if upright else shape[0]
        away = np.arange(length, dtype=np.float32) - np.float32(
            length * rng.choice([0.5, rng.uniform(0.2, 0.8)])
        )
        line = np.exp(-((away / np.float32(max(0.02 * em, 0.7))) ** 2)) * np.float32(rng.uniform(0.04, 0.16))
        tilt = np.exp(-np.abs(away) / np.float32(1.2 * em)) * np.sign(away) * np.float32(rng.normal(0, 0.02))
        light: Floats = np.float32(1) - line + tilt
        creases.append(light[None] if upright else light[:, None])
    return creases


def _laid_lines(shape: Shape, em: float, rng: np.random.Generator) -> Floats:
    """Fine parallel lines of the mould with chain lines across, faint."""
    height, width = shape
    period = max(float(rng.uniform(0.06, 0.12)) * em, 2.5)
    y = np.arange(height, dtype=np.float32)
    x = np.arange(width, dtype=np.float32)
    laid = np.sin(y * np.float32(2 * np.pi / period) + np.float32(rng.random() * 6)) * np.float32(0.008)
    chain = np.exp(-(((x + rng.random() * em) % (2.2 * em) - em) ** 2) / (0.002 * em * em)) * 0.014
    lines: Floats = laid[:, None] - chain[None].astype(np.float32)
    return lines


def _fibres(shape: Shape, em: float, rng: np.random.Generator) -> Floats:
    """Short curved hairs, darker or lighter than the sheet."""
    small = (ceil_div(shape[0], 2), ceil_div(shape[1], 2))
    image = Image.new("L", (small[1], small[0]), 128)
    draw = ImageDraw.Draw(image)
    for _ in range(int(small[0] * small[1] / (0.6 * em * em) * rng.uniform(0.2, 1.0))):
        x, y = rng.random() * small[1], rng.random() * small[0]
        turn, bend, reach = rng.random() * 6.3, rng.normal(0, 0.7), em * rng.uniform(0.05, 0.22)
        path = [(x, y)]
        for step in range(3):
            x, y = x + reach * np.cos(turn + bend * step), y + reach * np.sin(turn + bend * step)
            path.append((x, y))
        draw.line(path, fill=int(rng.choice([84, 100, 150])))
    grown = np.asarray(image.resize((shape[1], shape[0]), Image.Resampling.BILINEAR))
    return (grown.astype(np.float32) - 128) * np.float32(0.0016)


def _browned(shape: Shape, degradation: Degradation, em: float, rng: np.random.Generator) -> Floats | None:
    """How brown the sheet is, 0 to about 1: edges, foxing and stains, made at a quarter of the size."""
    if not (degradation.browning or degradation.foxing or degradation.stains):
        return None
    small = (ceil_div(shape[0], _SMALL), ceil_div(shape[1], _SMALL))
    unit = max(em / _SMALL, 2.0)
    brown = np.zeros(small, np.float32)
    if degradation.browning:
        brown += _edges(small, unit, rng) * np.float32(degradation.browning)
    for _ in range(degradation.stains):
        np.maximum(brown, _stain(small, unit, rng), out=brown)
    if degradation.foxing:
        brown += _foxing(small, unit, degradation.foxing, rng)
    return enlarge(np.clip(brown, 0, 1.2), shape, smooth=False)


def _edges(shape: Shape, em: float, rng: np.random.Generator) -> Floats:
    """Darker towards the edges of the sheet, unevenly."""
    y = np.minimum(np.arange(shape[0]), np.arange(shape[0])[::-1])[:, None]
    x = np.minimum(np.arange(shape[1]), np.arange(shape[1])[::-1])[None]
    near = np.exp(-y / (rng.uniform(0.4, 2.5) * em)) + np.exp(-x / (rng.uniform(0.4, 2.5) * em))
    cloud = 0.75 + 0.3 * smooth_noise(rng, shape, 2 * em)
    slow = 0.18 * smooth_noise(rng, shape, 8 * em)
    edges: Floats = np.clip(near * cloud * 0.8 + slow + 0.1, 0, 1).astype(np.float32)
    return edges


def _stain(shape: Shape, em: float, rng: np.random.Generator) -> Floats:
    """A water stain: faintly brown inside, a darker tide line at its ragged edge."""
    height, width = shape
    cy, cx = rng.random() * height, rng.choice([0.0, 1.0, rng.random()]) * width
    radius = rng.uniform(1.5, 6.0) * em
    y, x = np.ogrid[:height, :width]
    away = np.hypot((y - cy) * rng.uniform(0.6, 1.6), x - cx).astype(np.float32) / np.float32(radius)
    away += smooth_noise(rng, shape, 1.2 * em) * np.float32(0.13) + smooth_noise(
        rng, shape, 0.3 * em
    ) * np.float32(0.03)
    inside = soft_step(-away, -1.0, -0.85)
    tide = np.exp(-(((away - np.float32(0.95)) / np.float32(0.05)) ** 2))
    depth = np.float32(rng.uniform(0.15, 0.5))
    stain: Floats = inside * depth * np.float32(0.7) + tide * depth
    return stain


def _foxing(shape: Shape, em: float, count: int, rng: np.random.Generator) -> Floats:
    image = Image.new("L", (shape[1], shape[0]))
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        x, y, r = rng.random() * shape[1], rng.random() * shape[0], em * rng.uniform(0.02, 0.2)
        draw.ellipse((x - r, y - r * 0.8, x + r, y + r * 0.8), fill=int(rng.integers(50, 170)))
    return as_floats(blurred(np.asarray(image), 0.08 * em))


def show_through(density: Floats, degradation: Degradation, em: float, rng: np.random.Generator) -> Floats:
    """The other side's ink as this side shows it: mirrored, shifted, blurred and faint."""
    verso = np.roll(density[:, ::-1], tuple(int(v) for v in rng.normal(0, 0.6 * em, 2)), axis=(0, 1))
    soft = blurred((verso * np.float32(255)).astype(np.uint8), max(0.05 * em, 0.8))
    cloud = np.clip(0.7 + 0.3 * smooth_noise(rng, (density.shape[0], density.shape[1]), 4 * em), 0, 1)
    shown: Floats = as_floats(soft) * cloud * np.float32(0.55 * degradation.bleed)
    return shown


def worm_holes(
    shape: Shape, degradation: Degradation, em: float, rng: np.random.Generator
) -> tuple[Pixels, Colour, Pixels] | None:
    """The holes' mask, what they show, and the shadow of their edge; None where there are none."""
    if not degradation.wormholes:
        return None
    image = Image.new("L", (shape[1], shape[0]))
    draw = ImageDraw.Draw(image)
    for _ in range(degradation.wormholes):
        _worm(draw, shape, em, rng)
    holes = blurred(np.asarray(image), 0.5)
    dark = rng.random() < 0.3
    behind: Colour = (24, 22, 20) if dark else _darker(degradation.paper, float(rng.uniform(0.78, 0.95)))
    shift = max(round(0.03 * em), 1)
    shadow = blurred(np.roll(holes, (shift, shift), axis=(0, 1)), max(0.02 * em, 0.6))
    return holes, behind, shadow


def _darker(colour: Colour, share: float) -> Colour:
    r, g, b = (round(v * share) for v in colour)
    return (r, g, b)


def _worm(draw: ImageDraw.ImageDraw, shape: Shape, em: float, rng: np.random.Generator) -> None:
    """One worm's way: a round hole, or a winding channel."""
    x, y = rng.random() * shape[1], rng.random() * shape[0]
    radius, turn = em * rng.uniform(0.025, 0.07), rng.random() * 6.3
    for _ in range(int(rng.choice([1, 8, 20, 40], p=[0.35, 0.3, 0.25, 0.1]))):
        r = radius * rng.uniform(0.75, 1.25)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
        turn += rng.normal(0, 0.45)
        x, y = x + 1.1 * radius * np.cos(turn), y + 1.1 * radius * np.sin(turn)
