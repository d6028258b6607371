"""The impression: what block, brush and pressure make of clean ink.

Clean ink from 0 to 255 comes in, the density of printed ink from 0 to 1 goes out. Worn edges are a blur and
a threshold that varies over the page; inside strokes the ink lies unevenly, and thins where the block got
too little of it. Rules get their own waver and gaps before anything is painted.
"""

from __future__ import annotations

from math import erfc, hypot, sqrt

import numpy as np
from PIL import Image

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Composition, Floats, Stroke
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.fields import blurred, smooth_noise, soft_step, through_mesh
from tongguocr.training.synth.ink import PrintedStroke, add_stroke, as_floats
from tongguocr.training.synth.warp import Points

_KEPT = 0.3
"""Share of the unblurred ink in what meets the threshold: hairlines survive the rounding."""


def em_of(composition: Composition) -> float:
    """The size of the page's main characters in pixels, which is the unit of all degradation.

    Large titles do not count in full: knife, brush and paper are as fine under them as under small type.
    """
    longest = max(composition.width, composition.height)
    if not len(composition):
        return max(longest / 36, 4.0)
    sides = (composition.boxes[:, 2:] - composition.boxes[:, :2]).max(axis=1)
    return float(np.clip(np.quantile(sides, 0.7), 4.0, max(longest / 20, 4.0)))


def print_strokes(
    composition: Composition, degradation: Degradation, em: float, rng: np.random.Generator
) -> list[PrintedStroke]:
    """The composition's strokes as a worn block prints them."""
    if not (degradation.rule_waver or degradation.rule_gaps):
        return [PrintedStroke(stroke) for stroke in composition.strokes]
    return [_print_stroke(stroke, degradation, em, rng) for stroke in composition.strokes]


def _print_stroke(
    stroke: Stroke, degradation: Degradation, em: float, rng: np.random.Generator
) -> PrintedStroke:
    start, end = np.array(stroke.start), np.array(stroke.end)
    length = max(float(np.linalg.norm(end - start)), 1.0)
    # Frame corners do not quite meet; a rule stops short of the frame.
    slip = np.clip(rng.normal(0.0, degradation.rule_waver, 2), -0.12, 0.12) * em
    along = (end - start) / length
    start, end = start + along * slip[0], end - along * slip[1]
    bends = max(round(length / (2.5 * em)), 2)
    jags = max(round(length / (0.12 * em)), 3)
    slow = np.interp(np.linspace(0, 1, jags), np.linspace(0, 1, bends), rng.normal(0, 1, bends))
    waver = em * degradation.rule_waver * (0.7 * slow + 0.12 * rng.normal(0, 1, jags))
    share = degradation.rule_gaps * {"rule": 1.0, "frame": 0.25, "box": 0.35}[stroke.role]
    printed = Stroke(
        (float(start[0]), float(start[1])),
        (float(end[0]), float(end[1])),
        stroke.width * float(rng.uniform(0.85, 1.2)),
        stroke.role,
    )
    return PrintedStroke(printed, waver.astype(np.float32), _strength(jags, share, rng))


def _strength(count: int, gaps: float, rng: np.random.Generator) -> Floats:
    """Ink along a rule: uneven throughout, none in about `gaps` of it."""
    knots = max(count // 9, 2)
    slow = np.interp(np.linspace(0, 1, count), np.linspace(0, 1, knots), rng.normal(0, 1, knots))
    level = slow + 0.6 * rng.normal(0, 1, count)
    floor = np.quantile(level, gaps) if gaps > 0 else level.min() - 1
    return np.clip(0.35 + (level - floor) * 0.9, 0, 1).astype(np.float32) * (level >= floor)


def carve(ink: Pixels, degradation: Degradation, em: float, rng: np.random.Generator) -> Pixels:
    """Ink shifted by a fraction of a stroke's width here and there, as a knife follows a brush."""
    reach = degradation.carving * em
    if reach < 0.05:
        return ink
    size = (ink.shape[1], ink.shape[0])

    def stray(points: Points) -> Points:
        strayed: Points = points + np.clip(rng.normal(0, reach, points.shape), -2 * reach, 2 * reach)
        return strayed

    return np.asarray(through_mesh(Image.fromarray(ink), size, max(round(0.3 * em), 4), stray))


def press(ink: Pixels, degradation: Degradation, em: float, rng: np.random.Generator) -> Floats:
    """The density of printed ink, 0 to 1."""
    sigma = max(
        hypot(degradation.rounding, 0.8 * max(abs(degradation.spread), degradation.touching)) * em, 0.0
    )
    if not sigma and not any(
        (
            degradation.roughness,
            degradation.mottling,
            degradation.starvation,
            degradation.broken,
            degradation.grain,
        )
    ):
        return _cracked(as_floats(ink), degradation, em, rng)
    sigma = max(sigma, 0.35)
    shape = (ink.shape[0], ink.shape[1])
    soft = as_floats(blurred(ink, sigma))
    soft *= np.float32(1 - _KEPT)
    soft += ink * np.float32(_KEPT / 255)
    fine = smooth_noise(rng, shape, max(0.035 * em, 1.5))
    pale = smooth_noise(rng, shape, 5 * em)
    level = _threshold(degradation, em, sigma, _faintest(ink, soft), shape, fine, pale, rng)
    tone = _tone(degradation, em, shape, fine, pale, soft, rng)
    # However low the threshold, there is no ink far from the block's.
    most = soft * np.float32(6)
    # About one pixel from paper to ink, however wide the blur.
    soft -= level
    soft *= np.float32(np.clip(sigma / 0.42, 1.2, 6.0))
    soft += np.float32(0.5)
    np.clip(soft, 0, 1, out=soft)
    np.minimum(soft, most, out=soft)
    soft *= tone
    return _cracked(soft, degradation, em, rng)


def _faintest(ink: Pixels, soft: Floats) -> float:
    """What the blur left of hairlines: a threshold above it would lose them."""
    inked = soft[::3, ::3][ink[::3, ::3] > 160]
    return float(np.quantile(inked, 0.12)) if inked.size else 1.0


def _cut(shift: float, sigma: float) -> float:
    """The threshold that moves the edge of a blurred stroke outwards by `shift` pixels."""
    return float(np.clip(0.5 * erfc(shift / sigma / sqrt(2)), 0.2, 0.64))


def _threshold(
    degradation: Degradation,
    em: float,
    sigma: float,
    faint: float,
    shape: tuple[int, int],
    fine: Floats,
    pale: Floats,
    rng: np.random.Generator,
) -> Floats:
    """How much ink a place needs to print: higher at nicks and in pale areas, lower where ink stood high."""
    base = min(_cut(degradation.spread * em, sigma), 0.85 * faint)
    level = fine * np.float32(0.14 * degradation.roughness)
    level += np.float32(base)
    if degradation.touching:
        joined = _cut((degradation.spread + degradation.touching) * em, sigma)
        level -= soft_step(-pale, 0.2, 1.4) * np.float32(max(base - joined, 0.14))
    if degradation.starvation:
        level += (
            soft_step(pale, 0.1, 1.6) * (fine * np.float32(0.2) + np.float32(0.13)) * degradation.starvation
        )
    if degradation.broken:
        nicks = smooth_noise(rng, shape, 0.11 * em)
        level += soft_step(
            nicks, 2.3 - 0.8 * degradation.broken, 3.1 - 0.8 * degradation.broken
        ) * np.float32(0.8)
    np.maximum(level, np.float32(0.12), out=level)
    return level


def _tone(
    degradation: Degradation,
    em: float,
    shape: tuple[int, int],
    fine: Floats,
    pale: Floats,
    soft: Floats,
    rng: np.random.Generator,
) -> Floats:
    """How dark the ink is where there is any: blotches, starved centres, grain, pale areas."""
    blotches = smooth_noise(rng, shape, 0.22 * em)
    tone = blotches * np.float32(0.17)
    tone += fine * np.float32(0.13)
    tone += soft_step(soft, 0.75, 1.0) * np.float32(0.18)
    tone += np.float32(0.12)
    tone *= np.float32(degradation.mottling)
    if degradation.starvation:
        tone += soft_step(pale, 0.0, 1.7) * np.float32(0.42 * degradation.starvation)
    if degradation.grain:
        streaks = smooth_noise(rng, shape, max(0.05 * em, 1.5), (1.0, 30.0))
        tone += soft_step(streaks, 0.4, 2.0) * np.float32(0.55 * degradation.grain)
    dark: Floats = np.clip(np.float32(1) - tone, 0.12, 1)
    return dark


def _cracked(density: Floats, degradation: Degradation, em: float, rng: np.random.Generator) -> Floats:
    """Take the ink away along straight cracks, most of them with the grain, across the page."""
    if not degradation.cracks:
        return density
    height, width = density.shape
    gap = np.zeros((height, width), np.uint8)
    for _ in range(degradation.cracks):
        slope = float(rng.normal(0, 0.02))
        if rng.random() < 0.7:
            y = float(rng.uniform(0.1, 0.9)) * height
            ends = ((0.0, y), (float(width), y + slope * width))
        else:
            x = float(rng.uniform(0.1, 0.9)) * width
            ends = ((x, 0.0), (x + slope * height, float(height)))
        steps = max(round(max(width, height) / (0.3 * em)), 8)
        waver = np.cumsum(rng.normal(0, 0.018, steps)) * em
        opening = np.clip(np.cumsum(rng.normal(0, 0.25, steps)) + 0.9, 0, 1)
        crack = Stroke(ends[0], ends[1], max(float(rng.uniform(0.03, 0.08)) * em, 1.2))
        add_stroke(gap, PrintedStroke(crack, waver.astype(np.float32), opening.astype(np.float32)))
    return density * (np.float32(1) - as_floats(gap))
