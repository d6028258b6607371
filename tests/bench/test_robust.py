"""The bench of spoiled pages, with a reader that is right only about pages that stand upright."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bench.robust import (
    CASES,
    Case,
    evenly,
    inverted,
    latin,
    lean,
    measure,
    noise,
    tabulate_cases,
    with_cartouche,
)
from tongguocr.page import Char, Line, Page, Pixels, bare_page


def page(image: str = "p.png") -> Page:
    pixels: Pixels = np.full((120, 100), 240, np.uint8)
    pixels[20:100, 70:80] = 10
    line = Line("l1", (70, 20, 80, 100), "天地")
    return replace(bare_page(image, pixels), lines=(line,))


@dataclass(frozen=True)
class Honest:
    """Reads 天地 on light paper, 天 and a doubt on dark; never tells a skew."""

    def read(self, page: Page, name: str = "") -> Page:
        assert page.pixels is not None
        dark = np.median(page.pixels) < 128
        chars = (Char("天", (0, 0, 9, 9), 0.3 if dark else 0.9),)
        line = Line("l1", (0, 0, 9, 9), "天" if dark else "天地", chars=chars)
        return replace(page, lines=(line,), inverted=bool(dark), warnings=("no.",) if dark else ())


def test_spoiled_pages_are_compared_with_the_page_as_it_is() -> None:
    cases = {"white": CASES["white on black"], "leaning": Case(lean(8), 0.95, -8)}
    tallies = measure(Honest(), [page(), page("q.png")], cases)  # type: ignore[arg-type]
    white, leaning = tallies["white"], tallies["leaning"]
    assert (white.same, white.characters, white.white, white.warned) == (2, 4, 2, 2)
    assert (leaning.same, leaning.characters, leaning.white, leaning.off) == (4, 4, 0, [8.0, 8.0])
    cells = [list(column.cells) for column in tabulate_cases(tallies, cases).columns]
    assert (
        cells[1] == ["50.00", "100.00"] and cells[3] == ["2 of 2", "0 of 2"] and cells[5] == ["0.30", "0.90"]
    )


def test_what_spoils_a_page() -> None:
    upright = page()
    assert (inverted(upright) + upright.pixels == 255).all()  # type: ignore[operator]
    assert lean(90)(upright).shape == (100, 120)
    assert (with_cartouche(upright)[20:100, 70:80] == 245).all() and with_cartouche(upright)[0, 0] == 240
    assert noise(upright).std() > 50 and (latin(upright) < 100).any()


@pytest.mark.parametrize(("of", "count", "wanted"), [(9, 3, [0, 4, 8]), (2, 50, [0, 1])])
def test_pages_are_taken_evenly(of: int, count: int, wanted: list[int]) -> None:
    pages = [page(str(k)) for k in range(of)]
    assert [int(one.image) for one in evenly(pages, count)] == wanted
