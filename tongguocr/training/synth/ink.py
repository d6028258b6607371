"""Ink before degradation: a composition's glyphs, rules, patches and marks as coverage from 0 to 1.

A composition and the font book come in, float32 arrays of the page's size go out: black ink and, apart from
it, the red that a reader added. A glyph is stretched to its em box and never clipped: where a brush face
would leave its box by more than the tolerance, it is drawn smaller. One block is one hand, so a character
that another face stands in for must not look borrowed: its strokes are thickened or thinned to the page's
own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from tongguocr.geometry import Box, bounds
from tongguocr.page import Pixels
from tongguocr.training.synth.composition import OVERHANG, Composition, Floats, Mark, Patch, Stroke
from tongguocr.training.synth.fonts import FontBook, glyph_mask

Vector: TypeAlias = NDArray[np.float64]
"""x and y."""

TOLERANCE = 2.0
"""How far ink may leave its em box, in pixels."""
_SLACK = 0.5
"""What is left of the tolerance for smooth edges."""
_FINE = 4
"""Patches and marks are drawn this much larger and averaged."""
WEIGHT_SAMPLE, WEIGHT_SIZE = 10, 64
"""Characters compared to tell a face's weight, and their em in pixels."""


@dataclass(frozen=True, slots=True)
class PrintedStroke:
    """A stroke as the block prints it; both arrays are sampled evenly along it."""

    stroke: Stroke
    waver: Floats | None = None
    """Shift sideways in pixels."""
    strength: Floats | None = None
    """Share of its ink that it gives off."""


@dataclass(slots=True)
class MaskCache:
    """Glyph masks of one page: characters repeat, and sizes are rounded up so that they meet again."""

    fonts: FontBook
    weights: dict[int, float] = field(default_factory=dict)
    """How much the strokes of a face that stands in are thickened; see `weight_changes`."""
    masks: dict[tuple[int, str, int], tuple[Image.Image, Box | None]] = field(default_factory=dict)

    def get(self, face: int, char: str, size: float) -> tuple[Image.Image, Box | None]:
        """The mask at a size not smaller than asked for, and its ink's bounds in em units from the centre."""
        step = max(ceil(size / 8) * 8, 8)
        key = (face, char, step)
        if key not in self.masks:
            drawn = glyph_mask(self.fonts.faces[face], char, step)
            mask = Image.fromarray(change_weight(drawn, step, self.weights.get(face, 0.0)))
            self.masks[key] = (mask, _ink_bounds(mask, step))
        return self.masks[key]


def _ink_bounds(mask: Image.Image, size: int) -> Box | None:
    box = mask.getbbox()
    if box is None:
        return None
    x0, y0, x1, y1 = ((v - mask.width / 2) / size for v in box)
    return (x0, y0, x1, y1)


def paint_ink(composition: Composition, fonts: FontBook) -> Floats:
    """Coverage of black ink, 0 to 1, before any degradation."""
    return as_floats(paint_black(composition, fonts, map(PrintedStroke, composition.strokes)))


def paint_black(composition: Composition, fonts: FontBook, strokes: Iterable[PrintedStroke]) -> Pixels:
    """Black ink from 0 to 255, with these strokes in place of the composition's own."""
    canvas = np.zeros((composition.height, composition.width), np.uint8)
    masks = MaskCache(fonts, weight_changes(composition, fonts))
    for patch in composition.patches:
        _add_patch(canvas, patch)
    for stroke in strokes:
        add_stroke(canvas, stroke)
    for k in np.flatnonzero(~composition.white):
        add_glyph(canvas, composition, int(k), masks)
    for k in np.flatnonzero(composition.white):
        add_glyph(canvas, composition, int(k), masks)
    for mark in composition.marks:
        if not mark.red:
            _add_mark(canvas, mark)
    return canvas


def paint_red(composition: Composition) -> Pixels | None:
    """The red marks from 0 to 255; None where there are none."""
    marks = [mark for mark in composition.marks if mark.red]
    if not marks:
        return None
    canvas = np.zeros((composition.height, composition.width), np.uint8)
    for mark in marks:
        _add_mark(canvas, mark)
    return canvas


def as_floats(canvas: Pixels) -> Floats:
    return np.multiply(canvas, np.float32(1 / 255), dtype=np.float32)


def add_glyph(canvas: Pixels, composition: Composition, k: int, masks: MaskCache) -> None:
    """Paint glyph `k`, or cut it out of the ink where it is white."""
    patch, x, y = glyph_patch(composition, k, masks)
    if patch is not None:
        _blend(canvas, patch, x, y, cut=bool(composition.white[k]))


def glyph_patch(composition: Composition, k: int, masks: MaskCache) -> tuple[Pixels | None, int, int]:
    """Glyph `k` in its place: its mask turned and stretched, and the top left pixel where that goes."""
    x0, y0, x1, y1 = (float(v) for v in composition.boxes[k])
    size, angle = np.array([x1 - x0, y1 - y0]), float(composition.angles[k])
    if not size.min() > 0:
        return None, 0, 0
    mask, ink = masks.get(int(composition.faces[k]), composition.text[k], float(size.max()))
    if ink is None:
        return None, 0, 0
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    reach = np.abs(np.array([(ink[i], ink[j]) for i in (0, 2) for j in (1, 3)]) * size @ turn.T).max(axis=0)
    shrink = min(1.0, float(((size / 2 + _SLACK) / reach).min()))
    centre = np.array([x0 + x1, y0 + y1]) / 2
    # Beyond the tolerance there is nothing but the blur of sampling.
    beyond = np.minimum(reach * shrink + TOLERANCE, size / 2 + TOLERANCE)
    first, last = np.ceil(centre - beyond), np.floor(centre + beyond)
    patch = _sample(mask, size * shrink, turn, first - centre, last - first)
    return patch, int(first[0]), int(first[1])


def _sample(
    mask: Image.Image, size: Vector, turn: NDArray[np.float64], start: Vector, shape: Vector
) -> Pixels:
    """The mask stretched to an em of `size` and turned, on `shape` pixels from `start` off its centre."""
    mask = _nearer(mask, float(size[0]), float(size[1]))
    whole = np.array(mask.size)
    # Output pixels back to the mask: turn the other way, then from the em box's pixels to the mask's.
    back = np.diag(whole / (1 + 2 * OVERHANG) / size) @ turn.T
    at = back @ start + whole / 2
    affine = (back[0, 0], back[0, 1], at[0], back[1, 0], back[1, 1], at[1])
    to = (int(shape[0]), int(shape[1]))
    return np.asarray(mask.transform(to, Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR))


def _nearer(mask: Image.Image, w: float, h: float) -> Image.Image:
    """The mask reduced to about the size wanted where it is much larger: sampling would lose strokes."""
    room = 1 + 2 * OVERHANG
    size = (min(ceil(w * room), mask.width), min(ceil(h * room), mask.height))
    if 1.3 * size[0] > mask.width and 1.3 * size[1] > mask.height:
        return mask
    return mask.resize(size, Image.Resampling.BOX)


def _blend(canvas: Pixels, patch: Pixels, x: int, y: int, cut: bool = False) -> None:
    """Lay a patch of ink on the canvas, or take it away; what lies beyond the canvas is lost."""
    height, width = canvas.shape
    x0, y0, x1, y1 = max(x, 0), max(y, 0), min(x + patch.shape[1], width), min(y + patch.shape[0], height)
    if x0 >= x1 or y0 >= y1:
        return
    piece, region = patch[y0 - y : y1 - y, x0 - x : x1 - x], canvas[y0:y1, x0:x1]
    if cut:
        np.minimum(region, 255 - piece, out=region)
    else:
        np.maximum(region, piece, out=region)


def add_stroke(canvas: Pixels, printed: PrintedStroke) -> None:
    """Paint a stroke with smooth edges: a run of short cross-sections along its longer axis."""
    stroke = printed.stroke
    upright = abs(stroke.end[1] - stroke.start[1]) >= abs(stroke.end[0] - stroke.start[0])
    turned = canvas if upright else canvas.T
    # `a` counts along the stroke, `b` across it.
    (b0, a0), (b1, a1) = sorted(
        (p if upright else (p[1], p[0]) for p in (stroke.start, stroke.end)), key=lambda p: p[1]
    )
    rows = np.arange(max(floor(a0), 0), min(ceil(a1), turned.shape[0]), dtype=np.float32)
    if a1 <= a0 or not rows.size:
        return
    share = np.clip((rows + 0.5 - a0) / (a1 - a0), 0, 1)
    centre = b0 + (b1 - b0) * share + _along(printed.waver, share, 0.0)
    level = np.clip(np.minimum(rows + 1, a1) - np.maximum(rows, a0), 0, 1)
    level = level * _along(printed.strength, share, 1.0)
    half = stroke.width / 2 * np.hypot(a1 - a0, b1 - b0) / (a1 - a0)
    left = max(floor(float(centre.min()) - half), 0)
    right = min(ceil(float(centre.max()) + half), turned.shape[1])
    columns = np.arange(left, max(right, left), dtype=np.float32)
    from_left = np.clip(columns[None] + 1 - (centre - half)[:, None], 0, 1)
    from_right = np.clip((centre + half)[:, None] - columns[None], 0, 1)
    cover = np.minimum(np.minimum(from_left, from_right), min(stroke.width, 1.0)) * level[:, None] * 255
    region = turned[int(rows[0]) : int(rows[-1]) + 1, left : max(right, left)]
    np.maximum(region, cover.astype(np.uint8), out=region)


def _along(samples: Floats | None, share: NDArray[np.floating], default: float) -> NDArray[np.float64]:
    """Values at these shares of a stroke's length."""
    if samples is None:
        return np.full(len(share), default)
    values: NDArray[np.float64] = np.interp(share, np.linspace(0, 1, len(samples)), samples)
    return values


def _add_patch(canvas: Pixels, patch: Patch) -> None:
    x0, y0, x1, y1 = bounds(patch.points)
    left, top = floor(x0), floor(y0)
    image = Image.new("L", ((ceil(x1) - left + 1) * _FINE, (ceil(y1) - top + 1) * _FINE))
    outline = [((x - left) * _FINE - 0.5, (y - top) * _FINE - 0.5) for x, y in patch.points]
    ImageDraw.Draw(image).polygon(outline, fill=255)
    _blend(canvas, np.asarray(image.reduce(_FINE)), left, top)


def _add_mark(canvas: Pixels, mark: Mark) -> None:
    (x, y), r = mark.centre, mark.radius
    left, top = floor(x - r), floor(y - r)
    side = (ceil(2 * r) + 2) * _FINE
    image = Image.new("L", (side, side))
    cx, cy, radius = (x - left) * _FINE - 0.5, (y - top) * _FINE - 0.5, r * _FINE
    box = (cx - radius, cy - radius, cx + radius, cy + radius)
    draw = ImageDraw.Draw(image)
    if mark.shape == "ring":
        draw.ellipse(box, outline=255, width=max(round(radius * 0.28), _FINE))
    else:
        draw.ellipse(box, fill=255)
    _blend(canvas, np.asarray(image.reduce(_FINE)), left, top)


def weight_changes(composition: Composition, fonts: FontBook) -> dict[int, float]:
    """For each face but the page's own: from -1 (thinned by a full step) over 0 to 1 (thickened)."""
    faces = Counter(composition.faces.tolist())
    if len(faces) < 2:
        return {}
    own = faces.most_common(1)[0][0]
    wanted = _thickness(_sample_masks(composition, fonts, own))
    return {
        face: _step_share(_sample_masks(composition, fonts, face), wanted) for face in faces if face != own
    }


def _sample_masks(composition: Composition, fonts: FontBook, face: int) -> list[Pixels]:
    """Some of the page's glyphs in this face: the page's own characters, so that nothing else is drawn."""
    drawn = (char for char, by in zip(composition.text, composition.faces, strict=True) if by == face)
    chars = islice(dict.fromkeys(drawn), WEIGHT_SAMPLE)
    return [glyph_mask(fonts.faces[face], char, WEIGHT_SIZE) for char in chars]


def _thickness(masks: list[Pixels]) -> float:
    """How thick strokes are, in pixels: ink over half its outline, whatever the characters are.

    Two faces may share no character (one has only the extensions), so amounts of ink cannot be compared.
    """
    ink = edge = 0.0
    for mask in masks:
        cover = mask.astype(np.float32) / 255
        ink += float(cover.sum())
        edge += float(np.abs(np.diff(cover, axis=0)).sum() + np.abs(np.diff(cover, axis=1)).sum())
    return 2 * ink / max(edge, 1e-6)


def _step_share(masks: list[Pixels], wanted: float) -> float:
    """The share of a full step that brings these glyphs' strokes to the wanted thickness."""
    now = _thickness(masks)
    sign = 1.0 if wanted > now else -1.0
    whole = _thickness([change_weight(mask, WEIGHT_SIZE, sign) for mask in masks])
    if abs(whole - now) < 1e-6:
        return 0.0
    return sign * float(np.clip((wanted - now) / (whole - now), 0.0, 1.0))


def change_weight(mask: Pixels, size: int, change: float) -> Pixels:
    """Strokes thicker by up to a twenty-fifth of the em where `change` is positive, or else thinner."""
    if abs(change) < 0.05:
        return mask
    reach = 2 * max(round(size * 0.02), 1) + 1
    how = ImageFilter.MaxFilter(reach) if change > 0 else ImageFilter.MinFilter(reach)
    image = Image.fromarray(mask)
    # Thinning all the way would lose hairlines.
    return np.asarray(Image.blend(image, image.filter(how), min(abs(change), 1.0 if change > 0 else 0.6)))
