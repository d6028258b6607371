"""What pictures a model was trained on: a small file in its folder, which training writes and reading obeys.

In: a block and these settings. Out: its picture at the size the model sees. Without the file a model is read
as the paper's is: square canvases of at most 1024 x 1024 pixels.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from tongguocr.engines.base import BlockInput
from tongguocr.engines.glm.processor import ProcessorConfig, scale_picture
from tongguocr.engines.prepare import Scaling, prepare
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes, write_bytes
from tongguocr.page import Pixels

FILE = "reading.json"


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """What pictures were like in training."""

    square: bool = True
    """Blocks on their square canvas, or without its padding."""
    side: int = 1024
    """Pictures have at most side x side pixels."""
    character: float = 0.0
    """Pixels of a character's height that pictures are scaled to; 0: as large as the scan has them."""

    def picture_of(self, block: BlockInput, processor: ProcessorConfig) -> Pixels:
        """A block as the model sees it: height x width x 3."""
        if self.character:
            scaling = replace(Scaling(), character=self.character, longest=self.side // 16 * 16)
            grey = np.rint(prepare(block, scaling).picture * 255).astype(np.uint8)
            return scale_picture(grey, processor)
        return scale_picture(block_pixels(block, self.square), processor.within(self.side))


def block_pixels(block: BlockInput, square: bool) -> Pixels:
    """A block's whole canvas, or its region alone, without the canvas's padding."""
    crop = block.crop
    if square:
        return crop.pixels
    x0, y0, x1, y1 = (round(value) for value in crop.to_canvas(crop.region))
    return crop.pixels[y0:y1, x0:x1]


def save_image_settings(settings: ImageSettings, folder: Path) -> None:
    """Write the settings into a model's folder."""
    write_bytes((json.dumps(asdict(settings)) + "\n").encode(), folder / FILE)


def load_image_settings(folder: Path) -> ImageSettings:
    """The settings in a model's folder, or those of the paper."""
    path = folder / FILE
    if not path.exists():
        return ImageSettings()
    try:
        held = json.loads(decode_utf8(read_bytes(path), path))
        return ImageSettings(bool(held["square"]), int(held["side"]), float(held["character"]))
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path}: this is not a note on how a model is shown pages.") from None
