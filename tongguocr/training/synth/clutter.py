"""Clutter on a page: a library's large seals, slips with bar codes, the binding's thread, shadows.

`sample_clutter` draws it into a `Degradation`; `add_clutter` lays it on the printed sheet. All of it comes
from a random stream of its own, so that pages without clutter are painted as if there were none, and
`place_seals` tells where the seals of a page lie without painting it. Nothing here is text: slips lie where
no character is, seals lie over the text, which stays in the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw

from tongguocr.geometry import Box
from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Composition, Floats
from tongguocr.training.synth.degradation import Colour, Degradation, Ground
from tongguocr.training.synth.fields import Shape, blurred, smooth_noise, soft_step
from tongguocr.training.synth.fonts import FontBook, glyph_mask
from tongguocr.training.synth.ink import as_floats
from tongguocr.training.synth.seals import REDS, SMALLEST, Outline, cut_seal, fill_cell
from tongguocr.training.synth.surroundings import barcode, chart_strip, shelf_mark, stitches

CLUTTERED_KINDS = ("reprint", "verse", "glosses", "cut-leaf")
"""Kinds of page whose degradation brings clutter; the first part of the benchmark has none."""
GREYS: tuple[Colour, ...] = ((110, 108, 106), (70, 70, 72), (24, 24, 26), (112, 104, 168))
"""Seals in ink, or in red on a scan without colour; the violet of modern stamps."""
OUTLINES: tuple[Outline, ...] = ("box", "rounded", "oval", "gourd")
SIDES = (0.14, 0.5)
"""The longer side of a library's seal, in shares of the page's shorter one."""
WORDS = (
    "藏書之印",
    "圖書館藏",
    "文庫之印",
    "書院藏書之印",
    "山房珍藏書籍",
    "國立圖書館藏書印",
    "大學圖書館藏書之印",
)
"""What libraries' seals say."""
_PLACES, _PAINT = 21, 22
"""Random streams of a page's seed: where seals lie, and how all clutter looks."""


@dataclass(frozen=True, slots=True)
class SealPlace:
    """A large seal on the flat page."""

    box: Box
    outline: Outline
    intaglio: bool


def sample_clutter(rng: np.random.Generator, degradation: Degradation) -> Degradation:
    """The degradation with clutter added: each thing on some pages, several on few."""
    seals = int(rng.choice([0, 1, 2], p=[0.45, 0.4, 0.15]))
    red = rng.random() < 0.6
    inks = REDS if red else GREYS
    ink = inks[int(rng.integers(len(inks)))]
    bleed = float(rng.uniform(0.4, 0.8)) if rng.random() < 0.25 else degradation.bleed
    stitched = int(rng.choice([-1, 1])) if rng.random() < 0.25 else 0
    slips = int(rng.choice([1, 2])) if rng.random() < 0.3 else 0
    shadow = float(rng.uniform(0.15, 0.5)) if rng.random() < 0.25 else 0.0
    changed = replace(
        degradation,
        large_seals=seals,
        seal_ink=ink,
        bleed=bleed,
        stitched=stitched,
        slips=slips,
        shadow=shadow,
    )
    if changed.film == "none" and rng.random() < 0.25:
        ground: Ground = "none" if changed.ground == "none" else "black"
        return replace(changed, film="binary", ground=ground, ruler=False, chart=False)
    return changed


def place_seals(shape: Shape, degradation: Degradation, seed: int) -> tuple[SealPlace, ...]:
    """Where a page's large seals lie: anywhere on it, over text or not."""
    rng = np.random.default_rng([seed, _PLACES])
    places = [_place(shape, rng) for _ in range(degradation.large_seals)]
    return tuple(place for place in places if place.box[2] - place.box[0] >= SMALLEST)


def _place(shape: Shape, rng: np.random.Generator) -> SealPlace:
    height, width = shape
    side = float(np.exp(rng.uniform(*np.log(SIDES)))) * min(shape)
    outline = OUTLINES[int(rng.choice(len(OUTLINES), p=[0.7, 0.12, 0.1, 0.08]))]
    wide = side * (0.65 if outline == "gourd" else float(rng.choice([1.0, 1.0, rng.uniform(0.45, 0.9)])))
    x, y = rng.uniform(0, width - wide), rng.uniform(0, height - side)
    return SealPlace((x, y, x + wide, y + side), outline, bool(outline == "box" and rng.random() < 0.25))


def add_clutter(
    planes: list[Floats],
    pad: int,
    composition: Composition,
    fonts: FontBook,
    degradation: Degradation,
    em: float,
    seed: int,
) -> None:
    """Lay all clutter on the sheet's planes (red, green, blue from 0 to 1), `pad` wider than the page."""
    rng = np.random.default_rng([seed, _PAINT])
    shape = (composition.height, composition.width)
    inner = [plane[pad : pad + shape[0], pad : pad + shape[1]] for plane in planes]
    for place in place_seals(shape, degradation, seed):
        _press(inner, place, composition, fonts, degradation, rng)
    for _ in range(degradation.slips):
        _lay_slip(inner, composition, em, rng)
    if degradation.stitched:
        _sew(inner, degradation, em, rng)
    if degradation.shadow:
        _shade(planes, degradation.shadow, em, rng)


def _press(
    inner: list[Floats],
    place: SealPlace,
    composition: Composition,
    fonts: FontBook,
    degradation: Degradation,
    rng: np.random.Generator,
) -> None:
    """One seal in transparent colour: black stays black below it."""
    x0, y0, x1, y1 = (round(v) for v in place.box)
    face = _cut(place, (x1 - x0, y1 - y0), composition, fonts, rng)
    turned = Image.fromarray(face).rotate(float(rng.normal(0, 1.5)), Image.Resampling.BILINEAR)
    # A full face, white on dark, must leave the text below it some light.
    strength = rng.uniform(0.25, 0.75 if place.intaglio else 0.97)
    torn = degradation.film == "binary" or rng.random() < 0.2
    density = as_floats(blurred(np.asarray(turned), 0.8)) * np.float32(strength)
    density *= _left_over((face.shape[0], face.shape[1]), torn, rng)
    for plane, value in zip(inner, degradation.seal_ink, strict=True):
        region = plane[y0 : y0 + density.shape[0], x0 : x0 + density.shape[1]]
        region *= np.float32(1) - density[: region.shape[0], : region.shape[1]] * np.float32(1 - value / 255)


def _left_over(shape: Shape, torn: bool, rng: np.random.Generator) -> Floats:
    """How much ink is where: nearly even, or fragments and speckle."""
    scales = (1.5, 4.0, max(0.05 * shape[0], 2.0), max(0.25 * shape[0], 3.0))
    weights = (0.6, 0.5, 0.5, 0.6)
    noise = np.zeros(shape, np.float32)
    for scale, weight in zip(scales, weights, strict=True):
        noise += np.float32(weight) * smooth_noise(rng, shape, scale)
    if torn:
        level = float(rng.uniform(-0.7, 0.6))
        return soft_step(noise, level - 0.12, level + 0.12)
    return np.clip(np.float32(0.9) + np.float32(0.12) * noise, 0.15, 1)


def _cut(
    place: SealPlace,
    size: tuple[int, int],
    composition: Composition,
    fonts: FontBook,
    rng: np.random.Generator,
) -> Pixels:
    """The seal's face: a library's words with a thick border."""
    face, words = _face_and_words(composition, fonts, rng)
    tall = size[0] < 0.6 * size[1] and place.outline != "gourd"
    columns = 1 if tall and len(words) < 6 else 3 if len(words) > 8 else 2
    side = min(size)
    rim = max(round(side * float(rng.uniform(0.02, 0.07))), 1)
    return cut_seal(
        size,
        len(words),
        columns,
        lambda k, em: _glyph(words[k], fonts, face, em),
        outline=place.outline,
        intaglio=place.intaglio,
        rim=rim,
        inset=rim + round(side * (0.14 if place.outline == "oval" else float(rng.uniform(0.01, 0.05)))),
        double=bool(not place.intaglio and rng.random() < 0.2),
    )


def _face_and_words(composition: Composition, fonts: FontBook, rng: np.random.Generator) -> tuple[int, str]:
    """Any face, held out only on a page in such a one; the page's characters where it lacks the words."""
    own = int(composition.faces[0]) if len(composition) else 0
    held_out = fonts.faces[own].held_out
    faces = [k for k, face in enumerate(fonts.faces) if face.held_out == held_out]
    face = faces[int(rng.integers(len(faces)))]
    words = [w for w in WORDS if all(fonts.face_for(char, face) is not None for char in w)]
    if words or not len(composition):
        return face, words[int(rng.integers(len(words)))] if words else ""
    picked = rng.integers(len(composition), size=int(rng.choice([4, 6, 9])))
    return face, "".join(composition.text[int(k)] for k in picked)


def _glyph(char: str, fonts: FontBook, face: int, em: int) -> Pixels | None:
    drawn_by = fonts.face_for(char, face)
    return None if drawn_by is None else fill_cell(glyph_mask(fonts.faces[drawn_by], char, em))


def _lay_slip(inner: list[Floats], composition: Composition, em: float, rng: np.random.Generator) -> None:
    """A bar code, a shelf mark or a colour chart where no character is; none where there is no room."""
    height, width = inner[0].shape
    wide = round(em * float(rng.uniform(2.5, 7.0)))
    make = (barcode, shelf_mark, chart_strip)[int(rng.choice(3, p=[0.45, 0.35, 0.2]))]
    slip = make((max(wide, 24), max(round(wide * float(rng.uniform(0.22, 0.5))), 10)), rng).convert("RGB")
    if rng.random() < 0.4:
        slip = slip.transpose(Image.Transpose.ROTATE_90)
    if slip.width >= width or slip.height >= height:
        return
    boxes = composition.boxes
    for _ in range(60):
        x, y = int(rng.integers(width - slip.width)), int(rng.integers(height - slip.height))
        apart = (boxes[:, 0] > x + slip.width) | (boxes[:, 2] < x)
        apart |= (boxes[:, 1] > y + slip.height) | (boxes[:, 3] < y)
        if apart.all():
            pixels = as_floats(np.asarray(slip))
            for k, plane in enumerate(inner):
                plane[y : y + slip.height, x : x + slip.width] = pixels[..., k] * np.float32(0.96)
            return


def _sew(inner: list[Floats], degradation: Degradation, em: float, rng: np.random.Generator) -> None:
    """Holes and thread at the bound edge."""
    height, width = inner[0].shape
    sewn = stitches((height, width), em, degradation.stitched > 0, rng)
    holes, thread = Image.new("L", (width, height)), Image.new("L", (width, height))
    colour = ((214, 204, 180), (70, 60, 52), (120, 104, 84))[int(rng.integers(3))]
    line, dot = ImageDraw.Draw(thread), ImageDraw.Draw(holes)
    for way in sewn.thread:
        line.line(way, fill=255, width=max(round(sewn.radius * 1.2), 1))
    for x, y in sewn.holes:
        dot.ellipse((x - sewn.radius, y - sewn.radius, x + sewn.radius, y + sewn.radius), fill=235)
    for mask, ink in ((thread, colour), (holes, (26, 22, 18))):
        density = as_floats(blurred(np.asarray(mask), 0.6))
        for plane, value in zip(inner, ink, strict=True):
            plane += (np.float32(value / 255) - plane) * density


def _shade(planes: list[Floats], depth: float, em: float, rng: np.random.Generator) -> None:
    """A shadow that falls on the page from one side: of a bent leaf, of a stand, of a hand."""
    height, width = planes[0].shape
    y, x = np.ogrid[:height, :width]
    turn = float(rng.choice([0.0, 0.5, 1.0, 1.5]) + rng.normal(0, 0.08)) * np.pi
    along = (x - width / 2) * np.cos(turn) + (y - height / 2) * np.sin(turn)
    edge = float(rng.uniform(0.15, 0.4)) * min(height, width)
    soft = em * float(rng.uniform(0.3, 3.0))
    dark = soft_step(along.astype(np.float32), edge - soft, edge + soft)
    for plane in planes:
        plane *= np.float32(1) - np.float32(depth) * dark
