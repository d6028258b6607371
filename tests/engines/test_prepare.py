"""Crops to pictures for the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recognise_pages import column, inputs_of, make_page

from tongguocr.engines.prepare import Scaling, prepare
from tongguocr.page import Page


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
