"""The bench of turned pages, with a detector that looks where the light is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from detector_pages import characters, column

from bench.turns import measure, tabulate
from tongguocr.layout.peaks import Characters
from tongguocr.page import Page, Pixels, bare_page


class ByLight:
    """A page is upright if its upper left quarter is white; `blind` pages are always said to be upright."""

    def find_characters(self, pixels: Pixels) -> Characters:
        corners = (pixels[0, 0], pixels[0, -1], pixels[-1, -1], pixels[-1, 0])
        quarters = int(np.argmax(corners)) if pixels.max() > 200 else 0
        chars = characters([column(50, 20, 10)])
        return replace(chars, turns=np.eye(4, dtype=np.float32)[[quarters] * 10])


def test_every_way_of_lying_is_counted() -> None:
    seen, blind = np.zeros((40, 60), np.uint8), np.zeros((40, 60), np.uint8)
    seen[:20, :30] = 255
    pages = [bare_page("a.png", seen), bare_page("b.png", blind), Page("c.png", 10, 10)]
    wrong, spent, count = measure(pages, ByLight())  # type: ignore[arg-type]
    assert wrong == {0: [], 90: ["b.png"], 180: ["b.png"], 270: ["b.png"]}
    assert count == 2 and spent >= 0
    table = tabulate(wrong, count)
    assert list(table.columns[1].cells) == ["2", "1", "1", "1", "5"]
