"""Crops: own ink is never touched, foreign lines never survive, padding never distorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongguocr.blocks import cut_blocks
from tongguocr.crops import CropSettings, crop_block, crop_blocks, estimate_background, line_mask
from tongguocr.geometry import Box, union
from tongguocr.page import Block, Crop, Line, Page

PAPER, INK = 220, 30


def page_of(boxes: list[Box], width: int = 400, height: int = 300, colour: bool = False) -> Page:
    """Paper with a solid rectangle of ink in each line's box, each line its own shade."""
    pixels = np.full((height, width), PAPER, np.uint8)
    for k, (x0, y0, x1, y1) in enumerate(boxes):
        pixels[max(int(y0), 0) : max(int(y1), 0), max(int(x0), 0) : max(int(x1), 0)] = INK + k
    if colour:
        pixels = np.stack([pixels, pixels // 2, pixels // 3], axis=-1)
    lines = tuple(Line(f"l{k}", box) for k, box in enumerate(boxes))
    return Page("", width, height, lines, pixels)


def block_of(page: Page, start: int, stop: int) -> Block:
    return Block(start, stop, union(line.box for line in page.lines[start:stop]))


def on_page(crop: Crop) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """The part of the canvas that shows the page, and where on the page it lies."""
    x0, y0, x1, y1 = (int(v) for v in crop.region)
    cx0, cy0, cx1, cy1 = (int(v) for v in crop.to_canvas(crop.region))
    return crop.pixels[cy0:cy1, cx0:cx1], (x0, y0, x1, y1)


whole = st.integers(-20, 420)
box = st.tuples(whole, whole, st.integers(0, 120), st.integers(0, 200)).map(
    lambda b: (float(b[0]), float(b[1]), float(b[0] + b[2]), float(b[1] + b[3]))
)


@given(st.lists(box, min_size=1, max_size=8), st.integers(0, 7), st.integers(1, 4))
@settings(max_examples=200)
def test_own_ink_stays_and_foreign_lines_go(boxes: list[Box], start: int, count: int) -> None:
    page = page_of(boxes)
    start = min(start, len(boxes) - 1)
    block = block_of(page, start, min(start + count, len(boxes)))
    crop = crop_block(page, block)
    shown, (x0, y0, x1, y1) = on_page(crop)
    assert page.pixels is not None
    original = page.pixels[y0:y1, x0:x1]
    own = line_mask(block.lines(page), crop.region)
    foreign = line_mask(page.lines[: block.start] + page.lines[block.stop :], crop.region) & ~own
    assert (shown[own] == original[own]).all()
    assert (shown[foreign] == crop.background[0]).all()
    untouched = ~own & ~foreign
    assert (shown[untouched] == original[untouched]).all()


@given(st.lists(box, min_size=1, max_size=5), st.floats(1.0, 2.0))
@settings(max_examples=100)
def test_canvas_is_square_and_holds_the_region(boxes: list[Box], padding: float) -> None:
    page = page_of(boxes)
    crop = crop_block(page, block_of(page, 0, len(boxes)), CropSettings(padding=padding))
    side = crop.pixels.shape[0]
    assert crop.pixels.shape == (side, side)
    w, h = crop.region[2] - crop.region[0], crop.region[3] - crop.region[1]
    assert side == round(padding * max(w, h))
    x0, y0, x1, y1 = crop.to_canvas(crop.region)
    assert x0 >= 0 and y0 >= 0 and x1 <= side and y1 <= side
    assert abs((side - x1) - x0) <= 1 and abs((side - y1) - y0) <= 1, "centred"
    assert crop.to_page(crop.to_canvas(boxes[0])) == pytest.approx(boxes[0])


def test_ink_of_every_own_line_is_wholly_inside() -> None:
    page = page_of([(300, 20, 340, 280), (240, 20, 280, 280), (180, 20, 220, 280), (20, 20, 60, 280)])
    for block in cut_blocks(page):
        crop = crop_block(page, block)
        for k, line in enumerate(block.lines(page), start=block.start):
            x0, y0, x1, y1 = (int(v) for v in crop.to_canvas(line.box))
            assert (crop.pixels[y0:y1, x0:x1] == INK + k).all()


def test_masked_neighbour_leaves_no_ink() -> None:
    page = page_of([(200, 20, 240, 280), (150, 20, 198, 280)])
    crop = crop_block(page, block_of(page, 0, 1))
    assert crop.background == (PAPER,)
    assert set(np.unique(crop.pixels)) == {INK, PAPER}


def test_skewed_neighbour_is_masked_by_its_polygon_not_its_box() -> None:
    page = page_of([(200, 20, 240, 280)])
    slanted = Line("s", (150, 20, 260, 280), polygon=((150, 20), (190, 20), (230, 280), (190, 280)))
    page = Page("", 400, 300, (page.lines[0], slanted), page.pixels)
    assert page.pixels is not None
    page.pixels[20:60, 245:260] = 99
    crop = crop_block(page, block_of(page, 0, 1), CropSettings(margin=0.1))
    assert (crop.pixels == 99).any(), "beside the polygon, though inside its box"


def test_colour_pages_keep_three_channels() -> None:
    page = page_of([(200, 20, 240, 280), (150, 20, 198, 280)], colour=True)
    crop = crop_block(page, block_of(page, 0, 1))
    assert crop.pixels.ndim == 3
    assert crop.background == (PAPER, PAPER // 2, PAPER // 3)


def test_background_falls_back_to_the_bright_part() -> None:
    """A crop that is text from edge to edge: its own bright pixels stand for the paper."""
    rng = np.random.default_rng(0)
    pixels = np.where(rng.random((50, 50)) < 0.4, INK, PAPER).astype(np.uint8)
    nothing_free = np.zeros((50, 50), np.bool_)
    assert estimate_background(pixels, nothing_free) == (PAPER,)
    one_free = nothing_free.copy()
    one_free[np.argwhere(pixels == INK)[0][0], np.argwhere(pixels == INK)[0][1]] = True
    assert estimate_background(pixels, one_free) == (PAPER,), "one pixel proves nothing"


@pytest.mark.parametrize("outside", [(-90, -90, -50, -50), (900, 900, 950, 990), (100, 100, 100, 100)])
def test_boxes_off_the_page_or_empty_give_a_crop(outside: Box) -> None:
    page = page_of([outside])
    (crop,) = crop_blocks(page, cut_blocks(page))
    assert crop.pixels.size > 0


def test_one_pixel_page() -> None:
    page = page_of([(0, 0, 1, 1)], width=1, height=1)
    (crop,) = crop_blocks(page, cut_blocks(page))
    assert crop.pixels.shape == (1, 1)


def test_a_page_without_pixels_cannot_be_cropped() -> None:
    with pytest.raises(ValueError, match="without pixels"):
        crop_block(Page("", 10, 10, (Line("a", (0, 0, 5, 5)),)), Block(0, 1, (0, 0, 5, 5)))
