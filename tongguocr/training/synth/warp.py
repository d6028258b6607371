"""Warp: how the camera bends a flat page, and where every label goes.

Parameters come in; `source` tells from which point of the flat page an output pixel is read, `target` where
a point of the flat page lands. A renderer reads its pixels through the one, the labels move by the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tongguocr.geometry import Box, Point
from tongguocr.page import Char, Line, Page

Points: TypeAlias = NDArray[np.float64]
"""Any shape x 2: x and y."""

GUTTER = 0.16
"""How fast the bend towards the binding dies away, as a share of the page's width."""


STRIP = 4.0
"""A page over so many times as high as wide is a strip: its bend moves it sideways by its width, since by its
height it would be folded over itself."""


@dataclass(frozen=True, slots=True)
class Warp:
    """The geometry of one photograph. `width` and `height` are the flat page's; all zero is the identity."""

    width: float
    height: float
    rotation: float = 0.0
    """Radians, counter-clockwise as seen, about the page's centre."""
    perspective: tuple[float, float] = (0.0, 0.0)
    """How much larger the right (lower) half looks than the left (upper) one, as shares."""
    curl: float = 0.0
    """Bend near the binding as a share of the height; positive: the binding is at the right edge."""
    waver: float = 0.0
    """Amplitude of cockled paper in pixels."""
    phases: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    """Where the four waves begin, in turns."""
    offset: Point = (0.0, 0.0)
    """Where the flat page's top left corner would lie on the output, were nothing bent."""

    @property
    def is_plain(self) -> bool:
        """Whether straight lines stay straight and upright: nothing but an offset."""
        return not (self.rotation or any(self.perspective) or self.curl or self.waver)

    def moved(self, dx: float, dy: float) -> Warp:
        """The same page further right and down on a larger output."""
        return replace(self, offset=(self.offset[0] + dx, self.offset[1] + dy))

    def source(self, points: ArrayLike) -> Points:
        """Output points on the flat page."""
        half = np.array([self.width / 2, self.height / 2])
        from_centre = np.asarray(points, np.float64) - np.array(self.offset) - half
        if not self.is_plain:
            from_centre = self._bend(self._tilt(self._turn(from_centre), half), half)
        flat: Points = from_centre + half
        return flat

    def target(self, points: ArrayLike, tolerance: float = 0.005, rounds: int = 60) -> Points:
        """Points of the flat page on the output: `source` undone by fixed-point iteration."""
        wanted = np.asarray(points, np.float64)
        guess: Points = wanted + np.array(self.offset)
        for _ in range(rounds):
            miss = wanted - self.source(guess)
            guess = guess + miss
            if not miss.size or np.abs(miss).max() < tolerance:
                break
        return guess

    def _turn(self, p: Points) -> Points:
        """Undo the turn: y runs downwards, so seen counter-clockwise is this matrix."""
        cos, sin = np.cos(self.rotation), np.sin(self.rotation)
        return np.stack([p[..., 0] * cos - p[..., 1] * sin, p[..., 0] * sin + p[..., 1] * cos], -1)

    def _tilt(self, p: Points, half: Points) -> Points:
        px, py = self.perspective
        depth = 1 + px * p[..., 0] / half[0] + py * p[..., 1] / half[1]
        tilted: Points = p / np.maximum(depth, 0.1)[..., None]
        return tilted

    def _bend(self, p: Points, half: Points) -> Points:
        u, v = p[..., 0] / half[0], p[..., 1] / half[1]
        turns = 2 * np.pi * np.array(self.phases)
        dx = self.waver * (np.sin(2.3 * v + turns[0]) + 0.5 * np.sin(5.1 * v + 1.7 * u + turns[1])) / 1.5
        dy = self.waver * (np.sin(2.9 * u + turns[2]) + 0.5 * np.sin(4.7 * u - 2.2 * v + turns[3])) / 1.5
        if self.curl:
            side = np.sign(self.curl)
            rise = np.exp(-np.clip(1 - side * u, -0.5, 2.0) / 2 / GUTTER) * abs(self.curl)
            # The raised paper near the binding is nearer to the lens and foreshortened.
            dy = dy - rise * self.height * (0.6 * v - 0.4)
            dx = dx + side * rise * min(self.height, STRIP * self.width) * 0.35
        bent: Points = p + np.stack([dx, dy], -1)
        return bent


def warp_box(warp: Warp, box: Box) -> Box:
    """The bounds of a box's warped outline."""
    return _bounds(warp.target(_outline(box, 1)))


def warp_page(page: Page, warp: Warp, width: int, height: int) -> Page:
    """The labels of a flat page on an output of `width` x `height`; bent lines get a polygon as well."""
    lines = tuple(_warp_line(line, warp) for line in page.lines)
    return replace(page, width=width, height=height, lines=lines)


def _warp_line(line: Line, warp: Warp) -> Line:
    corners = np.array([_outline(char.box, 1) for char in line.chars]).reshape(-1, 4, 2)
    boxes = [_bounds(char) for char in warp.target(corners)]
    chars = tuple(Char(c.text, b, c.confidence, c.candidates) for c, b in zip(line.chars, boxes, strict=True))
    if warp.is_plain:
        return replace(line, box=warp_box(warp, line.box), chars=chars)
    ring = warp.target(_outline(line.box, max(len(line.chars) // 3, 2))).round(2).tolist()
    x0s, y0s, x1s, y1s = zip(_bounds(np.array(ring)), *boxes, strict=True)
    return replace(
        line,
        box=(min(x0s), min(y0s), max(x1s), max(y1s)),
        polygon=tuple((x, y) for x, y in ring),
        chars=chars,
    )


def _outline(box: Box, pieces: int) -> Points:
    """A box's corners, clockwise from the top left, each side cut into equal pieces."""
    x0, y0, x1, y1 = box
    corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], np.float64)
    along = np.arange(pieces)[:, None] / pieces
    sides = [a + (b - a) * along for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)]
    return np.concatenate(sides)


def _bounds(points: Points) -> Box:
    flat = points.reshape(-1, 2)
    (x0, y0), (x1, y1) = flat.min(axis=0).round(2).tolist(), flat.max(axis=0).round(2).tolist()
    return (x0, y0, x1, y1)
