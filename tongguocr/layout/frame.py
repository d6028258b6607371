"""Lines and rules -> one upright frame, a `View`: columns stand, and are read from right to left.

The steps of reading order see this frame only. Columns read from left to right are mirrored into it, rows
are turned into it, and a page photographed at a slant of up to three degrees is set straight: by the lines'
polygons where most lines have one, otherwise by the slant at which most lines begin, end and stack evenly.
Nothing depends on the page's size or on where its corner lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Point, height, width
from tongguocr.page import Line

WritingMode: TypeAlias = Literal["vertical-rl", "vertical-lr", "horizontal"]
"""How the lines of a page follow each other: columns leftwards, columns rightwards, or rows downwards."""
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Rule: TypeAlias = tuple[Point, Point]
"""Where a drawn rule begins and ends, in page pixels."""

LONG = 1.5
"""A box is long one way if it is this many times as long as wide."""
LYING = 1.8
"""A line in a page of columns lies if it is this many times as wide as high."""
STEEPEST = 3.4
"""Degrees: the search for the slant goes a little beyond the three that we promise."""
BETTER = 1.15
"""A slant is believed only if it lines the page up this much better than none."""
THINNEST = 1e-3
"""Pixels; lines that are thinner have no breadth to measure by."""
FEWEST = 5
"""Fewer lines than this say nothing about a slant."""
IN_TEXT = 0.5
"""A rule of which so much lies inside of lines is none."""
SOME = 3
"""Characters from which on a line says how far they are apart."""
AS_THICK = 0.8
"""Lines thinner than this part of the typical one say nothing about it."""
NOTES = 0.92
"""No more of the text than this, by length, is notes, which are thinner than the main text."""
SHARP = 0.09
"""Of a thin line's thickness: how close edges must come to count as even."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The rules of a page in the common frame. None at all is an answer, too: somebody looked."""

    across: Floats
    """n x 4: rules that run across the columns, x and y of the left end, x and y of the right end."""
    down: Floats
    """n x 4: rules that run along the columns, x and y of the upper end, x and y of the lower end."""


@dataclass(frozen=True, slots=True)
class View:
    """A page in the common frame."""

    boxes: Floats
    """n x 4: one a line, none without area."""
    cell: float
    """From one character of the main text to the next; a line's thickness where characters are not known."""
    drawn: Drawn | None = None
    """None where nobody looked for rules."""


def guess_writing_mode(lines: tuple[Line, ...]) -> WritingMode:
    """Rows if two or more long boxes lie and they outweigh, by length, those that stand; else columns."""
    lying = [width(line.box) for line in lines if width(line.box) > LONG * height(line.box)]
    standing = [height(line.box) for line in lines if height(line.box) > LONG * width(line.box)]
    return "horizontal" if len(lying) > 1 and sum(lying) > sum(standing) else "vertical-rl"


def upright(lines: tuple[Line, ...], writing: WritingMode, rules: Sequence[Rule] | None = None) -> View:
    """The lines' boxes and the rules in the common frame, set straight."""
    boxes = turn_upright(np.array([line.box for line in lines], np.float64), writing)
    size = typical(boxes)
    angle = _polygon_angle(lines, writing)
    if angle is None:
        angle = _even_angle(boxes)
        boxes = straightened(boxes, angle)
    else:
        boxes = np.array([_straight_polygon(line, writing, angle) for line in lines])
    boxes = _solid(boxes, size)
    drawn = None if rules is None else _straight_rules(rules, writing, angle, boxes)
    return View(boxes, _cell(lines, boxes), drawn)


def _cell(lines: tuple[Line, ...], boxes: Floats) -> float:
    """The usual distance of characters in the thicker lines, by length; else the typical thickness."""
    size = typical(boxes)
    count = np.array([len(line.chars) for line in lines])
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    telling = (count >= SOME) & (w >= AS_THICK * size) & (h > w)
    if not telling.any():
        return size
    pitch, weight = h[telling] / count[telling], count[telling]
    order = np.argsort(pitch, kind="stable")
    total = np.cumsum(weight[order])
    return float(pitch[order][np.searchsorted(total, total[-1] / 2)])


def _straight_rules(rules: Sequence[Rule], writing: WritingMode, angle: float, boxes: Floats) -> Drawn:
    """The rules turned and set straight as the lines are, each from left to right or from top to bottom.

    What lies inside of lines is strokes of their characters, and is left out.
    """
    x, y = turn_points(np.array(rules, np.float64).reshape(-1, 2), writing).T
    c, s = np.cos(angle), np.sin(angle)
    ends = np.stack([c * x + s * y, c * y - s * x], axis=1).reshape(-1, 4)
    lies = np.abs(ends[:, 2] - ends[:, 0]) >= np.abs(ends[:, 3] - ends[:, 1])
    along = np.where(lies, ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])
    ends[along < 0] = ends[along < 0][:, [2, 3, 0, 1]]
    outside = _share_inside(ends, boxes) < IN_TEXT
    return Drawn(ends[lies & outside], ends[~lies & outside])


def _share_inside(ends: Floats, boxes: Floats) -> Floats:
    """The part of each rule that lies well inside of a line's box."""
    along = (np.arange(8) + 0.5) / 8
    points = ends[:, None, :2] + along[None, :, None] * (ends[:, None, 2:] - ends[:, None, :2])
    margin = 0.1 * typical(boxes)
    x, y = points[..., 0, None], points[..., 1, None]
    inside = (x > boxes[:, 0] + margin) & (x < boxes[:, 2] - margin)
    inside &= (y > boxes[:, 1] + margin) & (y < boxes[:, 3] - margin)
    return np.asarray(inside.any(2).mean(1))


def typical(boxes: Floats, share: float = 0.5) -> float:
    """The thickness of the typical line: half of all text, or another share of it, by length, is no thicker.

    1 where no box has any.
    """
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    order = np.argsort(w, kind="stable")
    total = np.cumsum(h[order])
    if not len(w) or total[-1] <= 0:
        return 1.0
    return float(w[order][np.searchsorted(total, share * total[-1])]) or 1.0


def middle(boxes: Floats) -> Floats:
    """n: the middles of boxes from side to side."""
    return np.asarray((boxes[:, 0] + boxes[:, 2]) / 2)


def lies(boxes: Floats) -> Flags:
    """Whether each line lies: much wider than high, and not merely one flat character."""
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return np.asarray((w > LYING * h) & (w > 1.5 * typical(boxes)))


def blanks(low: Floats, high: Floats) -> list[tuple[float, float]]:
    """The stretches of an axis that no interval covers, between the first and the last."""
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    starts = low[order][1:]
    return [(float(a), float(b)) for a, b in zip(reach[:-1], starts, strict=True) if b > a]


def straightened(boxes: Floats, angle: float) -> Floats:
    """The boxes of slanting lines -> those of the same lines turned upright about the origin.

    The box around a slanting line is wider and higher than the line; both sizes follow from its own.
    """
    if angle == 0.0:
        return boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    c, s = np.cos(angle), np.sin(angle)
    x, y = c * x + s * y, c * y - s * x
    flat = c * c - s * s
    s = abs(s)
    w, h = np.maximum((c * w - s * h) / flat, 0.3 * w), np.maximum((c * h - s * w) / flat, 0.3 * h)
    return np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1)


def turn_upright(boxes: Floats, writing: WritingMode) -> Floats:
    """Boxes of the page in the frame where columns stand and follow each other from right to left."""
    x0, y0, x1, y1 = boxes.T
    if writing == "vertical-lr":
        return np.stack([-x1, y0, -x0, y1], axis=1)
    if writing == "horizontal":
        return np.stack([-y1, x0, -y0, x1], axis=1)
    return boxes


def turn_points(points: Floats, writing: WritingMode) -> Floats:
    """n x 2: points of the page in the frame where columns stand and follow each other from right to left."""
    x, y = points.T
    if writing == "vertical-lr":
        return np.stack([-x, y], axis=1)
    if writing == "horizontal":
        return np.stack([-y, x], axis=1)
    return points


def _polygon(line: Line, writing: WritingMode) -> Floats:
    return turn_points(np.array(line.polygon, np.float64), writing)


def _polygon_angle(lines: tuple[Line, ...], writing: WritingMode) -> float | None:
    """The middle slant of the long lines' polygons, in radians; None where few lines have a polygon."""
    found = []
    for line in lines:
        if line.polygon is not None and len(line.polygon) >= 4:
            points = _polygon(line, writing)
            points = points - points.mean(axis=0)
            spread = np.linalg.svd(points, full_matrices=False)
            x, y = spread[2][0] if spread[2][0][1] > 0 else -spread[2][0]
            if spread[1][0] > 3 * spread[1][1] and abs(x) < 0.2 * abs(y):
                found.append((float(np.arctan2(-x, y)), float(spread[1][0])))
    if 2 * sum(line.polygon is not None for line in lines) < len(lines) or not found:
        return None
    found.sort()
    total = np.cumsum([weight for _, weight in found])
    return found[int(np.searchsorted(total, total[-1] / 2))][0]


def _straight_polygon(line: Line, writing: WritingMode, angle: float) -> Floats:
    if line.polygon is None or len(line.polygon) < 4:
        return straightened(turn_upright(np.array([line.box], np.float64), writing), angle).reshape(4)
    x, y = _polygon(line, writing).T
    c, s = np.cos(angle), np.sin(angle)
    x, y = c * x + s * y, c * y - s * x
    return np.array([x.min(), y.min(), x.max(), y.max()])


def _even_angle(boxes: Floats) -> float:
    """The slant, in radians, at which heads, feet and middles of lines agree most."""
    # Slant swells the boxes of long lines, so the measure is taken from the thinner ones.
    size = float(np.percentile(boxes[:, 2] - boxes[:, 0], 25))
    if len(boxes) < FEWEST or size < THINNEST:
        return 0.0
    coarse = np.radians(np.arange(-34, 35) * STEEPEST / 34)
    best = _best(boxes, size, coarse, 0.0)
    if best == 0.0 or _evenness(boxes, size, best) < BETTER * _evenness(boxes, size, 0.0):
        return 0.0
    return _best(boxes, size, best + np.radians(np.arange(-5, 6) * 0.02), best)


def _best(boxes: Floats, size: float, angles: Floats, default: float) -> float:
    """The angle that scores highest; of equals, the one nearest the default."""
    near = sorted((float(a) for a in angles), key=lambda a: abs(a - default))
    scores = [_evenness(boxes, size, angle) for angle in near]
    top = max(scores)
    return next(angle for angle, score in zip(near, scores, strict=True) if score >= top * (1 - 1e-9))


def _evenness(boxes: Floats, size: float, angle: float) -> float:
    """How many heads, feet and (twice, as they are surer) middles agree with others, by soft histograms."""
    x0, y0, x1, y1 = straightened(boxes, angle).T
    x = (x0 + x1) / 2
    return sum(_agreement(values / (SHARP * size)) for values in (y0, y1, x, x))


def _agreement(values: Floats) -> float:
    """Pairs of values that are close. Each is shared between two bins, so that no edge of a bin matters."""
    values = np.minimum(values - values.min(), 1e5)
    low = np.floor(values).astype(np.int64)
    part = values - low
    counts = np.bincount(low, 1 - part, int(low.max()) + 2)
    counts += np.bincount(low + 1, part, int(low.max()) + 2)
    alone = 1 - 0.5 * part * (1 - part)
    return float((counts**2).sum() + 1.5 * (counts[1:] * counts[:-1]).sum() - alone.sum())


def _solid(boxes: Floats, size: float) -> Floats:
    """Every box at least a fiftieth of a character each way, about its middle."""
    least = 0.02 * size
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = np.maximum(boxes[:, 2:] - boxes[:, :2], least) / 2
    return np.concatenate([middle - half, middle + half], axis=1)
