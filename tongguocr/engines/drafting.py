"""A block's lines and features -> a draft of its whole text, which the decoder checks many tokens at a time.

Most of a text is known before the decoder begins: the detector saw where characters stand, or ink along the
line tells, and the dense head names what stands in a place (training/recogniser/model.py). Between lines
stands the transition of paper 3.2 that leads from place to place. The decoder is fed a stretch of the draft
at once; what it gives after each token is what it would have given in single steps, as long as all that was
fed before is what it said itself: the same token, read in the same place. Places are rounded for that
(`on_grid`), and in single steps too, so that a draft can be right and both ways read the same. From the
first disagreement on, its own word counts, and the rest of the draft is laid against the page anew. A bad
draft costs time, and never decides what is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.base import BlockInput
from tongguocr.engines.prepare import INNER, Picture, Prepared
from tongguocr.geometry import Box, Point, centre
from tongguocr.page import Line
from tongguocr.tokens.codec import SPECIALS
from tongguocr.tokens.transitions import TRANSITIONS, transition

Floats = NDArray[np.float32]

CELLS = 10
"""Steps along a line to a character, where its characters are told from ink."""
SHORTEST_CELL, LONGEST_CELL = 6, 14
"""Steps that a character takes at the least and at the most."""
STIFFNESS = 3.0
"""What a character of twice the usual length costs, where a cut through full ink costs 1."""
FAINT = 0.15
"""Ink below this share of the line's strongest is paper."""
SHORTEST_RUN, FIRST_RUN, LONGEST_RUN = 8, 32, 64
"""Tokens that are fed at once: fewer after a disagreement, more after none."""
AHEAD = 12
"""How much of a draft is searched for the place that was read last."""
SAME_CHARACTER = 0.5
"""Places this near, in characters, are one character's when a draft is laid against the page anew."""


@dataclass(frozen=True, slots=True)
class Read:
    """A token and where it was read, x and y in features."""

    token: int
    place: Point


def on_grid(place: Point, parts: int) -> Point:
    """A place as it is fed: rounded to so many parts of a feature."""
    return (round(place[0] * parts) / parts, round(place[1] * parts) / parts)


def line_places(block: BlockInput, picture: Prepared, stride: int) -> list[list[Point]]:
    """Where the characters of each of the block's lines are likely to stand, in features of the picture."""
    unknown = [_on_picture(line.box, block, picture) for line in block.lines]
    cuts = iter(_cut_all(picture, [(b, k) for b, k in zip(unknown, block.lines, strict=True) if not k.chars]))
    places: list[list[Point]] = []
    for line in block.lines:
        if line.chars:
            found = [centre(_on_picture(char.box, block, picture)) for char in line.chars]
        else:
            found = next(cuts)
        if line.direction in ("bottom-to-top", "right-to-left") and not line.chars:
            found = found[::-1]
        places.append([(x / stride, y / stride) for x, y in found])
    return places


def _on_picture(box: Box, block: BlockInput, picture: Prepared) -> Box:
    """A box of the crop's canvas in pixels of the picture."""
    x0, y0, x1, y1 = block.crop.to_page(box)
    (left, top), (across, down) = picture.origin, picture.scale
    return ((x0 - left) * across, (y0 - top) * down, (x1 - left) * across, (y1 - top) * down)


def _cut_all(picture: Prepared, lines: Sequence[tuple[Box, Line]]) -> list[list[Point]]:
    """Centres of the characters of lines of which only boxes are known, told from ink."""
    step = max(picture.character / CELLS, 1.0)
    inks = [_ink(picture.picture, box, line.is_vertical, step) for box, line in lines]
    found = []
    for (box, line), cells in zip(lines, _cut(inks), strict=True):
        start, middle = (box[1], centre(box)[0]) if line.is_vertical else (box[0], centre(box)[1])
        along = [max(start, 0.0) + at * step for at in cells]
        found.append([(middle, at) if line.is_vertical else (at, middle) for at in along])
    return found


def _ink(picture: Picture, box: Box, vertical: bool, step: float) -> Floats:
    """How much ink each step of a line has, the strongest being 1."""
    x0, y0, x1, y1 = (max(round(value), 0) for value in box)
    cut = picture[y0:y1, x0:x1]
    cut = cut if vertical else cut.T
    margin = round((1 - INNER) / 2 * cut.shape[1])
    cut = cut[:, margin : max(cut.shape[1] - margin, margin + 1)]
    count = int(cut.shape[0] / step)
    if not count or not cut.shape[1]:
        return np.zeros(0, np.float32)
    profile = np.maximum(np.percentile(cut, 90) - cut, 0).mean(1)
    ends = (np.arange(count) * step).astype(np.int64)
    ink = np.add.reduceat(profile, ends) / np.diff([*ends, len(profile)])
    return (ink / max(float(np.percentile(ink, 95)), 1e-6)).astype(np.float32)


def _cut(inks: Sequence[Floats]) -> list[list[float]]:
    """Middles of the characters along each line: cuts through as little ink as can be, at about equal steps.

    All lines together, step by step: `best[k]` is what the cuts up to one at k cost at the least.
    """
    if not inks:
        return []
    spans = [_inked(ink) for ink in inks]
    longest = max(stop - start for start, stop in spans)
    steps = np.arange(SHORTEST_CELL, LONGEST_CELL + 1)
    price = STIFFNESS * ((steps - CELLS) / CELLS) ** 2
    ink = np.zeros((len(inks), longest + 1), np.float32)
    for row, ((start, stop), values) in enumerate(zip(spans, inks, strict=True)):
        ink[row, : stop - start] = np.minimum(values[start:stop], 1)
        ink[row, stop - start :] = 0
    best = np.full((len(inks), LONGEST_CELL + longest + 1), np.inf)
    best[:, LONGEST_CELL] = 0
    chosen = np.zeros((len(inks), longest + 1), np.int64)
    for at in range(1, longest + 1):
        costs = best[:, at + LONGEST_CELL - steps] + price
        chosen[:, at] = costs.argmin(1)
        best[:, at + LONGEST_CELL] = costs[np.arange(len(inks)), chosen[:, at]] + ink[:, at]
    return [
        _trace(start, stop - start, best[row, LONGEST_CELL:], steps[chosen[row]])
        for row, (start, stop) in enumerate(spans)
    ]


def _inked(ink: Floats) -> tuple[int, int]:
    """From the first step with ink to behind the last one."""
    inked = np.flatnonzero(ink > FAINT)
    return (int(inked[0]), int(inked[-1]) + 1) if len(inked) else (0, 0)


def _trace(start: int, length: int, best: NDArray[np.float64], back: NDArray[np.int64]) -> list[float]:
    """The middles between the best cuts of one line, whose last one may lie a little before its end."""
    if not length:
        return []
    if length <= SHORTEST_CELL:
        return [start + length / 2]
    low = max(length - CELLS // 3, 1)
    at = low + int(best[low : length + 1].argmin())
    if not np.isfinite(best[at]):
        return [start + length / 2]
    cuts = [at]
    while at > 0:
        at -= int(back[at])
        cuts.append(at)
    cuts.reverse()
    return [start + (a + b) / 2 for a, b in pairwise(cuts)]


def features_at(dense: Floats, places: Sequence[Point], grid: tuple[int, int]) -> Floats:
    """What the dense head sees at each place: between four features, as it was taught."""
    rows, columns = grid
    at = np.clip(np.array(places, np.float32).reshape(-1, 2) - 0.5, 0, (columns - 1, rows - 1))
    low = at.astype(np.int64)
    share = (at - low).astype(np.float32)[:, None]
    table = dense.reshape(rows, columns, -1)
    (x, y), (u, v) = low.T, (np.minimum(low[:, 0] + 1, columns - 1), np.minimum(low[:, 1] + 1, rows - 1))
    dx, dy = share[..., 0], share[..., 1]
    top = table[y, x] * (1 - dx) + table[y, u] * dx
    result: Floats = top * (1 - dy) + (table[v, x] * (1 - dx) + table[v, u] * dx) * dy
    return result


def join_lines(
    lines: Sequence[Sequence[Point]], named: Sequence[int], grid: tuple[int, int], parts: int
) -> list[Read]:
    """The draft: each line's characters, and before all but the first the transition that leads to it."""
    draft: list[Read] = []
    names = iter(named)
    for points in lines:
        if not points:
            continue
        if draft:
            (x0, y0), (x1, y1) = draft[-1].place, points[0]
            moved = transition((x1 - x0) / grid[1], (y1 - y0) / grid[0])
            draft.append(Read(len(SPECIALS) + TRANSITIONS.index(moved), on_grid(points[0], parts)))
        draft += [Read(next(names), on_grid(point, parts)) for point in points]
    return draft


@dataclass
class Follower:
    """Goes along a draft: says what is fed next, and how much of what came out may be kept."""

    draft: list[Read]
    character: float
    """In features."""
    at: int = 0
    """The first of the draft that was not checked yet."""
    length: int = FIRST_RUN
    passes: int = 0

    def run(self) -> list[Read]:
        """What to feed behind the last token that is certain."""
        return self.draft[self.at : self.at + self.length - 1]

    def settle(self, given: Sequence[Read]) -> int:
        """`given` came out after the certain token and each that `run` said; how many of them are certain."""
        fed, self.passes = self.run(), self.passes + 1
        kept = 1
        while kept <= len(fed) and fed[kept - 1] == given[kept - 1]:
            kept += 1
        before = self.at + kept - 1
        old, last = self.draft, given[kept - 1]
        if kept == len(given):
            self.length = min(2 * self.length, LONGEST_RUN)
        else:
            self.length = max(SHORTEST_RUN, min(self.length, 2 * kept + SHORTEST_RUN))
            # What came out after the tokens that were fed in vain is a better draft than they were.
            fresh = given[kept:]
            self.draft = [*old[: before + 1], *fresh, *old[before + 1 + len(fresh) :]]
        self.at = _behind(old, before, last, SAME_CHARACTER * self.character)
        return kept


def _behind(draft: Sequence[Read], start: int, last: Read, reach: float) -> int:
    """Where to go on in a draft: behind the first, from `start` on, that stands where `last` was read."""
    ahead = range(start, min(start + AHEAD, len(draft)))
    near = [k for k in ahead if dist(draft[k].place, last.place) < reach]
    same = [k for k in near if draft[k].token == last.token]
    return (same or near)[0] + 1 if near else start
