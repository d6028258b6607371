"""How far a page leans, told by its characters alone."""

from __future__ import annotations

import numpy as np
import pytest
from detector_pages import characters, column, paint
from PIL import Image

from tongguocr.layout.peaks import Characters
from tongguocr.layout.skew import FEWEST
from tongguocr.layout.skew import skew_of as skew_on
from tongguocr.page import Pixels

BLANK: Pixels = np.full((800, 700), 230, np.uint8)


def skew_of(chars: Characters) -> float:
    return skew_on(chars, BLANK)


def page(degrees: float, columns: int = 8, count: int = 14, missed: float = 0.0) -> Characters:
    """Columns that lean to the right by these degrees: turned clockwise so far; some characters missed."""
    boxes = np.array([box for k in range(columns) for box in column(60 + 50 * k, 40, count)])
    middles, t = (boxes[:, :2] + boxes[:, 2:]) / 2, np.radians(degrees)
    turned = middles @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) + 300
    turned += np.random.default_rng(1).normal(0, 1.0, turned.shape)
    found = characters([[(x - 15, y - 15, x + 15, y + 15) for x, y in turned.tolist()]])
    return found[np.random.default_rng(2).random(len(found)) >= missed]


@pytest.mark.parametrize("degrees", [-16.0, -8.0, -3.2, 4.0, 9.5, 15.0])
def test_the_skew_is_what_undoes_it(degrees: float) -> None:
    assert skew_of(page(degrees)) == pytest.approx(-degrees, abs=0.4)
    assert skew_of(page(degrees, missed=0.5)) == pytest.approx(-degrees, abs=0.6)


def test_a_straight_page_has_next_to_none() -> None:
    assert abs(skew_of(page(0.0))) < 0.5


def test_few_or_scattered_characters_say_nothing() -> None:
    assert skew_of(page(8.0)[np.arange(FEWEST - 1)]) == 0
    at = np.random.default_rng(5).uniform(0, 900, (120, 2)).tolist()
    assert skew_of(characters([[(x, y, x + 30, y + 30) for x, y in at]])) == 0
    assert skew_of(characters([[(500, 500, 530, 530)] * FEWEST])) == 0


@pytest.mark.parametrize("degrees", [-16.0, -8.0, 9.5, 15.0])
@pytest.mark.parametrize("white", [False, True])
def test_ink_tells_where_the_detector_is_not_sure(degrees: float, white: bool) -> None:
    upright = paint([column(150 + 60 * k, 150, 16) for k in range(7)], 700, 800)
    leaning = np.asarray(Image.fromarray(upright).rotate(-degrees, fillcolor=230))
    unsure = characters([column(100, 100, 30)], score=0.4)
    assert skew_on(unsure, 255 - leaning if white else leaning) == pytest.approx(-degrees, abs=0.4)
    assert abs(skew_on(unsure, upright)) < 0.5 and skew_on(unsure, BLANK) == 0
