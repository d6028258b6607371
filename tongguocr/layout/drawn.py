"""Drawn rules in the common frame: how much of a stretch they cover, and pieces put together to whole rules.

In: rules as n x 4 arrays, from end to end, as `frame.Drawn` has them. Those along the columns are given with
x and y exchanged (`turned`), so that everything here reads from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tongguocr.layout.frame import Floats, blanks

IN_LINE = 0.3
"""Pieces of one rule lie no farther from each other's line, in thicknesses of the typical line of text."""

LEVEL = 20.0
"""In the same measure as how far pieces may lie from one line: a shorter rule says little about its slope."""


@dataclass(frozen=True, slots=True)
class WholeRule:
    """A straight rule, in pieces or not: y = at + slope * x between two ends."""

    at: float
    slope: float
    pieces: Floats
    """m x 2: where each piece begins and ends."""

    def height(self, x: Floats) -> Floats:
        return np.asarray(self.at + self.slope * x)

    def share(self, low: float, high: float) -> float:
        """The part of a stretch that its pieces cover."""
        return covered(self.pieces, low, high) / max(high - low, 1e-9)


def turned(rules: Floats) -> Floats:
    """The rules with x and y exchanged."""
    return rules[:, [1, 0, 3, 2]]


def covered(intervals: Floats, low: float, high: float) -> float:
    """How much of a stretch lies under intervals (n x 2)."""
    inside = np.clip(intervals, low, high)
    if not len(inside):
        return 0.0
    open_parts = sum(b - a for a, b in blanks(inside[:, 0], inside[:, 1]))
    return float(inside[:, 1].max() - inside[:, 0].min() - open_parts)


def share_ruled(rules: Floats, sides: tuple[float, float], heights: tuple[float, float]) -> float:
    """The part of a stretch between two sides that rules at these heights cover."""
    level = rules[:, [1, 3]].mean(1)
    within = rules[(level >= heights[0]) & (level <= heights[1])]
    return covered(within[:, [0, 2]], *sides) / max(sides[1] - sides[0], 1e-9)


def join_pieces(rules: Floats, near: float) -> list[WholeRule]:
    """Rules whose ends lie no farther than `near` from the line of a longer one are pieces of it."""
    rest = rules[np.argsort(rules[:, 0] - rules[:, 2], kind="stable")]
    whole = []
    while len(rest):
        x0, y0, x1, y1 = rest[0]
        # A short piece does not tell its slope well, and text has been set straight.
        slope = (y1 - y0) / max(x1 - x0, LEVEL * near)
        off = np.abs(rest[:, [1, 3]] - (y0 + slope * (rest[:, [0, 2]] - x0)))
        mine = off.max(1) <= near
        mine[0] = True
        whole.append(WholeRule(float(y0 - slope * x0), float(slope), rest[mine][:, [0, 2]]))
        rest = rest[~mine]
    return whole
