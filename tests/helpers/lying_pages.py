"""Scans that lie on their side or upside down, and a detector that sees how they lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tongguocr.geometry import Box
from tongguocr.layout.detection import Detection
from tongguocr.page import ANGLES, Line, Page, Pixels, turn_page, turn_pixels

SHADES = 7
"""From one line's grey to the next one's."""


def draw(page: Page) -> Page:
    """The page with pixels: every line's box is filled with a grey of its own, from 0 on."""
    pixels = np.full((page.height, page.width), 250, np.uint8)
    for k, line in enumerate(page.lines):
        x0, y0, x1, y1 = map(round, line.box)
        pixels[y0:y1, x0:x1] = SHADES * k
    return replace(page, pixels=pixels)


def scan_of(page: Page, angle: int) -> Pixels:
    """The page's picture as it lies in a scan that has to be turned clockwise by an angle."""
    assert page.pixels is not None
    return turn_pixels(page.pixels, -angle % 360)


def shade_in(pixels: Pixels, box: Box) -> int | None:
    """The number of the line whose grey fills a box; None if no line's does."""
    x0, y0, x1, y1 = map(round, box)
    shades = np.unique(pixels[y0:y1, x0:x1])
    return int(shades[0]) // SHADES if len(shades) == 1 and shades[0] < 250 else None


class Observant:
    """A detector that knows one page, however it lies, and finds its lines in no order."""

    tells_kinds = True

    def __init__(self, page: Page) -> None:
        self.page, self.seen = page, list[int]()
        """The angle of every picture that was looked at."""

    def detect(self, pixels: Pixels) -> Detection:
        assert self.page.pixels is not None
        angle = next(a for a in ANGLES if np.array_equal(turn_pixels(pixels, a), self.page.pixels))
        self.seen.append(angle)
        lines: tuple[Line, ...] = turn_page(self.page, -angle % 360).lines
        return Detection(lines[::-1], angle)
