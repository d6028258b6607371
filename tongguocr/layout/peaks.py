"""The network's maps -> characters: seventeen numbers for every 4 x 4 pixels in, boxes, links and kinds out.

The heat map has a peak at each character's centre. What the other maps say at a peak is that character's:
its size, where inside the cell its centre lies, where the next character of its line is, whether there is
none, of which kind it is, and how far it is turned. Looks at several scales are put together here as well.
numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

STRIDE = 4
"""Pixels of a cell's side."""
HEAT, SIZE, SHIFT, NEXT, LAST, KIND, FIRST = 0, slice(1, 3), slice(3, 5), slice(5, 7), 7, slice(8, 12), 12
"""The maps: heat (logit); log width and height; x and y of the centre from the cell's, in cells; x and y to
the next character, in units; the line ends here (logit); scores of the four kinds; the line begins here
(logit)."""
TURN = slice(13, 17)
"""Scores of the four quarter turns: upright, and turned clockwise by 90, 180 and 270 degrees."""
CHANNELS = 17
UPRIGHT = np.array([9, 0, 0, 0], np.float32)
"""The turn of characters whose network tells none."""
TYPICAL = 24.0
"""Pixels of a side whose logarithm is 0."""
SAME = 0.5
"""Of two characters of like size, centres closer than this share of the smaller, one is an echo."""
LIKE = 2.0
"""Sizes are alike up to this ratio; beyond it, the smaller may be a part of the larger."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Characters as found, in pixels; what they say is not known."""

    boxes: Floats
    """n x 4."""
    scores: Floats
    """n, from 0 to 1."""
    following: Floats
    """n x 2: where the centre of the next character of the same line should be."""
    last: Floats
    """n, from 0 to 1: the line ends with this character."""
    kinds: Floats
    """n x 4: how likely each kind is, in the order of `page.KINDS`."""
    first: Floats
    """n, from 0 to 1: the line begins with this character."""
    turns: Floats
    """n x 4: how likely it is upright, or turned clockwise by 90, 180 or 270 degrees."""

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, index: Ints | Flags) -> Characters:
        return Characters(*(part[index] for part in self._parts()))

    def _parts(self) -> tuple[Floats, ...]:
        return self.boxes, self.scores, self.following, self.last, self.kinds, self.first, self.turns

    @property
    def centres(self) -> Floats:
        return np.asarray((self.boxes[:, :2] + self.boxes[:, 2:]) / 2, np.float32)

    @property
    def sides(self) -> Floats:
        """n x 2: widths and heights."""
        return self.boxes[:, 2:] - self.boxes[:, :2]

    @property
    def units(self) -> Floats:
        """The longer side: what distances are measured by, since 一 has next to no height."""
        return np.asarray(self.sides.max(1, initial=0.0), np.float32)

    def moved(self, factor: float, dx: float = 0.0, dy: float = 0.0) -> Characters:
        """Scaled by `factor`, then moved."""
        shift = np.array([dx, dy], np.float32)
        return replace(
            self,
            boxes=self.boxes * np.float32(factor) + np.tile(shift, 2),
            following=self.following * np.float32(factor) + shift,
        )


def nothing() -> Characters:
    return Characters(*(np.zeros(shape, np.float32) for shape in ((0, 4), 0, (0, 2), 0, (0, 4), 0, (0, 4))))


def concatenate(parts: Sequence[Characters]) -> Characters:
    """Characters of several looks, one behind the other."""
    columns = zip(*(part._parts() for part in (nothing(), *parts)), strict=True)
    return Characters(*(np.concatenate(column) for column in columns))


def find_peaks(maps: Floats, threshold: float) -> Characters:
    """The characters that maps (CHANNELS x rows x columns) show with at least this score.

    Maps of a network that was never taught turns end before them: then every character counts as upright.
    """
    heat = maps[HEAT]
    rows, columns = np.nonzero((heat >= np.log(threshold / (1 - threshold))) & _is_highest(heat))
    found = maps[:, rows, columns].T.astype(np.float32)
    centre = (np.stack([columns, rows], 1) + 0.5 + found[:, SHIFT]) * STRIDE
    side = TYPICAL * np.exp(np.clip(found[:, SIZE], -3, 3))
    turns = found[:, TURN] if len(maps) == CHANNELS else 0 * found[:, :4] + UPRIGHT
    return Characters(
        boxes=np.concatenate([centre - side / 2, centre + side / 2], 1).astype(np.float32),
        scores=_sigmoid(found[:, HEAT]),
        following=(centre + found[:, NEXT] * side.max(1, keepdims=True, initial=0)).astype(np.float32),
        last=_sigmoid(found[:, LAST]),
        kinds=_softmax(found[:, KIND]),
        first=_sigmoid(found[:, FIRST]),
        turns=_softmax(turns),
    )


def _softmax(scores: Floats) -> Floats:
    likely = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(likely / likely.sum(1, keepdims=True), np.float32)


def _is_highest(heat: Floats) -> Flags:
    """Cells that no neighbour exceeds; of equal neighbours the first in reading order counts."""
    rows, columns = heat.shape
    padded = np.pad(heat, 1, constant_values=-np.inf)
    highest = np.ones(heat.shape, np.bool_)
    for dy in range(3):
        for dx in range(3):
            beside = padded[dy : dy + rows, dx : dx + columns]
            if (dy, dx) < (1, 1):
                highest &= heat > beside
            elif (dy, dx) > (1, 1):
                highest &= heat >= beside
    return highest


def _sigmoid(x: Floats) -> Floats:
    return (1 / (1 + np.exp(-np.clip(x, -30, 30)))).astype(np.float32)


def near_pairs(points: Floats, others: Floats, reach: float) -> Iterator[tuple[Ints, Ints]]:
    """All pairs (point, other) within one cell of a grid of `reach` pixels, at least those closer than it.

    They come in a few arrays, so that a page of a hundred thousand characters stays cheap.
    """
    if not len(points) or not len(others):
        return
    low = np.minimum(points.min(0), others.min(0))
    own, other = (np.floor((p - low) / max(reach, 1e-3)).astype(np.int64) + 1 for p in (points, others))
    wide = int(max(own[:, 0].max(), other[:, 0].max())) + 2
    keys = other[:, 1] * wide + other[:, 0]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            wanted = (own[:, 1] + dy) * wide + own[:, 0] + dx
            start, stop = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, "right")
            for k in range(int((stop - start).max(initial=0))):
                here = np.flatnonzero(start + k < stop)
                yield here, order[start[here] + k]


def without_echoes(chars: Characters) -> Characters:
    """One character for each: of those that lie on one another the surest stays.

    A much smaller one inside a larger is a part of it, unless two or more of them are surer than the whole:
    then the larger is two rows of a note or a heading taken for one character.
    """
    chars = chars[np.argsort(-chars.scores, kind="stable")]
    if not len(chars):
        return chars
    size = np.sqrt(chars.sides.prod(1))
    echo, surer = np.zeros(len(chars), np.bool_), np.zeros(len(chars), np.int64)
    inside: list[tuple[Ints, Ints]] = []
    for a, b in near_pairs(chars.centres, chars.centres, float(size.max())):
        away = np.abs(chars.centres[a] - chars.centres[b]).max(1)
        alike = np.maximum(size[a], size[b]) < LIKE * np.minimum(size[a], size[b])
        echo[b[(a < b) & alike & (away < SAME * np.minimum(size[a], size[b]))]] = True
        part = (size[a] >= LIKE * size[b]) & _holds(chars.boxes[a], chars.centres[b])
        inside.append((a[part], b[part]))
    whole, part = (np.concatenate(column) for column in zip(*inside, strict=True))
    alive = ~echo[whole] & ~echo[part]
    whole, part = whole[alive], part[alive]
    np.add.at(surer, whole[chars.scores[part] > 0.8 * chars.scores[whole]], 1)
    several = surer > 1
    echo |= several
    echo[part[~several[whole]]] = True
    return chars[~echo]


def _holds(boxes: Floats, points: Floats) -> Flags:
    return np.asarray(((boxes[:, :2] < points) & (points < boxes[:, 2:])).all(1))
