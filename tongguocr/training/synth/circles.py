"""Section circles in line images: ○ between entries of a chronicle, which transcriptions leave out.

In: a line's ink. Out: where along it a circle stands. One line in eight of 大越史記全書 has one; unless it is
known, the line's characters are looked for in the wrong places, and a model learns to write something where
there is nothing but a circle. A circle is a ring of even ink with hardly any inside it or around it, which is
what tells it from 口, 日 and 四.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.page import Pixels

Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.int64]

CIRCLE = "○"
"""How a circle is written."""
_SECTORS, _IN_SECTOR = 12, 4
_ANGLES = np.linspace(0, 2 * np.pi, _SECTORS * _IN_SECTOR, endpoint=False, dtype=np.float32)
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)


@dataclass(frozen=True, slots=True)
class Ring:
    """What counts as a circle; lengths in widths of the line."""

    radii: tuple[float, ...] = (0.2, 0.225, 0.25, 0.275, 0.3, 0.325, 0.35, 0.375, 0.4)
    aside: tuple[float, ...] = (-0.1, -0.05, 0.0, 0.05, 0.1)
    """How far from the line's middle its centre may be."""
    palest: float = 0.22
    """Ink of the ring, on average."""
    inside: float = 2.0
    around: float = 2.0
    """What ink inside the ring and around it counts against the ring's own."""
    least: float = 0.6
    """Evenness of the ring, less what counts against it: above this, nearly all are circles ..."""
    doubtful: float = 0.25
    """... and from here on half of them; the others are 乃, 大 and 天 above 下."""
    glance: tuple[float, float] = (0.4, 0.25)
    """What a quick look asks of a ring's palest quarter, and of the ink inside, both against the ring's."""
    apart: float = 0.45
    """Two circles are never nearer to each other."""


class Circles(NamedTuple):
    """Rows of a line's image where circles have their centres."""

    sure: tuple[int, ...]
    doubtful: tuple[int, ...]


def find_circles(ink: Pixels, ring: Ring = Ring()) -> Circles:
    """The circles of a line."""
    look = _Look(ink, ring)
    rows = look.hollow_rows()
    # A quick look first: few rows are anything like a circle.
    rows = rows[look.glance(rows)]
    scores = look.best(rows)
    found: list[tuple[int, float]] = []
    for score, row in sorted(zip(scores.tolist(), rows.tolist(), strict=True), reverse=True):
        if score < ring.doubtful:
            break
        if all(abs(row - other) >= ring.apart * look.wide for other, _ in found):
            found.append((row, score))
    found.sort()
    return Circles(
        tuple(row for row, score in found if score >= ring.least),
        tuple(row for row, score in found if score < ring.least),
    )


class _Places(NamedTuple):
    """Where a circle is looked for, and how large a one."""

    rows: Rows
    x: NDArray[np.float64]
    radii: NDArray[np.float64]


class _Look:
    """One line's ink with paper around it."""

    def __init__(self, ink: Pixels, ring: Ring) -> None:
        self.wide, self.ring = ink.shape[1], ring
        self.room = round(self.wide * 0.7) + 4
        self.ink: Floats = np.pad(ink.astype(np.float32) / 255, self.room)

    def hollow_rows(self) -> Rows:
        """Rows about whose middle there is hardly any ink: the others need not be looked at."""
        reach, middle = max(round(0.1 * self.wide), 1), self.room + self.wide // 2
        core = self.ink[self.room : len(self.ink) - self.room, middle - reach : middle + reach + 1]
        ink = core.mean(axis=1)
        smooth = np.convolve(np.pad(ink, reach), np.full(2 * reach + 1, 1 / (2 * reach + 1)), "valid")
        return np.flatnonzero(smooth < 0.2)

    def glance(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows may have a circle: ink on all sides and little inside, for some radius."""
        least, most = self.ring.glance
        at = self._places(rows, self.ring.radii[::2], (0.0,))
        on = np.maximum(self._around(at, -0.8), self._around(at, 0.8))
        strength = np.maximum(on.mean(axis=1), 1e-3)
        palest = on.reshape(len(on), 4, len(_ANGLES) // 4).mean(axis=2).min(axis=1)
        inside = self._around(at, -0.6 * at.radii).mean(axis=1)
        maybe = (palest > least * strength) & (inside < most * strength)
        return np.asarray(maybe.reshape(len(self.ring.radii[::2]), len(rows)).any(axis=0))

    def best(self, rows: Rows) -> Floats:
        """Each row's score with the radius and the place that suit it best."""
        scores = self._scores(self._places(rows, self.ring.radii, self.ring.aside))
        tried = len(self.ring.radii) * len(self.ring.aside)
        return np.asarray(scores.reshape(tried, len(rows)).max(axis=0), np.float32)

    def _places(self, rows: Rows, radii: Sequence[float], aside: Sequence[float]) -> _Places:
        """Every row with every radius and every place aside of the middle, row by row last."""
        radius, by, row = (v.ravel() for v in np.meshgrid(radii, aside, rows + self.room, indexing="ij"))
        return _Places(row, self.room + self.wide * (0.5 + by) - 0.5, radius * self.wide)

    def _scores(self, at: _Places) -> Floats:
        """How much like a circle what is around each place looks."""
        ring = self.ring
        on = np.max([self._around(at, by) for by in (-0.7, 0.0, 0.7)], axis=0)
        sectors = on.reshape(len(on), _SECTORS, _IN_SECTOR).max(axis=2)
        strength = sectors.mean(axis=1)
        inside = np.mean([self._around(at, -part * at.radii).mean(axis=1) for part in (0.8, 0.55)], axis=0)
        outside = self._around(at, np.maximum(2.6, 0.35 * at.radii)).mean(axis=1)
        # One sector may be torn.
        even, boxed = np.sort(sectors, axis=1)[:, 1], self._corners(at).mean(axis=1)
        score = (even - boxed - ring.inside * inside - ring.around * outside) / np.maximum(strength, 1e-3)
        return np.where(strength >= ring.palest, score, -1.0).astype(np.float32)

    def _corners(self, at: _Places) -> Floats:
        """Ink at the corners of a square that a circle would fill: places x 4."""
        quarter = len(_ANGLES) // 4
        diagonal = slice(quarter // 2, None, quarter)
        beyond = [self._around(at, by, diagonal) for by in (1.9, 2.6, 0.35 * at.radii)]
        return np.asarray(np.max(beyond, axis=0), np.float32)

    def _around(self, at: _Places, by: NDArray[np.float64] | float, angles: slice = slice(None)) -> Floats:
        """Ink on a circle about each place, its radius changed by so much: places x angles."""
        radius = (at.radii + by)[:, None]
        across, down = at.x[:, None] + radius * _COS[angles], at.rows[:, None] + radius * _SIN[angles]
        left, top = np.floor(across).astype(np.int64), np.floor(down).astype(np.int64)
        u, v = across - left, down - top
        upper = self.ink[top, left] * (1 - u) + self.ink[top, left + 1] * u
        lower = self.ink[top + 1, left] * (1 - u) + self.ink[top + 1, left + 1] * u
        return np.asarray(upper * (1 - v) + lower * v, np.float32)
