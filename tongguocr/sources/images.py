"""Image files -> pixels, and where a page's image lies: for everything that needs one.

In: a path, or a file's bytes in memory. Out: 8-bit grey or RGB pixels, upright, whatever the file's mode. A
file that is no image, is cut off, or would unpack to more than a few hundred megapixels gives one sentence.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Pixels
from tongguocr.sources.depth import eight_bit
from tongguocr.sources.kinds import HEIF_BRANDS, TIFF_STARTS, brand_of, not_an_image

MAX_PIXELS = 256_000_000
"""A 200-megapixel scan of a map or a large rubbing still opens; a 40,000-pixel bomb does not."""
STRIP = 1024
"""Rows that are copied at a time."""
MAX_TIFF_PAGES = 10_000
IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".tif", ".tiff", ".jp2", ".j2k", ".webp", ".bmp", ".gif"),
    *(".avif", ".heic", ".heif", ".ppm", ".pgm", ".pbm", ".pnm"),
)
# Pillow also opens formats that run other programs or are no scans at all; those are left alone.
FORMATS = ("JPEG", "PNG", "TIFF", "JPEG2000", "WEBP", "BMP", "GIF", "PPM", "AVIF")

_counting = Lock()
_readers = 0
_pillows_limit: int | None = None
_most_pixels = ContextVar[int]("most_pixels")


class TooManyPixelsError(InputError):
    """An image that is larger than those that are read."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file that is in memory, as if it lay on the disk: its name in sentences, its bytes."""

    label: str
    stem: str
    """What results are called."""
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return self.label


StoredFile: TypeAlias = Path | MemoryFile


@dataclass(frozen=True, slots=True)
class Scan:
    """A page as it was stored: its pixels, upright, and the JPEG file that they were, if it was one."""

    pixels: Pixels
    jpeg: bytes | None = None


def open_binary(file: StoredFile) -> BinaryIO:
    """The file, open for reading."""
    return file.open("rb") if isinstance(file, Path) else BytesIO(file.data)


def load_pixels(path: Path) -> Pixels:
    """The image's pixels: height x width where it is grey, height x width x 3 otherwise."""
    return load_scan(path).pixels


def load_scan(path: Path) -> Scan:
    """The image as it was stored: its pixels, and the JPEG file that it was, if it was one."""
    return load_frame(path, 0, str(path))


def load_frame(file: StoredFile, frame: int, where: str) -> Scan:
    """One page of a TIFF, or the one of any other image; `where` names it in sentences."""
    if frame >= MAX_TIFF_PAGES:
        raise InputError(f"{where}: no more than {MAX_TIFF_PAGES} pages of one file are read.")
    return _decode(file, where, frame)


def tiff_pages(file: StoredFile) -> list[int]:
    """Which images of a file are its pages: all of a TIFF's but thumbnails, pyramid levels and masks.

    Other kinds of image have one page, and so has whatever cannot be opened: loading it says why. Where the
    chain of pages is broken, the place of the break is the last page, which then fails to load.
    """
    pages: list[int] = []
    try:
        with open_binary(file) as opened:
            if opened.read(4) not in TIFF_STARTS:
                return [0]
        with _open_image(file) as image:
            _walk_tiff(image, pages)
    except Exception:  # Pillow's parsers raise whatever junk leads them to; loading the page tells.
        return pages or [0]
    return pages or [0]


def image_size(path: Path) -> tuple[int, int]:
    """Width and height from the image's header; the pixels are not decoded."""
    try:
        with warnings.catch_warnings():
            # Pillow warns of very large images because decoding them takes memory; nothing is decoded here.
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                size: tuple[int, int] = image.size
                return size
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


def _walk_tiff(image: Any, pages: list[int]) -> None:
    for frame in range(MAX_TIFF_PAGES + 1):
        try:
            image.seek(frame)
        except EOFError:
            return
        except Exception:
            pages.append(frame)
            return
        kind = image.tag_v2.get(254, 0)  # NewSubfileType: bit 0 is a smaller copy, bit 2 a mask.
        if not (isinstance(kind, int) and kind & 0b101):
            pages.append(frame)


@contextmanager
def _open_image(file: StoredFile) -> Iterator[Image.Image]:
    # Pillow maps a path's uncompressed TIFF into memory with its sides swapped where it lies turned, and so
    # scrambles it; an open file it reads.
    with open_binary(file) as opened, _our_limit(), warnings.catch_warnings():
        # A damaged tag that does not matter for the pixels is Pillow's warning, not the reader's.
        warnings.simplefilter("ignore")
        with Image.open(opened, formats=_formats(opened, file)) as image:
            yield image


def _formats(opened: BinaryIO, file: StoredFile) -> tuple[str, ...]:
    """What Pillow may take the file for; HEIC needs a package of its own."""
    start = opened.read(12)
    opened.seek(0)
    if brand_of(start) not in HEIF_BRANDS:
        return FORMATS
    try:
        import pillow_heif  # type: ignore[import, unused-ignore]
    except ImportError:
        raise MissingExtraError(f"{file}: reading HEIC", "heif") from None
    pillow_heif.register_heif_opener(thumbnails=False)
    return ("HEIF", "AVIF")


@contextmanager
def _our_limit() -> Iterator[None]:
    """Pillow's own limit lies below ours and is one for the whole process: lifted while any thread reads."""
    global _readers, _pillows_limit
    with _counting:
        if _readers == 0:
            _pillows_limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        _readers += 1
    try:
        yield
    finally:
        with _counting:
            _readers -= 1
            if _readers == 0:
                Image.MAX_IMAGE_PIXELS = _pillows_limit


def _decode(file: StoredFile, where: str, frame: int = 0) -> Scan:
    try:
        with _open_image(file) as image:
            if frame:
                image.seek(frame)
            check_size(image.size, where)
            # A PDF shows neither of the others as it lies: CMYK may be inverted, several pictures are one.
            is_jpeg = image.format == "JPEG" and image.mode in ("L", "RGB")
            ImageOps.exif_transpose(image, in_place=True)
            return Scan(_to_array(eight_bit(image)), _all_bytes(file) if is_jpeg else None)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{where}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{where}: this is a folder, not an image.") from None
    except UnidentifiedImageError:
        with open_binary(file) as opened:
            raise InputError(f"{where}: {not_an_image(opened.read(16))}") from None
    except MemoryError:
        raise InputError(f"{where}: the image does not fit into memory.") from None
    except Exception as error:  # Pillow's decoders raise whatever junk leads them to.
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{where}: the image is damaged ({reason}).") from None


def image_pixels(image: Image.Image, where: str) -> Pixels:
    """The pixels of an image that somebody else opened, upright; the image itself stays as it is."""
    check_size(image.size, where)
    return _to_array(eight_bit(ImageOps.exif_transpose(image)))


def _all_bytes(file: StoredFile) -> bytes:
    return file.read_bytes() if isinstance(file, Path) else file.data


def _to_array(image: Image.Image) -> Pixels:
    """The pixels, strip by strip: a large scan at once would take its size in memory twice more."""
    width, height = image.size
    pixels = np.empty((height, width) if image.mode == "L" else (height, width, 3), np.uint8)
    for top in range(0, height, STRIP):
        below = min(top + STRIP, height)
        pixels[top:below] = np.asarray(image.crop((0, top, width, below)))
    return pixels


@contextmanager
def at_most(pixels: int) -> Iterator[None]:
    """Refuse larger images than this meanwhile, whatever they lie in: for who reads what strangers send."""
    before = _most_pixels.set(pixels)
    try:
        yield
    finally:
        _most_pixels.reset(before)


def check_size(size: tuple[int, int], where: str) -> None:
    """Refuse an image of more than `MAX_PIXELS`, or than `at_most` allows, before it is unpacked."""
    most = min(MAX_PIXELS, _most_pixels.get(MAX_PIXELS))
    if size[0] * size[1] > most:
        raise TooManyPixelsError(
            f"{where}: the image is {size[0]} x {size[1]} pixels, more than the"
            f" {most / 1e6:g} megapixels that are read."
        )
