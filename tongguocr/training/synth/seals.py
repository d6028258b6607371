"""Owners' seals: squares, ovals and gourds with some characters, pressed on the page long after printing.

One function cuts every seal, `cut_seal`: a border, characters in columns, in relief (red characters) or
intaglio (white ones). What differs is where the characters come from and who presses it:

`seal_layer`  the CPU renderer's: collectors' words in a font of the book, where owners press them, one page
              at a time; turned, with worn edges and blotchy ink.
`make_seals`  the detector's: one to sixteen characters of any face of the atlas, since a machine that
              trains has no fonts. Masks are made once; gpu/seals.py turns, scales, tears and presses them by
              the thousand.

The recogniser's training blocks have no such mask: their seals show ink of another block (gpu/seals.py),
because blocks of real lines come without any atlas, and a reader only has to read on beneath them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from PIL import Image, ImageDraw

from tongguocr.page import Pixels
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Composition, Floats
from tongguocr.training.synth.degradation import Colour
from tongguocr.training.synth.fields import Shape, blurred, smooth_noise, soft_step
from tongguocr.training.synth.fonts import FontBook, glyph_mask
from tongguocr.training.synth.ink import as_floats

DrawGlyph: TypeAlias = Callable[[int, int], Pixels | None]
"""From a character's number on the seal and the em wanted to its mask; None leaves its place empty."""

Outline: TypeAlias = Literal["box", "rounded", "oval", "gourd"]
"""All but the last may be as wide as high or not; a gourd is a small circle upon a larger one."""

REDS: tuple[Colour, ...] = ((176, 42, 34), (190, 62, 44), (158, 48, 48), (200, 84, 62))
"""Cinnabar paste, from fresh to faded."""
MASK_SIDE = 160
"""Pixels of a mask of `make_seals`."""
SMALLEST = 8
"""A page too small for a seal of this many pixels gets none."""
WORDS = ("之印", "藏書", "圖書", "珍藏", "書院藏書", "讀書樂趣", "山房藏書", "校書之印", "文庫", "藏書之印")
"""What collectors' seals say."""
GRIDS = ((1, 1), (2, 1), (2, 1), (3, 1), (4, 1), (2, 2), (2, 2), (3, 2), (4, 2), (3, 3), (1, 2))
"""Rows and columns of characters on a seal of `make_seals`, those that are seen most several times."""
LIBRARY_GRIDS = ((2, 2), (2, 2), (3, 2), (3, 2), (3, 3), (3, 3), (3, 3), (4, 3), (4, 4), (5, 2), (4, 1))
"""The same of a library's seal, which is large."""


def cut_seal(
    size: tuple[int, int],
    count: int,
    columns: int,
    glyph: DrawGlyph,
    *,
    outline: Outline = "box",
    intaglio: bool,
    rim: int,
    inset: int,
    double: bool = False,
) -> Pixels:
    """A seal's face as it is cut, 255 where it prints: `size` is width and height in pixels.

    `count` characters stand in columns from the right, `inset` pixels from the edge; `rim` is the border's
    thickness, and a `double` border has a thin line inside. A gourd has its first character at the top.
    """
    width, height = size
    face = _blank(size, outline, intaglio, rim, double)
    if outline == "gourd" and count:
        lobes = [(0.33, 0.08, 0.67, 0.37), (0.2, 0.47, 0.8, 0.92)]
        above, below = ([round(v * s) for v, s in zip(lobe, (*size, *size), strict=True)] for lobe in lobes)
        _engrave(face, _letters(1, 1, glyph, _extent(above)), above[:2], intaglio)
        rest = _letters(count - 1, columns, lambda k, em: glyph(k + 1, em), _extent(below))
        _engrave(face, rest, below[:2], intaglio)
        return face
    letters = _letters(count, columns, glyph, (max(width - 2 * inset, 1), max(height - 2 * inset, 1)))
    _engrave(face, letters, (inset, inset), intaglio)
    return face


def _blank(size: tuple[int, int], outline: Outline, intaglio: bool, rim: int, double: bool) -> Pixels:
    """A seal without its characters: the border alone, or a full face."""
    width, height = size
    image = Image.new("L", size)
    draw = ImageDraw.Draw(image)
    if outline == "gourd":
        for edge, ink in ((0, 255), (rim, 255 if intaglio else 0)):
            draw.ellipse((0.17 * width + edge, edge, 0.83 * width - edge, 0.45 * height - edge), fill=ink)
            draw.ellipse((edge, 0.38 * height + edge, width - 1 - edge, height - 1 - edge), fill=ink)
        return np.asarray(image).copy()
    corner = partial(draw.rounded_rectangle, radius=0.12 * min(size))
    line = draw.ellipse if outline == "oval" else corner if outline == "rounded" else draw.rectangle
    line((0, 0, width - 1, height - 1), fill=255 if intaglio else 0, outline=255, width=rim)
    if double:
        line((2 * rim, 2 * rim, width - 1 - 2 * rim, height - 1 - 2 * rim), outline=255, width=1)
    return np.asarray(image).copy()


def _extent(box: Sequence[int]) -> tuple[int, int]:
    return max(box[2] - box[0], 1), max(box[3] - box[1], 1)


def _engrave(face: Pixels, letters: Pixels, corner: Sequence[int], intaglio: bool) -> None:
    """Cut letters into the face: left standing, or taken out of a full one."""
    x, y = corner
    place = face[y : y + letters.shape[0], x : x + letters.shape[1]]
    letters = letters[: place.shape[0], : place.shape[1]]
    if intaglio:
        np.minimum(place, 255 - letters, out=place)
    else:
        np.maximum(place, letters, out=place)


def _letters(count: int, columns: int, glyph: DrawGlyph, size: tuple[int, int]) -> Pixels:
    """The characters in columns from the right, each stretched to its cell."""
    rows = max(-(-count // columns), 1)
    w, h = size[0] / columns, size[1] / rows
    image = Image.new("L", size)
    for k in range(count):
        mask = glyph(k, max(round(max(w, h)), 4))
        if mask is not None:
            cell = Image.fromarray(mask).resize((max(round(w), 1), max(round(h), 1)))
            image.paste(cell, (round(size[0] - w * (k // rows + 1)), round(k % rows * h)))
    return np.asarray(image)


def seal_layer(
    shape: Shape, count: int, fonts: FontBook, composition: Composition, em: float, rng: np.random.Generator
) -> Floats:
    """All seals of a page for the CPU renderer: density of red, 0 to 1."""
    layer = np.zeros(shape, np.uint8)
    for _ in range(count):
        side = int(min(max(em * rng.uniform(1.3, 3.2), 16), 0.45 * min(shape)))
        if side < SMALLEST:
            continue
        seal = _owners_seal(side, fonts, composition, rng)
        x, y = _place(shape, seal.shape, composition, em, rng)
        region = layer[y : y + seal.shape[0], x : x + seal.shape[1]]
        np.maximum(region, seal[: region.shape[0], : region.shape[1]], out=region)
    return as_floats(layer)


def _place(
    shape: Shape, size: tuple[int, ...], composition: Composition, em: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Owners press at the first column's foot or head, or anywhere."""
    x0, y0, x1, y1 = composition.frame if composition.frame[2] > 0 else (0.0, 0.0, shape[1], shape[0])
    where = rng.random()
    if where < 0.6:
        x = x1 - size[1] * rng.uniform(0.6, 1.4) - 0.2 * em
        y = y1 - size[0] * rng.uniform(0.9, 1.6) if where < 0.4 else y0 - size[0] * rng.uniform(0.0, 1.0)
    else:
        x, y = rng.uniform(x0, x1), rng.uniform(y0, y1)
    left = int(np.clip(x, 0, max(shape[1] - size[1], 0)))
    return left, int(np.clip(y, 0, max(shape[0] - size[0], 0)))


def _owners_seal(side: int, fonts: FontBook, composition: Composition, rng: np.random.Generator) -> Pixels:
    """One seal with a collector's words, pressed."""
    oval = rng.random() < 0.25
    intaglio = not oval and rng.random() < 0.45
    face = _seal_face(fonts, composition, rng)
    words = _words(fonts, face, composition, rng)
    tall = oval or len(words) <= 2 or rng.random() < 0.15
    rim = max(round(side * 0.045), 1)
    seal = cut_seal(
        (round(side * 0.62), side) if tall else (side, side),
        len(words),
        1 if tall else 2,
        lambda k, em: _font_glyph(words[k], fonts, face, em),
        outline="oval" if oval else "box",
        intaglio=intaglio,
        rim=rim,
        inset=rim + (round(side * 0.09) if oval else 1),
    )
    return _pressed(seal, side, rng)


def _words(fonts: FontBook, face: int, composition: Composition, rng: np.random.Generator) -> str:
    """A collector's words, or the page's own characters where the fonts lack them."""
    words = [w for w in WORDS if all(fonts.face_for(char, face) is not None for char in w)]
    if words or not len(composition):
        return words[int(rng.integers(len(words)))] if words else ""
    count = int(rng.integers(2, 5))
    return "".join(composition.text[int(k)] for k in rng.integers(len(composition), size=count))


def _seal_face(fonts: FontBook, composition: Composition, rng: np.random.Generator) -> int:
    """A brush face where there is one; a held-out one only on a page in a held-out face."""
    own = int(composition.faces[0]) if len(composition) else 0
    held_out = fonts.faces[own].held_out
    brushes = [k for k, f in enumerate(fonts.faces) if f.group == "brush" and f.held_out == held_out]
    return brushes[int(rng.integers(len(brushes)))] if brushes else own


def _font_glyph(char: str, fonts: FontBook, face: int, em: int) -> Pixels | None:
    """The character's em box without the room for overhang around it."""
    drawn_by = fonts.face_for(char, face)
    if drawn_by is None:
        return None
    mask = glyph_mask(fonts.faces[drawn_by], char, em)
    margin = (len(mask) - em) // 2
    return mask[margin : len(mask) - margin, margin : len(mask) - margin]


def _pressed(seal: Pixels, side: int, rng: np.random.Generator) -> Pixels:
    """Turned by a few degrees, with worn edges, thin and blotchy ink."""
    angle = float(rng.normal(0, 2.5))
    turned = Image.fromarray(seal).rotate(angle, Image.Resampling.BILINEAR, expand=True)
    soft = blurred(np.asarray(turned), max(side * 0.008, 0.5)).astype(np.float32)
    shape = (soft.shape[0], soft.shape[1])
    blotches = 0.5 + 0.2 * smooth_noise(rng, shape, side * 0.06) + 0.12 * smooth_noise(rng, shape, 1.5)
    fade = rng.uniform(0.5, 0.95) * np.clip(0.9 + 0.25 * smooth_noise(rng, shape, side * 0.5), 0.25, 1)
    density = soft_step(soft / 255 - blotches.astype(np.float32) * np.float32(0.55), 0.0, 0.3) * fade
    pressed: Pixels = (density * 255).astype(np.uint8)
    return pressed


def library_share(count: int) -> int:
    """How many of so many masks are library seals: the last quarter."""
    return count // 4


def make_seals(count: int, seed: int, atlas: Atlas) -> Pixels:
    """Masks for the detector's training, count x MASK_SIDE x MASK_SIDE, a tall seal with empty sides.

    The last quarter are library seals, of more characters and thicker borders: they are pressed large.
    """
    rng = np.random.default_rng([seed, 6])
    first_library = count - library_share(count)
    return np.stack([_atlas_seal(atlas, k >= first_library, rng) for k in range(count)])


def _atlas_seal(atlas: Atlas, library: bool, rng: np.random.Generator) -> Pixels:
    """One seal with random characters, in the middle of its mask."""
    grids = LIBRARY_GRIDS if library else GRIDS
    rows, columns = grids[int(rng.integers(len(grids)))]
    outline = _pick_outline(rows, columns, rng)
    # Characters are as wide as high, give or take a quarter; two lobes take more height.
    shape = 0.65 if outline == "gourd" else columns / rows * float(rng.uniform(0.8, 1.25))
    wide, high = round(MASK_SIDE * min(shape, 1.0)), round(MASK_SIDE / max(shape, 1.0))
    intaglio = rng.random() < (0.25 if library else 0.4)
    rim = round(MASK_SIDE * float(rng.uniform(*((0.02, 0.07) if library else (0.012, 0.075)))))
    double = not intaglio and min(wide, high) > 8 * rim and rng.random() < 0.2
    inset = (
        rim + MASK_SIDE * float(rng.uniform(0.0, 0.05)) + (0.12 * min(wide, high) if outline == "oval" else 0)
    )
    filling = library or rng.random() < 0.5
    seal = cut_seal(
        (wide, high),
        rows * columns,
        columns,
        lambda k, em: _atlas_glyph(atlas, filling, rng),
        outline=outline,
        intaglio=intaglio,
        rim=max(rim, 1),
        inset=round(inset),
        double=double,
    )
    left, top = (MASK_SIDE - wide) // 2, (MASK_SIDE - high) // 2
    mask = np.pad(seal, ((top, MASK_SIDE - high - top), (left, MASK_SIDE - wide - left)))
    uneven = 1 + 0.25 * smooth_noise(rng, mask.shape, 20.0) + 0.15 * smooth_noise(rng, mask.shape, 2.0)
    pressed: Pixels = (mask * np.clip(uneven, 0.1, 1.0)).astype(np.uint8)
    return pressed


def _pick_outline(rows: int, columns: int, rng: np.random.Generator) -> Outline:
    """Tall seals are often oval; few of the others are round, or gourds, or have round corners."""
    kind = rng.random()
    if kind < (0.3 if columns == 1 and rows > 1 else 0.08):
        return "oval"
    if 0.86 < kind < 0.94:
        return "rounded"
    return "gourd" if rows * columns > 1 and kind > 0.94 else "box"


def _atlas_glyph(atlas: Atlas, filling: bool, rng: np.random.Generator) -> Pixels:
    """Any glyph; `filling` its cell to the edges, as seal script does."""
    mask = atlas.random_mask(rng)
    return fill_cell(mask) if filling else mask


def fill_cell(mask: Pixels) -> Pixels:
    """A glyph without most of the room around its ink: on a seal it is stretched to its cell."""
    if not mask.any():
        return mask
    down, across = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    ink = mask[down[0] : down[-1] + 1, across[0] : across[-1] + 1]
    return np.pad(ink, max(len(ink) // 14, 1))
