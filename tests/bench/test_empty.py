"""Crops without text: where they are cut, and what is counted on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.empty import (
    DRAWN,
    EACH,
    Crop,
    bare_rests,
    drawn_crops,
    gaps,
    margins,
    report,
    rests,
    slices,
    write_on,
)
from bench.nomna import Label, LabelledPage
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.page import Char, Line, Page
from tongguocr.reader import Reader


def made(rest: int = 220) -> LabelledPage:
    """Three columns, the middle one short; what stands below it has this grey."""
    pixels = np.full((420, 160), 220, np.uint8)
    boxes = ((110.0, 10.0, 134.0, 400.0), (80.0, 10.0, 104.0, 150.0), (50.0, 10.0, 74.0, 400.0))
    for x0, y0, x1, y1 in boxes:
        pixels[int(y0) : int(y1) : 3, int(x0) : int(x1)] = 20
    pixels[170:400:3, 80:104] = rest
    return LabelledPage("page", pixels, tuple(Label(f"l{k}", b, "天") for k, b in enumerate(boxes)), ())


class Writes(Engine):
    """Writes as many characters as it is told on every line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        chars = tuple(Char(c, (0.0, 0.0, 9.0, 9.0), 0.9) for c in self.text)
        return [BlockReading((LineReading(chars, "read" if chars else "empty"),)) for _ in blocks]


def test_drawn_crops_are_the_same_every_time() -> None:
    once, again = list(drawn_crops()), list(drawn_crops())
    assert len(once) == EACH * len(DRAWN) and {crop.kind for crop in once} == set(DRAWN)
    assert all(np.array_equal(a.pixels, b.pixels) for a, b in zip(once, again, strict=True))


def test_real_crops_touch_no_line() -> None:
    page = made()
    assert list(gaps(page)) == [(104.0, 10.0, 110.0, 150.0), (74.0, 10.0, 80.0, 150.0)]
    assert list(bare_rests(page)) == [(80.0, 158.0, 104.0, 400.0)]
    ((left, _, right, _),) = slices(page)
    assert 68 <= left < 74 and 110 < right <= 116


def test_what_is_dark_below_a_column_may_be_text() -> None:
    assert not list(rests(made(rest=40)))
    shown = made(rest=150)
    assert len(list(rests(shown))) == 1 and not list(bare_rests(shown))


def test_margins_lie_above_and_below() -> None:
    page = Page("", 200, 500, (Line("l1", (50, 100, 150, 450)),))
    assert {box[3] <= 100 or box[1] >= 450 for box in margins(page, 20)} == {True}
    assert len(list(margins(page, 20))) == 6


def test_characters_and_crops_are_counted() -> None:
    crops = [Crop(kind, kind, np.full((90, 30), 200, np.uint8)) for kind in ("paper", "paper", "rules")]
    written = {"ours": [write_on(crop, Reader(Writes("一二"))) for crop in crops], "peer": ["", "一", ""]}
    columns = [list(column.cells) for column in report(crops, written).columns]
    assert columns[0] == ["paper", "rules", "all"] and columns[2] == ["4", "2", "6"]
    assert columns[4] == ["1", "0", "1"] and columns[5] == ["1", "0", "1"]
