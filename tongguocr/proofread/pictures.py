"""Scans as a browser can show them: pages in; JPEG out, whole, small, or in tiles of a pyramid.

A page is unpacked once and kept with its smaller levels as long as there is room, so that a scan of a hundred
megapixels costs its second once and each tile a few milliseconds. Thumbnails lie on the disk.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.page import Pixels, turn_pixels
from tongguocr.proofread.book import Book, BookPage
from tongguocr.proofread.models import Tiles

TILE = 512
THUMBNAIL_WIDTH = 160
QUALITY = 88
ROOM = 400_000_000
"""Bytes of pixels that are kept; one page is, however large."""


@dataclass(frozen=True, slots=True)
class Pyramid:
    """A page's pixels, each level half as large as the one before."""

    levels: tuple[Pixels, ...]
    """The scan first."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the scan."""
        return self.levels[0].shape[1], self.levels[0].shape[0]

    @property
    def bytes(self) -> int:
        return sum(level.nbytes for level in self.levels)


class Pictures:
    """The pages' pictures, the latest ones in memory."""

    def __init__(self, book: Book, room: int = ROOM) -> None:
        self.book, self.room = book, room
        self._kept: OrderedDict[tuple[int, int], Pyramid] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[int, threading.Lock] = {}

    def pyramid(self, page: BookPage, angle: int = 0) -> Pyramid:
        """The page's pixels, turned clockwise by this angle."""
        with self._lock:
            turn = self._loading.setdefault(page.number, threading.Lock())
        with turn:
            with self._lock:
                if found := self._kept.get((page.number, angle)):
                    self._kept.move_to_end((page.number, angle))
                    return found
            made = make_pyramid(turn_pixels(_load(page), angle))
            self._keep((page.number, angle), made)
            return made

    def _keep(self, key: tuple[int, int], made: Pyramid) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > 1 and sum(one.bytes for one in self._kept.values()) > self.room:
                self._kept.popitem(last=False)

    def tiles(self, page: BookPage, angle: int) -> Tiles:
        """What the pyramid of a page looks like."""
        made = self.pyramid(page, angle)
        wide, high = made.size
        return Tiles(
            width=wide, height=high, size=TILE, levels=len(made.levels), version=self.version(page, angle)
        )

    def tile(self, page: BookPage, angle: int, level: int, column: int, row: int) -> bytes:
        """One tile as a JPEG; level 0 is the smallest."""
        levels = self.pyramid(page, angle).levels
        if not 0 <= level < len(levels):
            raise InputError(f"There is no level {level}: the picture has {len(levels)}.")
        pixels = levels[-1 - level]
        part = pixels[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
        if min(column, row) < 0 or 0 in part.shape:
            raise InputError(f"There is no tile {column}_{row} on level {level}.")
        return _jpeg(Image.fromarray(np.ascontiguousarray(part)))

    def whole(self, page: BookPage, angle: int, width: int | None) -> bytes:
        """The whole page as a JPEG, at most so many pixels wide."""
        levels = self.pyramid(page, angle).levels
        wanted = min(width or levels[0].shape[1], levels[0].shape[1])
        pixels = next(level for level in reversed(levels) if level.shape[1] >= wanted)
        image = Image.fromarray(pixels)
        return _jpeg(image if image.width == wanted else _narrowed(image, wanted))

    def thumbnail(self, page: BookPage, angle: int) -> bytes:
        """A small picture, from the disk if it is there."""
        path = thumbnail_path(self.book, page, angle)
        if not path.exists():
            keep_thumbnail(_load(page), path, angle)
        return path.read_bytes()

    def version(self, page: BookPage, angle: int) -> str:
        """Changes with the picture."""
        return f"{stamp_of(page)}-{angle}"


def stamp_of(page: BookPage) -> str:
    """Changes with the file of the page's picture."""
    try:
        found = Path(page.source.file).stat() if page.source is not None else None
    except (OSError, ValueError):
        found = None
    return "0" if found is None else f"{found.st_mtime_ns:x}-{found.st_size:x}"


def thumbnail_path(book: Book, page: BookPage, angle: int = 0) -> Path:
    """Where a page's thumbnail lies."""
    return book.own("thumbnails") / f"{page.name}.{stamp_of(page)}-{angle}.jpg"


def keep_thumbnail(pixels: Pixels, path: Path, angle: int = 0) -> None:
    """Write the small picture of a page that is unpacked already."""
    make_folder(path.parent)
    image = Image.fromarray(turn_pixels(pixels, angle))
    # A first step by whole pixels: of a scan, all but the last thousandth is thrown away.
    image = image.reduce(max(min(image.width // (2 * THUMBNAIL_WIDTH), image.height), 1))
    write_bytes(_jpeg(_narrowed(image, min(THUMBNAIL_WIDTH, image.width))), path)


def make_pyramid(pixels: Pixels) -> Pyramid:
    """The levels, down to one that fits a tile."""
    levels = [pixels]
    while max(levels[-1].shape[:2]) > TILE:
        levels.append(np.asarray(Image.fromarray(levels[-1]).reduce(2)))
    return Pyramid(tuple(levels))


def _load(page: BookPage) -> Pixels:
    if page.source is None:
        raise InputError(f"{page.name}: this page has no picture; --images SOURCE says where it is.")
    return page.source.load()


def _narrowed(image: Image.Image, width: int) -> Image.Image:
    return image.resize((width, max(round(image.height * width / image.width), 1)), Image.Resampling.BOX)


def _jpeg(image: Image.Image) -> bytes:
    out = BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()
