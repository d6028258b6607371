"""Section circles in line images: found where they are, and not in characters that are hollow too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tongguocr.page import Pixels
from tongguocr.training.synth.line_cuts import CIRCLE, find_circles
from tongguocr.training.synth.real_ink import make_line

WIDE, PITCH = 24, 21


def draw_line(cells: str) -> Pixels:
    """Ink on white paper, a cell each: o a circle, a square 口, t a 七, x a dense character."""
    image = Image.new("L", (4 * WIDE, 4 * PITCH * len(cells)), 255)
    draw = ImageDraw.Draw(image)
    for number, cell in enumerate(cells):
        x, y = 2 * WIDE, 4 * PITCH * (number + 0.5)
        if cell == "o":
            draw.ellipse((x - 26, y - 26, x + 26, y + 26), outline=0, width=6)
        elif cell == "口":
            draw.rectangle((x - 26, y - 24, x + 26, y + 24), outline=0, width=7)
        elif cell == "t":
            draw.line((x - 34, y + 4, x + 34, y - 10), fill=0, width=8)
            draw.line((x, y - 34, x, y + 26, x + 34, y + 26), fill=0, width=8)
        elif cell == "x":
            for k in range(-30, 31, 12):
                draw.line((x - 32, y + k, x + 32, y + k), fill=0, width=6)
            draw.line((x, y - 32, x, y + 32), fill=0, width=6)
    return np.asarray(image.resize((WIDE, PITCH * len(cells)), Image.Resampling.BOX))


@given(st.text("o口tx", min_size=1, max_size=18))
def test_circles_are_found_and_hollow_characters_are_not_taken_for_them(cells: str) -> None:
    found = find_circles(255 - draw_line(cells))
    wanted = [PITCH * (k + 0.5) for k, cell in enumerate(cells) if cell == "o"]
    assert len(found.sure) == len(wanted)
    assert all(abs(row - place) <= 2 for row, place in zip(found.sure, wanted, strict=True))


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (3, 3), (400, 25)])
def test_nothing_is_found_where_there_is_nothing(shape: tuple[int, int]) -> None:
    for value in (0, 255):
        assert find_circles(np.full(shape, value, np.uint8)) == ((), ())


def test_a_line_gets_the_circles_that_its_text_leaves_out() -> None:
    line = make_line("a_1.webp", "天地玄黃宇", draw_line("xoxtxox"))
    assert line.text == f"天{CIRCLE}地玄黃{CIRCLE}宇"
    assert np.abs(np.diff(line.cuts) - PITCH).max() < PITCH / 3
    assert make_line("a_2.webp", "天地玄", draw_line("xtx")).text == "天地玄"


def test_a_torn_circle_counts_where_the_cuts_say_so() -> None:
    pixels = draw_line("xxoxxx").copy()
    centre = round(2.5 * PITCH)
    pixels[centre - 4 : centre + 4, WIDE // 2 + 2 :] = 255
    found = find_circles(255 - pixels)
    assert not found.sure and len(found.doubtful) == 1
    assert make_line("a_1.webp", "天地玄黃宇", pixels).text == f"天地{CIRCLE}玄黃宇"
    assert CIRCLE not in make_line("a_1.webp", "天地日玄黃宇", pixels).text
