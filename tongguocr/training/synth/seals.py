"""Seals: red squares and ovals with two to four characters, pressed on the page long after the printing.

A font book, a size and a generator come in, a mask of red ink from 0 to 255 goes out. Relief seals print
the characters in red, intaglio seals leave them white.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Composition, Floats
from tongguocr.training.synth.degradation import Colour
from tongguocr.training.synth.fields import Shape, blurred, smooth_noise, soft_step
from tongguocr.training.synth.fonts import FontBook, glyph_mask
from tongguocr.training.synth.ink import as_floats

REDS: tuple[Colour, ...] = ((176, 42, 34), (190, 62, 44), (158, 48, 48), (200, 84, 62))
"""Cinnabar paste, from fresh to faded."""
_SMALLEST = 8
"""A page too small for a seal of this many pixels gets none."""
_WORDS = ("之印", "藏書", "圖書", "珍藏", "書院藏書", "讀書樂趣", "山房藏書", "校書之印", "文庫", "藏書之印")
"""What collectors' seals say."""


def seal_layer(
    shape: Shape, count: int, fonts: FontBook, composition: Composition, em: float, rng: np.random.Generator
) -> Floats:
    """All seals of a page: density of red, 0 to 1."""
    layer = np.zeros(shape, np.uint8)
    for _ in range(count):
        side = int(min(max(em * rng.uniform(1.3, 3.2), 16), 0.45 * min(shape)))
        if side < _SMALLEST:
            continue
        seal = _make_seal(side, fonts, composition, rng)
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


def _make_seal(side: int, fonts: FontBook, composition: Composition, rng: np.random.Generator) -> Pixels:
    """One seal, turned a little, unevenly inked."""
    oval = rng.random() < 0.25
    intaglio = not oval and rng.random() < 0.45
    face = _seal_face(fonts, composition, rng)
    words = _words(fonts, face, composition, rng)
    tall = oval or len(words) <= 2 or rng.random() < 0.15
    width, height = (round(side * 0.62), side) if tall else (side, side)
    image = Image.new("L", (width, height), 0)
    rim = max(round(side * 0.045), 1)
    draw = ImageDraw.Draw(image)
    outline = draw.ellipse if oval else draw.rectangle
    outline((0, 0, width - 1, height - 1), fill=255 if intaglio else 0, outline=255, width=rim)
    inset = rim + (round(side * 0.09) if oval else 1)
    letters = _letters(words, fonts, face, (width - 2 * inset, height - 2 * inset), 1 if tall else 2)
    carved = np.asarray(image).copy()
    place = carved[inset : inset + letters.shape[0], inset : inset + letters.shape[1]]
    if intaglio:
        np.minimum(place, 255 - letters, out=place)
    else:
        np.maximum(place, letters, out=place)
    return _pressed(carved, side, rng)


def _words(fonts: FontBook, face: int, composition: Composition, rng: np.random.Generator) -> str:
    """A collector's words, or the page's own characters where the fonts lack them."""
    words = [w for w in _WORDS if all(fonts.face_for(char, face) is not None for char in w)]
    if words or not len(composition):
        return words[int(rng.integers(len(words)))] if words else ""
    count = int(rng.integers(2, 5))
    return "".join(composition.text[int(k)] for k in rng.integers(len(composition), size=count))


def _seal_face(fonts: FontBook, composition: Composition, rng: np.random.Generator) -> int:
    """A brush face where there is one; a held-out one only on a page in a held-out face."""
    own = int(composition.faces[0]) if len(composition) else 0
    held_out = fonts.faces[own].held_out
    alike = [k for k, f in enumerate(fonts.faces) if f.group == "brush" and f.held_out == held_out]
    return alike[int(rng.integers(len(alike)))] if alike else own


def _letters(words: str, fonts: FontBook, face: int, size: tuple[int, int], columns: int) -> Pixels:
    """The characters in columns from the right."""
    width, height = max(size[0], 1), max(size[1], 1)
    rows = max(-(-len(words) // columns), 1)
    w, h = width / columns, height / rows
    em = max(round(max(w, h)), 4)
    image = Image.new("L", (width, height))
    for k, char in enumerate(words):
        drawn_by = fonts.face_for(char, face)
        if drawn_by is None:
            continue
        mask = Image.fromarray(glyph_mask(fonts.faces[drawn_by], char, em))
        margin = (mask.width - em) // 2
        mask = mask.crop((margin, margin, mask.width - margin, mask.height - margin))
        place = (round(width - w * (k // rows + 1)), round(k % rows * h))
        image.paste(mask.resize((max(round(w), 1), max(round(h), 1))), place)
    return np.asarray(image)


def _pressed(carved: Pixels, side: int, rng: np.random.Generator) -> Pixels:
    """Turned by a few degrees, with worn edges, thin and blotchy ink."""
    angle = float(rng.normal(0, 2.5))
    turned = Image.fromarray(carved).rotate(angle, Image.Resampling.BILINEAR, expand=True)
    soft = blurred(np.asarray(turned), max(side * 0.008, 0.5)).astype(np.float32)
    shape = (soft.shape[0], soft.shape[1])
    blotches = 0.5 + 0.2 * smooth_noise(rng, shape, side * 0.06) + 0.12 * smooth_noise(rng, shape, 1.5)
    fade = rng.uniform(0.5, 0.95) * np.clip(0.9 + 0.25 * smooth_noise(rng, shape, side * 0.5), 0.25, 1)
    density = soft_step(soft / 255 - blotches.astype(np.float32) * np.float32(0.55), 0.0, 0.3) * fade
    pressed: Pixels = (density * 255).astype(np.uint8)
    return pressed
