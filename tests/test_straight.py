"""Pages that lean or are white on black: what is read of them, and where it lies in the scan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tongguocr.geometry import Box, bounds, centre
from tongguocr.page import Char, Line, Page, turn_page
from tongguocr.straight import as_read, as_scanned, straight_point, straight_size

UPRIGHT = Page(
    "p.png",
    300,
    400,
    (
        Line("l1", (150, 150, 180, 270), "天地", chars=(Char("天", (151, 150, 179, 200)),)),
        Line("l2", (100, 150, 130, 270), "玄", polygon=((100, 150), (130, 152), (131, 270), (100, 268))),
    ),
)
BOXES = [line.box for line in UPRIGHT.lines]


def painted(skew: float = 0.0) -> Page:
    """The page of which `UPRIGHT` is the way in which it is read: each line black on its scan."""
    pixels = np.full((400, 300), 220, np.uint8)
    for x0, y0, x1, y1 in BOXES:
        pixels[y0:y1, x0:x1] = 20  # type: ignore[misc]
    leaning = Image.fromarray(pixels).rotate(skew, Image.Resampling.BICUBIC, fillcolor=220)
    return replace(UPRIGHT, lines=(), pixels=np.asarray(leaning), skew=skew)


def dark(page: Page, box: Box) -> float:
    assert page.pixels is not None
    x0, y0, x1, y1 = map(round, box)
    return float((page.pixels[y0:y1, x0:x1] < 120).mean())


def test_a_straight_page_is_passed_on() -> None:
    page = painted()
    assert as_read(page) is page
    assert as_scanned(UPRIGHT, page).lines == UPRIGHT.lines


def test_white_on_black_is_exchanged_for_reading_alone() -> None:
    page = painted()
    assert page.pixels is not None
    white = replace(page, pixels=255 - page.pixels, inverted=True, lines=UPRIGHT.lines)
    read = as_read(white)
    assert read.pixels is not None and (read.pixels == page.pixels).all() and not read.inverted
    assert as_scanned(read, white) == white


@pytest.mark.parametrize("skew", [-15.0, -3.5, 8.0, 17.0])
def test_what_leans_is_read_upright_and_lies_on_its_ink(skew: float) -> None:
    page = painted(skew)
    read = as_read(page)
    dx, dy = (read.width - page.width) / 2, (read.height - page.height) / 2
    for x0, y0, x1, y1 in BOXES:
        inner = (x0 + dx + 3, y0 + dy + 3, x1 + dx - 3, y1 + dy - 3)
        assert dark(read, inner) == 1
    found = as_scanned(replace(read, lines=moved(dx, dy)), page)
    for line in found.lines:
        assert line.polygon is not None and line.box == pytest.approx(bounds(line.polygon))
        inside = np.asarray(Image.new("L", (300, 400)))
        assert inside.shape == (400, 300) and dark(page, around(centre(line.box))) == 1
    assert as_read(found).lines[0].box == pytest.approx(moved(dx, dy)[0].box, abs=0.05)
    assert as_read(found).lines[0].chars[0].box == pytest.approx(moved(dx, dy)[0].chars[0].box, abs=0.1)


def moved(dx: float, dy: float) -> tuple[Line, ...]:
    """The lines on a larger sheet."""

    def move(box: Box) -> Box:
        return (box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy)

    return tuple(
        replace(
            line,
            box=move(line.box),
            polygon=line.polygon and tuple((x + dx, y + dy) for x, y in line.polygon),
            chars=tuple(replace(char, box=move(char.box)) for char in line.chars),
        )
        for line in UPRIGHT.lines
    )


def around(point: tuple[float, float]) -> Box:
    return (point[0] - 2, point[1] - 2, point[0] + 2, point[1] + 2)


@given(st.floats(0, 300), st.floats(0, 400), st.floats(-40, 40))
def test_points_come_back_and_stay_on_the_picture(x: float, y: float, skew: float) -> None:
    page = replace(UPRIGHT, skew=skew)
    there = straight_point((x, y), page)
    wide, high = straight_size(page)
    assert -1e-6 <= there[0] <= wide + 1e-6 and -1e-6 <= there[1] <= high + 1e-6
    assert straight_point(there, page, back=True) == pytest.approx((x, y), abs=1e-6)


def test_a_quarter_turn_keeps_what_is_known_of_the_page() -> None:
    page = replace(UPRIGHT, skew=4.0, inverted=True, warnings=("no.",))
    turned = turn_page(page, 90)
    assert (turned.skew, turned.inverted, turned.warnings, turned.angle) == (4.0, True, ("no.",), 90)
    assert turn_page(turned, 270) == page
