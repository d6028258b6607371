"""Images of any mode -> 8-bit grey or RGB, whatever numbers their pixels are.

In: an image as Pillow opens it. Out: an image of the mode L or RGB. Eight bits stay as they are; more bits,
and numbers with decimals, are scaled by the range that they use, since no file says how much of it counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

WHITE = 255
FEWEST_BITS = 8


def eight_bit(image: Image.Image) -> Image.Image:
    """Grey stays grey, more bits become 8, transparency lies on white paper, all else becomes RGB."""
    if image.mode == "F":
        return Image.fromarray(scale_decimals(np.asarray(image)))
    if image.mode.startswith("I"):
        return Image.fromarray(scale_integers(np.asarray(image)))
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image if image.mode in ("L", "RGB") else image.convert("L" if image.mode == "1" else "RGB")


def scale_integers(values: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Whole numbers from 0 to the most that their bits can say: 12 bits in 16 are scaled as 12.

    The bits are those that the largest number needs, so that a blank page's paper does not become ink.
    """
    low = min(int(values.min(initial=0)), 0)
    bits = max((int(values.max(initial=0)) - low).bit_length(), FEWEST_BITS)
    factor = np.float32(WHITE / (2**bits - 1))
    return _rounded((values - np.float32(low)) * factor)


def scale_decimals(values: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Numbers with decimals from their least to their most; what is no number is paper."""
    finite = np.isfinite(values)
    low = float(values.min(where=finite, initial=np.inf))
    high = float(values.max(where=finite, initial=-np.inf))
    if not low < high:
        return np.full(values.shape, WHITE, np.uint8)
    # Halves: the range of the largest numbers is itself too large for a number.
    scaled = (values / 2.0 - low / 2.0) * (WHITE / (high / 2.0 - low / 2.0))
    return _rounded(np.nan_to_num(scaled, nan=WHITE, posinf=WHITE, neginf=0.0))


def _rounded(values: NDArray[np.floating]) -> NDArray[np.uint8]:
    return values.clip(0, WHITE).round().astype(np.uint8)
