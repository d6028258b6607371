"""Pictures: pyramids whose tiles make up the scan, and thumbnails that are made once."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.proofread.book import Book, open_book
from tongguocr.proofread.pictures import TILE, Pictures, make_pyramid


@pytest.fixture
def book(tmp_path: Path) -> Book:
    for number, size in enumerate(((1300, 700), (90, 2100), (5, 5)), start=1):
        ramp = np.linspace(0, 255, size[0] * size[1] * 3, dtype=np.uint8).reshape(size[1], size[0], 3)
        Image.fromarray(ramp).save(tmp_path / f"p{number}.png")
    return open_book(str(tmp_path))


def image_of(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("angle", [0, 90])
def test_the_tiles_of_each_level_make_up_the_page(book: Book, number: int, angle: int) -> None:
    pictures, page = Pictures(book), book.page(number)
    told = pictures.tiles(page, angle)
    for level in range(told.levels):
        shrunk = 2 ** (told.levels - 1 - level)
        wide, high = -(-told.width // shrunk), -(-told.height // shrunk)
        if level == 0:
            assert max(wide, high) <= TILE
        columns, rows = range(-(-wide // TILE)), range(-(-high // TILE))
        widths = [image_of(pictures.tile(page, angle, level, column, 0)).width for column in columns]
        heights = [image_of(pictures.tile(page, angle, level, 0, row)).height for row in rows]
        assert (sum(widths), sum(heights)) == (wide, high)
        for column, row in ((len(widths), 0), (0, len(heights)), (-1, 0)):
            with pytest.raises(InputError, match="no tile"):
                pictures.tile(page, angle, level, column, row)


def test_a_turned_page_is_shown_upright(book: Book) -> None:
    pictures, page = Pictures(book), book.page(1)
    assert image_of(pictures.whole(page, 90, None)).size == (700, 1300)
    assert image_of(pictures.whole(page, 0, 300)).size == (300, 162)
    assert image_of(pictures.whole(page, 0, 9999)).size == (1300, 700)
    assert pictures.version(page, 90) != pictures.version(page, 0)


def test_thumbnails_are_made_once_and_anew_for_another_picture(book: Book) -> None:
    pictures, page = Pictures(book), book.page(1)
    first = pictures.thumbnail(page, 0)
    assert image_of(first).size == (160, 86)
    (kept,) = book.own("thumbnails").iterdir()
    kept.write_bytes(b"kept")
    assert pictures.thumbnail(page, 0) == b"kept"
    Image.new("L", (800, 800)).save(book.folder / "p1.png")
    assert image_of(pictures.thumbnail(page, 0)).size == (160, 160)


def test_there_is_room_for_one_page_at_least(book: Book) -> None:
    pictures = Pictures(book, room=1)
    first = pictures.pyramid(book.page(1))
    assert pictures.pyramid(book.page(1)) is first
    pictures.pyramid(book.page(2))
    assert pictures.pyramid(book.page(1)) is not first


def test_levels_are_half_as_large() -> None:
    levels = make_pyramid(np.zeros((TILE * 3, 77), np.uint8)).levels
    assert [level.shape for level in levels] == [(1536, 77), (768, 39), (384, 20)]
