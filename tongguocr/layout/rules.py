"""Pixels -> the long straight rules that are drawn on a page: `find_rules`. Reading order asks for them.

The page is made grey and small, and its ink is measured against the paper about it. Across the direction of
the rules it is cut into narrow strips. In each strip a rule is a thin ridge: dark at one height, light a
little above and below it. Ridges of neighbouring strips that lie in line are one rule. So a rule may slant,
bend with the paper, or miss pieces, and text gives few and short ones: between two columns its strokes end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageFilter

from tongguocr.geometry import Point
from tongguocr.layout.frame import Rule
from tongguocr.layout.tiling import is_blank, to_grey
from tongguocr.page import Pixels

Floats: TypeAlias = NDArray[np.float32]

# Lengths are pixels of the small picture.
LONGER_SIDE = 1500
"""The page is reduced a whole number of times, until no side is longer."""
STRIPS = 80
"""How many strips the longer side is cut into."""
NARROWEST = 8
"""No strip is narrower."""
PAPER = 8
"""The paper's light is the lightest of so many pixels each way, of a picture four times smaller."""
BESIDE = (4, 7, 11)
"""So far above and below a rule there is paper: nearer where something else is close by, farther where the
rule is heavy."""
FAINT = 0.07
"""The least contrast of a rule in a strip, where that of the page's ink is 1."""
CLEAR = 0.2
"""The mean contrast of a rule of four strips; one four times as long may be as faint as this over two."""
LEAST_INK = 24
"""Grey levels: what is lighter than this against the paper is no ink."""
WHOLE = 0.75
"""The share of a strip's width that a rule covers, and of the strips from its one end to the other."""
ROUGH = 0.7
"""How much its slope changes from strip to strip, in pixels, on average; twice as much if it is as long."""
ASTRAY = 1.3
"""A rule's ridge lies no farther than this from where those before it point."""
MEMORY = 8
"""So many ridges say where a rule goes on."""
MISSING = 2
"""A rule goes on if it misses no more strips than this."""
FEWEST = 3
"""A rule is seen in at least so many strips."""
STEEPEST = 0.08
"""A rule rises or falls by no more than this part of its length."""


@dataclass(frozen=True, slots=True)
class Track:
    """A rule as it is followed from strip to strip."""

    strips: list[int]
    at: list[float]
    """Where it lies along each of these strips."""
    contrast: list[float]

    def expected(self, strip: int) -> float:
        """Where it should lie in a strip, by its last ridges."""
        first = max(len(self.at) - MEMORY, 0)
        if len(self.at) == 1:
            return self.at[0]
        slope = (self.at[-1] - self.at[first]) / (self.strips[-1] - self.strips[first])
        return self.at[-1] + slope * (strip - self.strips[-1])

    def is_drawn(self) -> bool:
        """Whether it is clear, without many gaps and as smooth as a drawn rule: speckle and text are not."""
        if len(self.at) < FEWEST or len(self.at) < WHOLE * (self.strips[-1] - self.strips[0] + 1):
            return False
        sure = float(np.sqrt(len(self.at) / 4))
        bends = np.diff(np.diff(self.at) / np.diff(self.strips))
        smooth = float((bends**2).mean()) ** 0.5 <= ROUGH * sure
        return smooth and bool(np.mean(self.contrast) * sure >= CLEAR)


def find_rules(pixels: Pixels) -> tuple[Rule, ...]:
    """The rules of a page, those that lie first."""
    times = -(-max(pixels.shape[:2]) // LONGER_SIDE)
    # An odd row or column at the edge is left out: then reducing is a matter of whole squares, and fast.
    high, wide = (max(side // times * times, min(side, 1)) for side in pixels.shape[:2])
    grey = to_grey(pixels[:high, :wide], 1 / times)
    if is_blank(grey):
        return ()
    ink, dark = ink_of(grey)
    scale = wide / grey.shape[1], high / grey.shape[0]
    step = max(round(max(grey.shape) / STRIPS), NARROWEST)
    lying = _rules(follow(ridges(ink, dark, step)), step)
    standing = _rules(follow(ridges(ink.transpose(Image.Transpose.TRANSPOSE), dark, step)), step)
    turned = [((y0, x0), (y1, x1)) for (x0, y0), (x1, y1) in standing]
    return tuple((_scaled(a, scale), _scaled(b, scale)) for a, b in [*lying, *turned])


def _scaled(point: Point, scale: tuple[float, float]) -> Point:
    return (point[0] * scale[0], point[1] * scale[1])


def ink_of(grey: Pixels) -> tuple[Image.Image, float]:
    """How much darker each pixel is than the paper about it, in grey levels; and how dark ink is."""
    picture = Image.fromarray(grey)
    light = np.asarray(picture.reduce(4))
    down, across = -(-light.shape[0] // PAPER), -(-light.shape[1] // PAPER)
    edge = ((0, down * PAPER - light.shape[0]), (0, across * PAPER - light.shape[1]))
    squares = np.pad(light, edge, mode="edge").reshape(down, PAPER, across, PAPER).max((1, 3))
    # A black ground is no paper, though it may fill squares: it is measured against what lies about it.
    around = Image.fromarray(squares).filter(ImageFilter.MaxFilter(3))
    paper = around.resize(picture.size, Image.Resampling.BILINEAR)
    ink = ImageChops.subtract(paper, picture)
    on_paper = Image.fromarray((squares > squares.max() / 2).astype(np.uint8)).resize(picture.size)
    share = np.cumsum(ink.histogram(on_paper))
    return ink, max(float(np.searchsorted(share, 0.98 * share[-1])), LEAST_INK)


def ridges(ink: Image.Image, dark: float, wide: int) -> list[list[tuple[float, float]]]:
    """For each strip from left to right: place and contrast of what lies, thin and through its width."""
    count = max(ink.width // wide, 1)
    height = np.asarray(ink.reduce((wide, 1)), np.float32).T[:count] / np.float32(dark)
    contrast = height - np.minimum.reduce([np.maximum(*_shifted(height, k)) for k in BESIDE])
    before, after = _shifted(height, 1)
    strip, at = np.nonzero((contrast >= FAINT) & (height >= before) & (height > after))
    through = _share_inked(np.asarray(ink), strip, at, wide, 0.5 * dark * height[strip, at]) >= WHOLE
    strip, at = strip[through], at[through]
    a, b, c = (part[strip, at] for part in (before, height, after))
    place = (at + 0.5 * (a - c) / (a - 2 * b + c)).tolist()
    found: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    for k, where, clear in zip(strip.tolist(), place, contrast[strip, at].tolist(), strict=True):
        found[k].append((where, clear))
    return found


def _shifted(height: Floats, by: int) -> tuple[Floats, Floats]:
    """What lies so many pixels above each place of each strip, and what lies below."""
    rows = height.shape[1]
    around = np.pad(height, ((0, 0), (by, by)), mode="edge")
    return around[:, :rows], around[:, 2 * by :]


def _share_inked(
    ink: Pixels, strip: NDArray[np.intp], at: NDArray[np.intp], wide: int, least: Floats
) -> Floats:
    """The share of each ridge's width that has ink; one that slants has it in two rows or three."""
    rows = np.clip(at[:, None] + (-1, 0, 1), 0, len(ink) - 1)
    columns = np.minimum(strip[:, None] * wide + np.arange(wide), ink.shape[1] - 1)
    band = ink[rows[:, :, None], columns[:, None, :]].max(1)
    return np.asarray((band > least[:, None]).mean(1))


def follow(found: list[list[tuple[float, float]]]) -> list[Track]:
    """Ridges in line from strip to strip; every ridge is in one track."""
    tracks: list[Track] = []
    live: list[Track] = []
    for strip, points in enumerate(found):
        live = [track for track in live if strip - track.strips[-1] <= MISSING + 1]
        waiting = sorted(((track.expected(strip), n) for n, track in enumerate(live)), reverse=True)
        for at, contrast in points:
            while waiting and waiting[-1][0] < at - ASTRAY:
                waiting.pop()
            if waiting and waiting[-1][0] <= at + ASTRAY:
                track = live[waiting.pop()[1]]
            else:
                track = Track([], [], [])
                tracks.append(track)
            track.strips.append(strip)
            track.at.append(at)
            track.contrast.append(contrast)
        live += [track for track in tracks[-len(points) :] if points and track.strips == [strip]]
    return tracks


def _rules(tracks: list[Track], wide: int) -> list[Rule]:
    """Straight lines through tracks, with x from strip to strip and y along each; one for each piece."""
    rules: list[Rule] = []
    for track in tracks:
        if track.is_drawn():
            strips, y = np.array(track.strips), np.array(track.at)
            away = strips - strips.mean()
            slope = float((away * y).sum() / (away**2).sum())
            for piece in np.split(strips, np.flatnonzero(np.diff(strips) > 1) + 1):
                ends = (float(piece[0]), float(piece[-1] + 1))
                a, b = ((wide * x, float(y.mean() + slope * (x - 0.5 - strips.mean()))) for x in ends)
                rules += [(a, b)] if abs(slope) <= STEEPEST * wide else []
    return rules
