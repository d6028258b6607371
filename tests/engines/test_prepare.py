"""Crops to pictures for the model; character heights from ink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recognise_pages import column, inputs_of, make_page

from tongguocr.engines.prepare import Scaling, character_size, prepare
from tongguocr.page import Char, Line, Page, Pixels


def test_characters_come_out_at_the_wanted_size() -> None:
    for size in (40, 80, 30, 25):
        prepared = prepare(inputs_of(make_page(size=size))[0])
        assert prepared.character == pytest.approx(40)
        assert prepared.scale[0] == pytest.approx(40 / size, rel=0.02)


def test_tiny_type_is_enlarged_twice_at_most() -> None:
    prepared = prepare(inputs_of(make_page(size=10))[0])
    assert prepared.character == pytest.approx(20)


def test_sides_are_whole_features_and_bounded() -> None:
    prepared = prepare(inputs_of(make_page(2, length=60))[0])
    assert max(prepared.picture.shape) == 896
    assert all(side % 16 == 0 for side in prepared.picture.shape)


def test_the_square_canvas_is_not_looked_at() -> None:
    (block,) = inputs_of(make_page(1, length=10))
    prepared = prepare(block)
    assert block.crop.pixels.shape[0] == block.crop.pixels.shape[1]
    assert prepared.picture.shape[0] > 3 * prepared.picture.shape[1]


def test_points_go_back_to_the_page() -> None:
    page = make_page(3, size=60)
    prepared = prepare(inputs_of(page)[0])
    assert page.pixels is not None
    # The rightmost column starts at a known pixel: dark in the picture, just where the mapping says.
    x0, y0 = page.lines[0].box[:2]
    across, down = prepared.scale
    left, top = (x0 - prepared.origin[0]) * across, (y0 - prepared.origin[1]) * down
    assert prepared.to_page((left, top)) == pytest.approx((x0, y0))
    row = prepared.picture[round(top) + 10]
    assert row[: round(left) - 3].min() < 0.9 and row[round(left) - 12 : round(left) - 3].min() > 0.85
    assert row[round(left) + 2 : round(left) + 30].min() < 0.7


def test_paper_fills_up_and_colour_becomes_grey() -> None:
    prepared = prepare(inputs_of(make_page(1, size=47, grey=False))[0])
    assert prepared.picture.ndim == 2 and prepared.picture.dtype == np.float32
    assert prepared.picture[-1, -1] == pytest.approx(230 / 255, abs=0.01)
    assert 0 <= prepared.picture.min() < 0.6 and prepared.picture.max() <= 1


@pytest.mark.parametrize("value", [0, 120, 255])
def test_an_even_picture_is_blank(value: int) -> None:
    page = make_page()
    assert page.pixels is not None
    blank = replace(page, pixels=np.full_like(page.pixels, value))
    assert prepare(inputs_of(blank)[0]).blank
    assert not prepare(inputs_of(page)[0]).blank


def test_one_pixel() -> None:
    page = Page("", 1, 1, (column("l1", 0, 0, 1, 1),), np.zeros((1, 1), np.uint8))
    prepared = prepare(inputs_of(page)[0])
    assert prepared.blank and prepared.picture.shape == (32, 32)


@settings(max_examples=40)
@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.tuples(*[st.floats(-50, 350, allow_nan=False)] * 4),
    st.sampled_from(["top-to-bottom", "left-to-right"]),
)
def test_any_box_on_any_page(wide: int, high: int, corners: tuple[float, ...], direction: str) -> None:
    x0, y0, x1, y1 = corners
    box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    line = replace(column("l", 0, 0, 1, 1), box=box, direction=direction)
    page = Page("", wide, high, (line,), np.zeros((high, wide), np.uint8))
    prepared = prepare(inputs_of(page)[0], Scaling())
    assert all(side % 16 == 0 and 32 <= side <= 896 for side in prepared.picture.shape)
    assert prepared.character > 0 and np.isfinite(prepared.to_page((1, 1))).all()


# How high characters are


def paint(pixels: Pixels, line: Line, pitch: float, seed: int = 0) -> None:
    """Characters as random strokes, a fifth of each cell free, each cell another pattern."""
    dice = np.random.default_rng(seed)
    x0, y0, x1, y1 = (int(v) for v in line.box)
    start, stop = (y0, y1) if line.is_vertical else (x0, x1)
    view = pixels[:, x0:x1] if line.is_vertical else pixels[y0:y1].T
    at = float(start)
    while at + pitch <= stop:
        rows = slice(round(at + 0.1 * pitch), round(at + 0.9 * pitch))
        view[rows] = dice.choice(np.array([20, 235], np.uint8), view[rows].shape)
        at += pitch


@pytest.mark.parametrize("pitch", [20, 26, 33, 40])
@pytest.mark.parametrize("turned", [False, True])
def test_the_pitch_of_flat_type_is_seen(pitch: int, turned: bool) -> None:
    pixels = np.full((500, 500), 235, np.uint8)
    lines = [column(f"l{k}", 60 * k, 10, 40, 400) for k in range(4)]
    if turned:
        boxes = [(10, 60 * k, 410, 60 * k + 40) for k in range(4)]
        lines = [
            replace(line, box=b, direction="left-to-right") for line, b in zip(lines, boxes, strict=True)
        ]
    for seed, line in enumerate(lines):
        paint(pixels, line, pitch, seed)
    assert character_size(pixels, lines) == pytest.approx(pitch, abs=1)


def test_loose_setting_makes_no_character_larger_than_its_line_is_thick() -> None:
    pixels = np.full((500, 100), 235, np.uint8)
    line = column("l", 10, 10, 40, 480)
    paint(pixels, line, 56)
    assert character_size(pixels, [line]) == 40


def test_most_characters_count() -> None:
    pixels = np.full((500, 300), 235, np.uint8)
    main, notes = column("m", 200, 0, 40, 160), [column(f"n{k}", 20 * k, 0, 20, 480) for k in range(2)]
    for line, pitch in ((main, 32), (notes[0], 16), (notes[1], 16)):
        paint(pixels, line, pitch)
    assert character_size(pixels, [main]) == pytest.approx(32, abs=1)
    assert character_size(pixels, [main, *notes]) == pytest.approx(16, abs=1)


@pytest.mark.parametrize("value", [0, 200])
def test_without_ink_the_thickness_has_to_do(value: int) -> None:
    pixels = np.full((300, 300), value, np.uint8)
    assert character_size(pixels, [column("l", 10, 10, 30, 250)]) == 30


def test_odd_lines() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (50, 50)).astype(np.uint8)
    assert character_size(pixels, []) is None
    assert character_size(pixels, [column("dot", 3, 3, 0, 0)]) == 1
    assert character_size(pixels, [column("off", 900, 900, 20, 300)]) == 20
    assert character_size(pixels, [column("hair", 10, 0, 0, 50)]) == 1
    assert character_size(pixels, [column("wide", 0, 0, 400, 50)]) == 400


def test_without_ink_detected_characters_tell_the_pitch() -> None:
    chars = tuple(Char("", (10.0, 28.0 * k, 60.0, 28.0 * k + 26)) for k in range(8))
    line = Line("a", (10, 0, 60, 28 * 8), chars=chars)
    blank = np.full((300, 100), 255, np.uint8)
    assert character_size(blank, [line]) == 28
    assert character_size(blank, [replace(line, chars=chars[:3])]) == 50, "two steps are too few"
    assert character_size(blank, [replace(line, chars=chars[:4] + chars[5:])]) == 28, "one was not seen"
