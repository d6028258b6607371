"""Weight: one block has one hand, so a character that another face stands in for must not look borrowed.

A composition and the font book come in. For every face that stands in on the page, the share by which its
strokes are to be thickened or thinned goes out.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
from PIL import Image, ImageFilter

from tongguocr.page import Pixels
from tongguocr.training.synth.composition import Composition
from tongguocr.training.synth.fonts import FontBook, glyph_mask

_SAMPLE = 10
"""Characters compared."""
_SIZE = 64


def weight_changes(composition: Composition, fonts: FontBook) -> dict[int, float]:
    """For each face but the page's own: from -1 (thinned by a full step) over 0 to 1 (thickened)."""
    faces = Counter(composition.faces.tolist())
    if len(faces) < 2:
        return {}
    own = faces.most_common(1)[0][0]
    wanted = _thickness(_masks(composition, fonts, own))
    return {face: _change(_masks(composition, fonts, face), wanted) for face in faces if face != own}


def _masks(composition: Composition, fonts: FontBook, face: int) -> list[Pixels]:
    """Some of the page's glyphs in this face: the page's own characters, so that nothing else is drawn."""
    drawn = (char for char, by in zip(composition.text, composition.faces, strict=True) if by == face)
    chars = islice(dict.fromkeys(drawn), _SAMPLE)
    return [glyph_mask(fonts.faces[face], char, _SIZE) for char in chars]


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


def _change(masks: list[Pixels], wanted: float) -> float:
    """The share of a full step that brings these glyphs' strokes to the wanted thickness."""
    now = _thickness(masks)
    sign = 1.0 if wanted > now else -1.0
    whole = _thickness([change_weight(mask, _SIZE, sign) for mask in masks])
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
