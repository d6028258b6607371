"""Where the scan of a page lies whose file was read, and its pixels: for formats that are drawn on it.

In: a page out of a file, the file's path, and where else to look. Out: the image's path, or the page with its
pixels, upright as its lines are. A page of a PDF or of a TIFF with several is found by the number at the end
of the page file's name, as `read` gives it: `book-0012.json` is page 12 of `book.pdf`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from tongguocr.errors import InputError
from tongguocr.formats.registry import page_stem
from tongguocr.page import Page, turn_pixels
from tongguocr.sources import image_named, is_one_image, open_source
from tongguocr.sources.images import load_scan

_PAGE_FOLDER = "page"
"""Transkribus and eScriptorium put page files into a folder of this name, below that of the images."""


def find_scan(page: Page, path: Path, given: Path | None = None) -> Path | None:
    """The file that holds the page's image: the one that is given, or by name in a folder, else None.

    `given` is a file, or a folder to look in instead of that of the page's file `path`. The name
    is the one that the page gives, else the page file's own with the suffix of an image.
    """
    if given is not None and not given.is_dir():
        if not given.is_file():
            raise InputError(f"{given}: there is no such image or folder.")
        return given
    return next(_found(page, path, given), None)


def _found(page: Page, path: Path, given: Path | None) -> Iterator[Path]:
    folders = [given or path.parent]
    if given is None and path.parent.name == _PAGE_FOLDER:
        folders.append(path.parent.parent)
    name = PurePosixPath(page.image.replace("\\", "/")).name
    for folder in folders:
        if name and (folder / name).is_file():
            yield folder / name
        if image := image_named(folder, page_stem(path)):
            yield image


def with_scan(page: Page, image: Path, path: Path) -> Page:
    """The page, out of the file `path`, with the pixels of its scan, turned upright, and its JPEG."""
    if is_one_image(image):
        scan = load_scan(image)
    else:
        stem, pages = page_stem(path), list(open_source(image))
        scans = [scan for scan in pages if len(pages) == 1 or stem.endswith(scan.name)]
        if not scans:
            raise InputError(f"{path}: the name does not tell which page of {image} it is.")
        scan = scans[0].loader()
    pixels = turn_pixels(scan.pixels, page.angle)
    if pixels.shape[:2] != (page.height, page.width):
        sizes = f"{pixels.shape[1]} x {pixels.shape[0]} pixels, and the page has {page.width} x {page.height}"
        raise InputError(f"{path}: the image {image} has {sizes}.")
    return replace(page, pixels=pixels, jpeg=scan.jpeg)
