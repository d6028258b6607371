"""Image files -> pixels, and where a page's image lies: for everything that needs one.

In: a path. Out: 8-bit grey or RGB pixels, upright, whatever the file's mode. A file that is no image, is cut
off, or would unpack to more than a few hundred megapixels gives one sentence.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tongguocr.errors import InputError
from tongguocr.page import Pixels

MAX_PIXELS = 256_000_000
"""A 200-megapixel scan of a map or a large rubbing still opens; a 40,000-pixel bomb does not."""
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".jp2", ".webp", ".bmp", ".gif")


def load_pixels(path: Path) -> Pixels:
    """The image's pixels: height x width where it is grey, height x width x 3 otherwise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise InputError(
                        f"{path}: the image is {image.width} x {image.height} pixels, more than the"
                        f" {MAX_PIXELS // 1_000_000} megapixels that are read."
                    )
                return np.asarray(_eight_bit(ImageOps.exif_transpose(image)))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except Image.DecompressionBombError:
        raise InputError(f"{path}: the image is too large to read.") from None
    except UnidentifiedImageError:
        raise InputError(f"{path}: not an image that can be read.") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{path}: the image is damaged ({error}).") from None


def image_size(path: Path) -> tuple[int, int]:
    """Width and height from the image's header; the pixels are not decoded."""
    try:
        with warnings.catch_warnings():
            # Pillow warns of very large images because decoding them takes memory; nothing is decoded here.
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                return image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise InputError(f"{path}: the image cannot be read.") from None


def image_named(folder: Path, stem: str) -> Path | None:
    """The image of this name in a folder, whatever its type."""
    spelled = (folder / f"{stem}{s}" for suffix in IMAGE_SUFFIXES for s in (suffix, suffix.upper()))
    return next((path for path in spelled if path.is_file()), None)


def find_image(name: str, annotation: Path) -> Path | None:
    """The image that an annotation file speaks of: the name it gives, or its own, beside it; else None."""
    named = annotation.parent / Path(name).name
    return named if Path(name).name and named.is_file() else image_named(annotation.parent, annotation.stem)


def _eight_bit(image: Image.Image) -> Image.Image:
    """Grey stays grey, 16 bits become 8, transparency lies on white paper, all else becomes RGB."""
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float64)
        top = 65535.0 if image.mode.startswith("I") and values.max(initial=0) > 255 else 255.0
        return Image.fromarray((values.clip(0, top) * (255.0 / top)).astype(np.uint8))
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image if image.mode == "L" else image.convert("L" if image.mode == "1" else "RGB")
