"""White on black is told from black on white, heavy ink, seals and dark photographs."""

from __future__ import annotations

import numpy as np
import pytest
from detector_pages import characters, column, paint

from tongguocr.layout.link import make_lines
from tongguocr.layout.polarity import is_white_on_black, share_of_white
from tongguocr.page import Line, Pixels

COLUMNS = [column(x, 40, 8) for x in (240, 190, 140, 90)]
LINES: tuple[Line, ...] = make_lines(characters(COLUMNS), [np.arange(8 * k, 8 * k + 8) for k in range(4)])
PAGE: Pixels = paint(COLUMNS, 300, 340)
"""Squares that fill more than half of their boxes: ink as heavy as any."""


def test_the_ground_around_the_characters_tells() -> None:
    assert share_of_white(LINES, PAGE) == 0 and share_of_white(LINES, 255 - PAGE) == 1
    assert is_white_on_black(LINES, np.stack([255 - PAGE] * 3, 2)), "in colour, too"


def test_a_title_in_white_does_not_speak_for_its_page() -> None:
    page = PAGE.copy()
    page[:, 215:265] = 255 - page[:, 215:265]
    assert share_of_white(LINES, page) == 0.25 and not is_white_on_black(LINES, page)


def test_a_page_on_a_black_table_is_black_on_white() -> None:
    table = np.zeros((1000, 1000), np.uint8)
    table[:340, :300] = PAGE
    assert np.median(table) == 0 and not is_white_on_black(LINES, table)


@pytest.mark.parametrize("lines", [(), (Line("l1", (5, 5, 5, 5)),), (Line("l1", (900, 900, 950, 990)),)])
def test_lines_without_pixels_say_nothing(lines: tuple[Line, ...]) -> None:
    assert not is_white_on_black(lines, PAGE)
