"""A page as it was scanned -> the page as it is read, and back: skew undone, white on black exchanged.

In: a page with its `skew` and `inverted`. Out: a page with the pixels and lines that detector, blocks and
engine see (`as_read`), and from its lines those in the pixels of the scan (`as_scanned`): outlines lean as
the text does, and a box is the smallest that holds what leans. A straight page is passed on as it is.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, cos, radians, sin

import numpy as np
from PIL import Image

from tongguocr.geometry import Box, Point, bounds, centre, clip, height, width
from tongguocr.page import Line, Page, Pixels

STRAIGHTEST = 0.2
"""Two numbers, width and height, are told from a leaning box's; near 45 degrees they cannot be."""
SAMPLE = 250_000
"""Pixels by which a page's paper is known."""


def as_read(page: Page) -> Page:
    """The page as its text is read: black on white, its lines upright, on a picture that holds it whole."""
    if not page.inverted and not page.skew:
        return page
    pixels = page.pixels if page.pixels is None or not page.inverted else 255 - page.pixels
    if not page.skew:
        return replace(page, pixels=pixels, inverted=False)
    wide, high = straight_size(page)
    lines = tuple(_straight_line(line, page) for line in page.lines)
    pixels = None if pixels is None else _turned(pixels, page, (wide, high))
    return replace(page, width=wide, height=high, lines=lines, pixels=pixels, inverted=False, skew=0.0)


def as_scanned(read: Page, page: Page) -> Page:
    """The page with the lines that were found or read on its `as_read`."""
    if not page.skew:
        return replace(page, lines=read.lines)
    return replace(page, lines=tuple(_leaning_line(line, page) for line in read.lines))


def straight_size(page: Page) -> tuple[int, int]:
    """Width and height of the picture that holds the page once its skew is undone."""
    c, s = cos(radians(page.skew)), abs(sin(radians(page.skew)))
    return ceil(page.width * c + page.height * s), ceil(page.width * s + page.height * c)


def straight_point(point: Point, page: Page, back: bool = False) -> Point:
    """Where a point of the page lies once its skew is undone, or with `back` the other way."""
    (wide, high), t = straight_size(page), radians(-page.skew if back else page.skew)
    before, after = (page.width / 2, page.height / 2), (wide / 2, high / 2)
    before, after = (after, before) if back else (before, after)
    x, y = point[0] - before[0], point[1] - before[1]
    return x * cos(t) - y * sin(t) + after[0], x * sin(t) + y * cos(t) + after[1]


def _turned(pixels: Pixels, page: Page, size: tuple[int, int]) -> Pixels:
    """The picture with its skew undone; what is beyond its edges is paper."""
    t = radians(page.skew)
    x, y = straight_point((0.0, 0.0), page, back=True)
    way_back = (cos(t), sin(t), x, -sin(t), cos(t), y)
    step = max(int((page.width * page.height / SAMPLE) ** 0.5), 1)
    paper = np.median(pixels[::step, ::step].reshape(-1, *pixels.shape[2:]), axis=0)
    fill = int(paper) if pixels.ndim == 2 else tuple(int(value) for value in paper)
    turned = Image.fromarray(pixels).transform(
        size, Image.Transform.AFFINE, way_back, Image.Resampling.BICUBIC, fillcolor=fill
    )
    return np.asarray(turned)


def _straight_line(line: Line, page: Page) -> Line:
    """A line of the page once its skew is undone."""
    outline = line.polygon and tuple(straight_point(point, page) for point in line.polygon)
    box = bounds(outline) if outline else _straight_box(line.box, page)
    chars = tuple(replace(char, box=_straight_box(char.box, page)) for char in line.chars)
    return replace(line, box=box, polygon=outline, chars=chars)


def _leaning_line(line: Line, page: Page) -> Line:
    """A line of the straight page where it lies on the page; its outline at least says how it leans."""
    x0, y0, x1, y1 = line.box
    corners = line.polygon or ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    outline = tuple(_on_page(straight_point(point, page, back=True), page) for point in corners)
    chars = tuple(replace(char, box=_leaning_box(char.box, page)) for char in line.chars)
    return replace(line, box=bounds(outline), polygon=outline, chars=chars)


def _on_page(point: Point, page: Page) -> Point:
    x, y = point
    return round(min(max(x, 0), page.width), 2), round(min(max(y, 0), page.height), 2)


def _leaning_box(box: Box, page: Page) -> Box:
    """The smallest box of the page that holds a box of the straight page."""
    x, y = straight_point(centre(box), page, back=True)
    c, s = cos(radians(page.skew)), abs(sin(radians(page.skew)))
    wide, high = width(box) * c + height(box) * s, width(box) * s + height(box) * c
    around = clip((x - wide / 2, y - high / 2, x + wide / 2, y + high / 2), page.width, page.height)
    return tuple(round(value, 2) for value in around)  # type: ignore[return-value]


def _straight_box(box: Box, page: Page) -> Box:
    """The box of the straight page that the smallest box around it on the page came from."""
    x, y = straight_point(centre(box), page)
    c, s = cos(radians(page.skew)), abs(sin(radians(page.skew)))
    whole = max(c * c - s * s, STRAIGHTEST)
    wide = max((width(box) * c - height(box) * s) / whole, 1.0)
    high = max((height(box) * c - width(box) * s) / whole, 1.0)
    return (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
