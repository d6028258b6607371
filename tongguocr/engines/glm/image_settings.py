"""How a model wants to be shown pages: a small file in its folder, which training writes and reading obeys.

Without the file a model is read as the paper's is: square canvases of at most 1024 x 1024 pixels.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from tongguocr.engines.base import BlockInput
from tongguocr.engines.glm.processor import Vision, scale_picture
from tongguocr.engines.prepare import Scaling, prepare
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes, write_bytes
from tongguocr.geometry import Box
from tongguocr.page import Pixels

FILE = "reading.json"


@dataclass(frozen=True, slots=True)
class Manner:
    """What pictures were like in training."""

    square: bool = True
    """Blocks on their square canvas, or without its padding."""
    side: int = 1024
    """Pictures have at most side x side pixels."""
    character: float = 0.0
    """Pixels of a character's height that pictures are scaled to; 0: as large as the scan has them."""

    def show(self, block: BlockInput, vision: Vision) -> tuple[Pixels, Box]:
        """The picture of a block as the model sees it, and where it lies on the page."""
        if self.character:
            scaling = replace(Scaling(), character=self.character, longest=self.side // 16 * 16)
            prepared = prepare(block, scaling)
            high, wide = prepared.picture.shape
            place = (*prepared.to_page((0, 0)), *prepared.to_page((wide, high)))
            grey = np.rint(prepared.picture * 255).astype(np.uint8)
            return scale_picture(grey, vision), place
        pixels, place = shown_pixels(block, self.square)
        return scale_picture(pixels, vision.within(self.side)), place


def shown_pixels(given: BlockInput, square: bool) -> tuple[Pixels, Box]:
    """What of a block is looked at, and where it lies on the page: its canvas, or its region alone."""
    crop = given.crop
    high, wide = crop.pixels.shape[:2]
    if square:
        return crop.pixels, crop.to_page((0, 0, wide, high))
    x0, y0, x1, y1 = (round(value) for value in crop.to_canvas(crop.region))
    return crop.pixels[y0:y1, x0:x1], crop.region


def write_manner(manner: Manner, folder: Path) -> None:
    write_bytes((json.dumps(asdict(manner)) + "\n").encode(), folder / FILE)


def read_manner(folder: Path) -> Manner:
    path = folder / FILE
    if not path.exists():
        return Manner()
    try:
        held = json.loads(decode_utf8(read_bytes(path), path))
        return Manner(bool(held["square"]), int(held["side"]), float(held["character"]))
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path}: this is not a note on how a model is shown pages.") from None
