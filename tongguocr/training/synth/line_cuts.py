"""Where the characters of a line image are: its ink, the cuts between them, and section circles among them.

In: a line's grey image and how many characters it has. Out: ink from 0 to 255, and the rows where each
character begins and the last one ends.

Transcriptions leave out section circles, the ○ between two entries of a chronicle. One line in eight of
大越史記全書 has one; unless it is known, the line's characters are looked for in the wrong places, and a
model learns to write something where there is nothing but a circle. A circle is a ring of even ink with
hardly any inside it or around it, which is what tells it from 口, 日 and 四.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.page import Pixels

Floats: TypeAlias = NDArray[np.float32]
Profile: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]
Cuts: TypeAlias = NDArray[np.float32]
"""Where each character begins along a line, and where the last one ends, in pixels."""

PAPER_REACH = 24
"""Paper is looked for so many pixels up and down a line: about one character."""
STIFFNESS = 3.0
"""What uneven cells cost, against the ink that cuts cross."""
CIRCLE = "○"
"""How a circle is written."""
CROSSED_LESS = 0.8
"""Doubtful circles count if the cuts with them cross less ink than without, by this factor."""

# What counts as a circle; lengths in widths of the line.
RADII = (0.2, 0.225, 0.25, 0.275, 0.3, 0.325, 0.35, 0.375, 0.4)
ASIDE = (-0.1, -0.05, 0.0, 0.05, 0.1)
"""How far from the line's middle a circle's centre may be."""
PALEST = 0.22
"""The least ink of a ring, on average."""
INSIDE, AROUND = 2.0, 2.0
"""What ink inside the ring and around it counts against the ring's own."""
SURE = 0.6
"""A ring's score is its evenness, less what counts against it: above this, nearly all are circles."""
DOUBTFUL = 0.25
"""From this score on, half of them are circles; the others are 乃, 大 and 天 above 下."""
QUICK = (0.4, 0.25)
"""The first check: the least ink of a ring's palest quarter, the most ink inside, both against the ring's."""
APART = 0.45
"""Two circles are never nearer to each other."""
_SECTORS, _IN_SECTOR = 12, 4
_ANGLES = np.linspace(0, 2 * np.pi, _SECTORS * _IN_SECTOR, endpoint=False, dtype=np.float32)
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)


def extract_ink(grey: Pixels, dark: float | None = None) -> Pixels:
    """How much ink covers each pixel: darkness between the paper around and `dark`, or the line's black."""
    values = grey.astype(np.float32)
    rows = np.arange(0, len(values), PAPER_REACH // 2)
    # Two thirds of a column is paper; its brighter half is surely so.
    paper = [np.percentile(values[max(r - PAPER_REACH, 0) : r + PAPER_REACH], 70) for r in rows]
    ground = np.interp(np.arange(len(values)), rows, paper)[:, None]
    dark = float(np.percentile(values, 4)) if dark is None else dark
    cover = (ground - values) / np.maximum(ground - dark, 24.0)
    # The paper's own grain is not ink.
    return np.asarray((np.clip(cover * 1.25 - 0.2, 0, 1) * 255).round(), np.uint8)


def cut_cells(ink: Pixels, count: int) -> Cuts:
    """Cut a column into `count` characters where there is little ink and cells stay about equal.

    Dynamic programming over the cuts: each lies within a third of a cell of its even place, costs the ink
    that it crosses, and the cells beside it cost the square of how far they are from the mean.
    """
    profile = ink.astype(np.float64).mean(axis=1) / 255
    inked = np.flatnonzero(profile > 0.02)
    first, last = (int(inked[0]), int(inked[-1]) + 1) if len(inked) else (0, len(profile))
    pitch = (last - first) / count
    reach = int(pitch / 3)
    smooth = np.convolve(np.pad(profile, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    smooth = smooth / max(float(smooth.max()), 1e-6)
    even = first + pitch * np.arange(1, count)
    places = np.clip(even.round()[:, None] + np.arange(-reach, reach + 1), first, last - 1)
    return _best_cuts(places, smooth, float(first), float(last), pitch)


def _best_cuts(places: Profile, profile: Profile, first: float, last: float, pitch: float) -> Cuts:
    """The cheapest way through the cuts' possible places."""
    before, cost, ways = np.array([first]), np.zeros(1), []
    for rows in [*places, np.array([last])]:
        stretch = (rows[None, :] - before[:, None]) / max(pitch, 1e-6) - 1
        total = cost[:, None] + STIFFNESS * stretch**2
        ways.append(total.argmin(axis=0))
        cost = total.min(axis=0) + profile[np.minimum(rows.astype(np.int64), len(profile) - 1)]
        before = rows
    cuts, at = [last], 0
    for k in range(len(places) - 1, -1, -1):
        at = int(ways[k + 1][at])
        cuts.append(float(places[k][at]))
    return np.array([first, *reversed(cuts)], np.float32)


def cut_line(ink: Pixels, count: int) -> tuple[Cuts, tuple[int, ...]]:
    """Where the `count` characters of a line and the circles among them are, and the circles' rows."""
    found = find_circles(ink)
    cuts = cut_cells(ink, count + len(found.sure))
    if found.doubtful:
        more = cut_cells(ink, count + len(found.sure) + len(found.doubtful))
        # With one character too few or too many, cuts run through characters.
        if _crossed(ink, more) < CROSSED_LESS * _crossed(ink, cuts):
            return more, tuple(sorted((*found.sure, *found.doubtful)))
    return cuts, found.sure


def _crossed(ink: Pixels, cuts: Cuts) -> float:
    """Ink under the cuts between characters, on average."""
    return float(ink_at(ink, cuts[1:-1]).mean()) if len(cuts) > 2 else 0.0


def ink_at(ink: Pixels, cuts: Cuts) -> Profile:
    """How much ink each cut crosses, from 0 to 255."""
    rows = np.clip(cuts.round().astype(np.int64), 0, len(ink) - 1)
    return np.asarray(ink[rows].mean(axis=1), np.float64)


class Circles(NamedTuple):
    """Rows of a line's image where circles have their centres."""

    sure: tuple[int, ...]
    doubtful: tuple[int, ...]


def find_circles(ink: Pixels) -> Circles:
    """The section circles of a line."""
    search = _RingSearch(ink)
    rows = search.hollow_rows()
    # Few rows are anything like a circle, so a quick check comes first.
    rows = rows[search.quick_check(rows)]
    scores = search.best(rows)
    found: list[tuple[int, float]] = []
    for score, row in sorted(zip(scores.tolist(), rows.tolist(), strict=True), reverse=True):
        if score < DOUBTFUL:
            break
        if all(abs(row - other) >= APART * search.wide for other, _ in found):
            found.append((row, score))
    found.sort()
    return Circles(
        tuple(row for row, score in found if score >= SURE),
        tuple(row for row, score in found if score < SURE),
    )


class _Places(NamedTuple):
    """Where a circle is looked for, and how large a one."""

    rows: Rows
    x: NDArray[np.float64]
    radii: NDArray[np.float64]


class _RingSearch:
    """One line's ink with paper around it, in which rings are looked for."""

    def __init__(self, ink: Pixels) -> None:
        self.wide = ink.shape[1]
        self.room = round(self.wide * 0.7) + 4
        self.ink: Floats = np.pad(ink.astype(np.float32) / 255, self.room)

    def hollow_rows(self) -> Rows:
        """Rows about whose middle there is hardly any ink: the others need not be looked at."""
        reach, middle = max(round(0.1 * self.wide), 1), self.room + self.wide // 2
        core = self.ink[self.room : len(self.ink) - self.room, middle - reach : middle + reach + 1]
        ink = core.mean(axis=1)
        smooth = np.convolve(np.pad(ink, reach), np.full(2 * reach + 1, 1 / (2 * reach + 1)), "valid")
        return np.flatnonzero(smooth < 0.2)

    def quick_check(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows may have a circle: ink on all sides and little inside, for some radius."""
        least, most = QUICK
        at = self._places(rows, RADII[::2], (0.0,))
        on = np.maximum(self._around(at, -0.8), self._around(at, 0.8))
        strength = np.maximum(on.mean(axis=1), 1e-3)
        palest = on.reshape(len(on), 4, len(_ANGLES) // 4).mean(axis=2).min(axis=1)
        inside = self._around(at, -0.6 * at.radii).mean(axis=1)
        maybe = (palest > least * strength) & (inside < most * strength)
        return np.asarray(maybe.reshape(len(RADII[::2]), len(rows)).any(axis=0))

    def best(self, rows: Rows) -> Floats:
        """Each row's score with the radius and the place that suit it best."""
        scores = self._scores(self._places(rows, RADII, ASIDE))
        return np.asarray(scores.reshape(len(RADII) * len(ASIDE), len(rows)).max(axis=0), np.float32)

    def _places(self, rows: Rows, radii: Sequence[float], aside: Sequence[float]) -> _Places:
        """Every row with every radius and every place aside of the middle, row by row last."""
        radius, by, row = (v.ravel() for v in np.meshgrid(radii, aside, rows + self.room, indexing="ij"))
        return _Places(row, self.room + self.wide * (0.5 + by) - 0.5, radius * self.wide)

    def _scores(self, at: _Places) -> Floats:
        """How much like a circle what is around each place looks."""
        on = np.max([self._around(at, by) for by in (-0.7, 0.0, 0.7)], axis=0)
        sectors = on.reshape(len(on), _SECTORS, _IN_SECTOR).max(axis=2)
        strength = sectors.mean(axis=1)
        inside = np.mean([self._around(at, -part * at.radii).mean(axis=1) for part in (0.8, 0.55)], axis=0)
        outside = self._around(at, np.maximum(2.6, 0.35 * at.radii)).mean(axis=1)
        # One sector may be torn.
        even, boxed = np.sort(sectors, axis=1)[:, 1], self._corners(at).mean(axis=1)
        score = (even - boxed - INSIDE * inside - AROUND * outside) / np.maximum(strength, 1e-3)
        return np.where(strength >= PALEST, score, -1.0).astype(np.float32)

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
