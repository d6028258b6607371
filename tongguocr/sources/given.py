"""What people hand to `tongguocr.read` and `read_all` -> pages with pixels, or files.

In: paths, bytes, open files, Pillow images, arrays, pages. Out: a `Page`, or what `open_source` takes. What
cannot be meant is a TypeError, a ValueError or an InputError of one sentence, never taken for something else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tongguocr.page import Page, Pixels, bare_page
from tongguocr.sources.images import MemoryFile, image_pixels, load_frame

GivenImage: TypeAlias = Any
"""A path, bytes, an open binary file, a Pillow image, an array or a page."""


def page_of(image: GivenImage) -> Page:
    """One page with its pixels."""
    from PIL import Image

    if isinstance(image, Page):
        return _checked_page(image)
    if isinstance(image, np.ndarray):
        return bare_page("", _checked_pixels(image))
    if isinstance(image, Image.Image):
        if 0 in image.size:
            raise ValueError(
                f"The image has {image.width} x {image.height} pixels: there is nothing to read."
            )
        name = Path(str(getattr(image, "filename", ""))).name
        return bare_page(name, image_pixels(image, name or "image"))
    file = file_of(image, "image")
    scan = load_frame(file, 0, str(file))
    name = file.name if isinstance(file, Path) else file.label.removeprefix("image")
    return bare_page(name, scan.pixels, scan.jpeg)


def source_of(source: GivenImage) -> str | MemoryFile:
    """What `open_source` takes: a path or an address as it is written, or a file in memory."""
    if isinstance(source, str):
        file_of(source, "source")
        return source
    file = file_of(source, "source")
    return str(file) if isinstance(file, Path) else file


def file_of(given: GivenImage, what: str) -> Path | MemoryFile:
    """The file that is meant by a path, by a file's bytes or by an open file."""
    if isinstance(given, str) and not given.strip():
        raise ValueError(f"{what}: the path is empty.")
    if isinstance(given, str | Path):
        return Path(given)
    name = getattr(given, "name", "")
    name = Path(name).name if isinstance(name, str) else ""
    data = given.read() if callable(getattr(given, "read", None)) else given
    if isinstance(data, str):
        raise TypeError(f"{name or what}: the file is open for text; open it with the mode 'rb'.")
    if not isinstance(data, bytes | bytearray | memoryview):
        kinds = "a path, bytes or an open binary file"
        if what == "image":
            kinds = "a path, bytes, an open binary file, a Pillow image, an array of pixels or a page"
        raise TypeError(f"{what} must be {kinds}, not {_kind(given)}.")
    if not len(data):
        raise ValueError(f"{name or what}: there is nothing in it.")
    return MemoryFile(name or what, Path(name).stem or "page", bytes(data))


def _checked_page(page: Page) -> Page:
    if page.pixels is None:
        raise ValueError(
            f"{page.image or 'page'}: this page has no pixels; give its image file, or add them."
        )
    pixels = _checked_pixels(page.pixels)
    if pixels.shape[:2] != (page.height, page.width):
        raise ValueError(
            f"{page.image or 'page'}: the page has {page.width} x {page.height} pixels by its numbers,"
            f" and {pixels.shape[1]} x {pixels.shape[0]} in its picture."
        )
    return page


def _checked_pixels(pixels: Any) -> Pixels:
    """The array, if it is a picture: height x width, or height x width x 3, of bytes."""
    if pixels.dtype != np.uint8:
        raise TypeError(f"An array of pixels must hold uint8, from 0 (ink) to 255, not {pixels.dtype}.")
    shape = " x ".join(map(str, pixels.shape))
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] != 3):
        raise ValueError(f"An array of pixels must be height x width or height x width x 3, not {shape}.")
    if 0 in pixels.shape:
        raise ValueError(f"The array has {shape} pixels: nothing to read.")
    return np.ascontiguousarray(pixels)


def _kind(thing: object) -> str:
    return "None" if thing is None else f"{type(thing).__name__}"
