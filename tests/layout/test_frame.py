"""The common frame: direction by shape, slant by polygons or by even heads and feet."""

from __future__ import annotations

import numpy as np
import pytest

from bench.order import composed, shaken
from tongguocr.layout.frame import guess_writing_mode, straightened, typical, upright
from tongguocr.page import Line


def lines_of(*boxes: tuple[float, float, float, float]) -> tuple[Line, ...]:
    return tuple(Line(str(k), box) for k, box in enumerate(boxes))


def test_direction_by_shape() -> None:
    assert guess_writing_mode(lines_of((0, 0, 40, 500))) == "vertical-rl"
    assert guess_writing_mode(lines_of((0, 0, 500, 40), (0, 60, 500, 100))) == "horizontal"
    assert guess_writing_mode(lines_of((0, 0, 900, 40), (0, 60, 40, 500))) == "vertical-rl", "one lying line"
    assert guess_writing_mode(lines_of((0, 0, 40, 40), (0, 60, 40, 100))) == "vertical-rl", "no long box"


@pytest.mark.parametrize("polygons", [True, False])
@pytest.mark.parametrize("degrees", [-3.0, -1.5, 0.0, 2.5])
def test_a_slanting_page_is_set_straight(degrees: float, polygons: bool) -> None:
    truth = composed("tripitaka", 2)
    page = shaken(truth, np.random.default_rng(0), 0.0, degrees, polygons)
    place = {line.id: line.box for line in truth.lines}
    expected = np.array([place[line.id] for line in page.lines])
    found = upright(page.lines, "vertical-rl").boxes
    size = typical(expected)
    assert np.abs(np.diff(found - expected, axis=0)).max() < 0.5 * size
    tops = found[:, 1] - expected[:, 1]
    assert np.ptp(tops) < 0.25 * size


def test_the_box_of_a_slanting_line_gives_its_true_size() -> None:
    c, s = np.cos(0.03), np.sin(0.03)
    around = np.array([[0.0, 0.0, 40 * c + 900 * s, 900 * c + 40 * s]])
    x0, y0, x1, y1 = straightened(around, 0.03)[0]
    assert (x1 - x0, y1 - y0) == pytest.approx((40, 900))


def test_boxes_without_area_get_some() -> None:
    boxes = upright(lines_of((5, 5, 5, 5), (0, 0, 40, 500)), "vertical-rl").boxes
    assert (boxes[:, 2] > boxes[:, 0]).all() and (boxes[:, 3] > boxes[:, 1]).all()
