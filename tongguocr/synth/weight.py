"""Weight: one block has one hand, so a character that another face stands in for must not look borrowed.

A composition and the font book come in. For every face that stands in on the page, the share by which its
strokes are to be thickened or thinned goes out, found on characters of the page that both faces draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageFilter

from tongguocr.page import Pixels
from tongguocr.synth.composition import Composition
from tongguocr.synth.fonts import FontBook, glyph_mask

_SAMPLE = 10
"""Characters compared."""
_SIZE = 64


def weight_changes(composition: Composition, fonts: FontBook) -> dict[int, float]:
    """For each face but the page's own: from -1 (thinned by a full step) over 0 to 1 (thickened)."""
    faces = Counter(composition.faces.tolist())
    if len(faces) < 2:
        return {}
    own = faces.most_common(1)[0][0]
    return {face: _change(composition, fonts, own, face) for face in faces if face != own}


def _change(composition: Composition, fonts: FontBook, own: int, face: int) -> float:
    chars = list(_common(composition, fonts, own, face))
    if not chars:
        return 0.0
    wanted = sum(_cover(glyph_mask(fonts.faces[own], char, _SIZE)) for char in chars)
    masks = [glyph_mask(fonts.faces[face], char, _SIZE) for char in chars]
    now = sum(map(_cover, masks))
    sign = 1.0 if wanted > now else -1.0
    whole = sum(_cover(change_weight(mask, _SIZE, sign)) for mask in masks)
    if abs(whole - now) < 1e-6:
        return 0.0
    return sign * float(np.clip((wanted - now) / (whole - now), 0.0, 1.0))


def _common(composition: Composition, fonts: FontBook, own: int, face: int) -> Iterator[str]:
    """Some of the page's characters that both faces draw."""
    found = 0
    for char in dict.fromkeys(composition.text):
        if fonts.faces[own].draws(char) and fonts.faces[face].draws(char):
            yield char
            found += 1
            if found == _SAMPLE:
                return


def _cover(mask: Pixels) -> float:
    return float(mask.mean())


def change_weight(mask: Pixels, size: int, change: float) -> Pixels:
    """Strokes thicker by up to a twenty-fifth of the em where `change` is positive, or else thinner."""
    if abs(change) < 0.05:
        return mask
    reach = 2 * max(round(size * 0.02), 1) + 1
    how = ImageFilter.MaxFilter(reach) if change > 0 else ImageFilter.MinFilter(reach)
    image = Image.fromarray(mask)
    # Thinning all the way would lose hairlines.
    return np.asarray(Image.blend(image, image.filter(how), min(abs(change), 1.0 if change > 0 else 0.6)))
