"""What counts as a page's text, and pages that are turned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lying_pages import draw, scan_of, shade_in
from page_strategies import around, example_page, pages, whole

from tongguocr.page import ANGLES, KINDS, Line, Page, as_it_lies, turn_page, turn_pixels


def test_the_fold_is_no_text_but_stands_on_the_page() -> None:
    lines = tuple(Line(kind, (0, 0, 1, 1), text, kind) for kind, text in zip(KINDS, "文注批卷", strict=True))
    page = Page("", 9, 9, lines[::-1])
    assert page.text == "批\n注\n文"
    assert page.full_text == "卷\n批\n注\n文"


def test_pixels_turn_clockwise() -> None:
    picture = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    assert turn_pixels(picture, 90).tolist() == [[4, 1], [5, 2], [6, 3]]
    assert turn_pixels(picture, 180).tolist() == [[6, 5, 4], [3, 2, 1]]
    assert turn_pixels(picture, 270).tolist() == [[3, 6], [2, 5], [1, 4]]
    assert turn_pixels(picture, 0) is picture
    assert turn_pixels(np.stack([picture] * 3, 2), 90).shape == (3, 2, 3)


@pytest.mark.parametrize("angle", ANGLES)
def test_boxes_stay_on_their_ink(angle: int) -> None:
    page = draw(example_page())
    turned = turn_page(page, angle)
    assert turned.pixels is not None and turned.pixels.shape == (turned.height, turned.width)
    assert [shade_in(turned.pixels, line.box) for line in turned.lines] == list(range(len(page.lines)))
    assert [line.direction for line in turned.lines] == [line.direction for line in page.lines]


@given(pages(numbers=whole, sizes=around), st.sampled_from(ANGLES))
def test_a_page_that_is_turned_and_turned_back_is_the_same(page: Page, angle: int) -> None:
    turned = turn_page(page, angle)
    assert turned.angle == (page.angle + angle) % 360
    assert turn_page(turned, -angle % 360) == page


@pytest.mark.parametrize("angle", ANGLES)
def test_a_page_as_it_lies_fits_its_scan(angle: int) -> None:
    page = draw(example_page())
    scan = scan_of(page, angle)
    lying = as_it_lies(replace(page, angle=angle))
    assert (lying.angle, lying.height, lying.width, lying.pixels) == (0, *scan.shape, None)
    assert [shade_in(scan, line.box) for line in lying.lines] == list(range(len(page.lines)))
