"""A page's picture inside a PDF: an image file, a JPEG's bytes or pixels in, an image object out.

A JPEG file goes in as it is, byte for byte, whatever its EXIF orientation and however the page was turned to
be read; all other pixels are stored without loss.
"""

from __future__ import annotations

import io
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from tongguocr.files import read_bytes
from tongguocr.formats.pdf.file import PdfFile
from tongguocr.page import Pixels, turn_pixels
from tongguocr.sources import load_pixels

_COLOUR = {"L": "/DeviceGray", "RGB": "/DeviceRGB"}
_ORIENTATION_TAG = 0x0112
_UPRIGHT = (1, 0, 0, 1, 0, 0)
_TURNS: dict[int, tuple[int, ...]] = {
    2: (-1, 0, 0, 1, 1, 0),
    3: (-1, 0, 0, -1, 1, 1),
    4: (1, 0, 0, -1, 0, 1),
    5: (0, -1, -1, 0, 1, 1),
    6: (0, -1, 1, 0, 0, 1),
    7: (0, 1, 1, 0, 0, 0),
    8: (0, 1, -1, 0, 1, 0),
}
"""How each EXIF orientation turns or mirrors the unit square, as a PDF matrix."""
_ORIENTATION_OF_ANGLE = {0: 1, 90: 6, 180: 3, 270: 8}
"""The EXIF orientation of a picture that must be turned clockwise by these degrees."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image object's stream, and how it lies in the unit square of the upright page."""

    data: bytes
    entries: str
    width: int
    height: int
    """The upright picture's size in pixels."""
    turn: tuple[int, ...] = _UPRIGHT


def picture_of_file(path: Path, angle: int = 0) -> Picture:
    """The picture in an image file, turned clockwise by the angle; a grey or RGB JPEG is not decoded."""
    try:
        picture = picture_of_jpeg(read_bytes(path), angle)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        picture = None  # Some other kind of image, perhaps; loading it tells.
    return picture or picture_of_pixels(turn_pixels(load_pixels(path), angle))


def picture_of_jpeg(data: bytes, angle: int = 0) -> Picture | None:
    """The picture in a grey or RGB JPEG file, not decoded, turned clockwise by the angle; else None."""
    # Pillow warns of very large images because decoding them takes memory; nothing is decoded here.
    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as image:
        if image.format != "JPEG" or image.mode not in _COLOUR:
            return None
        size: tuple[int, int] = image.size
        mode = image.mode
        orientation = image.getexif().get(_ORIENTATION_TAG, 1)
    # EXIF first, as when pixels are loaded.
    turn = _then(*(_TURNS.get(one, _UPRIGHT) for one in (orientation, _ORIENTATION_OF_ANGLE[angle])))
    entries = f"{_entries(*size, mode)} /Filter /DCTDecode"
    upright = size[::-1] if turn[0] == 0 else size
    return Picture(data, entries, *upright, turn)


def _then(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """One PDF matrix that does what the two do one after the other."""
    a, b, c, d, e, f = second
    moved = [(x * a + y * c, x * b + y * d) for x, y in (first[:2], first[2:4], first[4:])]
    (p, q), (r, s), (t, u) = moved
    return (p, q, r, s, t + e, u + f)


def picture_of_pixels(pixels: Pixels) -> Picture:
    """Pixels without loss: each row as its difference from the row above, which packs scans far better."""
    height, width = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    differences = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))
    up = np.full((height, 1), 2, dtype=np.uint8)
    mode = "L" if pixels.ndim == 2 else "RGB"
    colours = 1 if mode == "L" else 3
    predictor = f"/Predictor 12 /Colors {colours} /BitsPerComponent 8 /Columns {width}"
    entries = f"{_entries(width, height, mode)} /Filter /FlateDecode /DecodeParms << {predictor} >>"
    return Picture(zlib.compress(np.hstack((up, differences)).tobytes()), entries, width, height)


def add_picture(pdf: PdfFile, picture: Picture) -> int:
    """Write the picture and return its object's number."""
    return pdf.add_stream(picture.data, picture.entries, compress=False)


def _entries(width: int, height: int, mode: str) -> str:
    size = f"/Width {width} /Height {height} /BitsPerComponent 8"
    return f"/Type /XObject /Subtype /Image {size} /ColorSpace {_COLOUR[mode]}"
