"""Lines as an engine found them -> the lines that the layout gave, character by character.

An engine that reads a block as one sequence decides for itself where lines end. Where it agrees with the
layout, line goes to line. Where it found more lines (a note inside a column that the layout gave whole) or
fewer (two lines read in one go), each character's place decides. The order of reading is kept on both sides.
Paper, section 3.2: transitions say where a line ends; geometry has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.base import LineReading, Surplus
from tongguocr.geometry import Box, centre, height, width
from tongguocr.page import Char, Line

Floats = NDArray[np.float64]
Found = Sequence[Sequence[Char]]


# What agreement is worth, in characters of distance.
BREAK_INSIDE = 1.5
"""A given line ends in the middle of a found one."""
JOINED = 0.3
"""Two found lines lie in one given line."""
SKIPPED = 0.5
"""A given line stays empty."""
FARTHEST = 3.0
"""A place further off than this is wrong rather than far: more distance says no more."""
OFF_CENTRE = 0.1
"""What distance from a line's middle costs inside it: rows of a note may overlap."""
SURPLUS = 2.0
"""A stretch whose characters lie this far (median) from the line they would go to belongs to no line."""


def align_by_position(
    found: Found, lines: Sequence[Line]
) -> tuple[tuple[LineReading, ...], tuple[Surplus, ...]]:
    """The readings of `lines` (page pixels, like the characters' boxes), and what lies beside them all."""
    chars = [char for line in found for char in line]
    starts = np.array([k == 0 for line in found for k in range(len(line))], np.bool_)
    if not lines or not chars:
        surplus = tuple(Surplus(-1, tuple(line)) for line in found if line and not lines)
        return tuple(LineReading() for _ in lines), surplus
    apart = distances(chars, [line.box for line in lines], [thickness(line) for line in lines])
    chosen = _best_path(apart, starts)
    return _collect(chars, starts, chosen, apart, len(lines))


def thickness(line: Line) -> float:
    """The line's extent across its direction, at least a pixel."""
    return max(width(line.box) if line.is_vertical else height(line.box), 1.0)


def distances(chars: Sequence[Char], boxes: Sequence[Box], sizes: Sequence[float]) -> Floats:
    """characters x lines: how far each character's centre lies outside each line, in its characters."""
    at = np.array([centre(char.box) for char in chars])[:, None]
    low, high = np.array([box[:2] for box in boxes]), np.array([box[2:] for box in boxes])
    size = np.array(sizes)
    outside = np.hypot(*np.moveaxis(np.maximum(np.maximum(low - at, at - high), 0), -1, 0)) / size
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 0.5)
    # Only across the line, which is the narrower way of its box: its ends are as good as its middle.
    across = half.argmin(1)
    inside = np.minimum((np.abs(at - middle) / half)[:, np.arange(len(half)), across], 1.0)
    apart: Floats = np.minimum(outside, FARTHEST) + OFF_CENTRE * inside
    return apart


def _best_path(apart: Floats, starts: NDArray[np.bool_]) -> list[int]:
    """The given line of each character: never backwards, least total cost."""
    count, lines = apart.shape
    skip = SKIPPED * np.arange(lines)
    cost = apart[0] + skip
    back = np.zeros((count, lines), np.int64)
    for k in range(1, count):
        stay = cost + (JOINED if starts[k] else 0.0)
        # Moving on from line i to j > i leaves j - i - 1 lines empty; a running minimum gives the best i.
        reach = cost - skip
        best = np.minimum.accumulate(reach)
        source = np.maximum.accumulate(np.where(reach <= best, np.arange(lines), 0))
        move = np.full(lines, np.inf)
        move[1:] = best[:-1] + skip[1:] - SKIPPED
        move += 0.0 if starts[k] else BREAK_INSIDE
        back[k] = np.where(stay <= move, np.arange(lines), np.concatenate([[0], source[:-1]]))
        cost = apart[k] + np.minimum(stay, move)
    path = [int((cost + skip[::-1]).argmin())]
    for k in range(count - 1, 0, -1):
        path.append(int(back[k, path[-1]]))
    return path[::-1]


def _collect(
    chars: Sequence[Char],
    starts: NDArray[np.bool_],
    chosen: Sequence[int],
    apart: Floats,
    count: int,
) -> tuple[tuple[LineReading, ...], tuple[Surplus, ...]]:
    """Runs of characters of one found line in one given line; those that lie off are surplus."""
    readings: list[list[Char]] = [[] for _ in range(count)]
    surplus: list[Surplus] = []
    cuts = [k for k in range(len(chars)) if k == 0 or starts[k] or chosen[k] != chosen[k - 1]]
    for start, stop in zip(cuts, [*cuts[1:], len(chars)], strict=True):
        line, run = chosen[start], tuple(chars[start:stop])
        if np.median(apart[start:stop, line]) >= SURPLUS:
            after = line if readings[line] else line - 1
            surplus.append(Surplus(after, run))
        else:
            readings[line] += run
    lines = tuple(LineReading(tuple(run), "read" if run else "empty") for run in readings)
    return lines, tuple(surplus)
