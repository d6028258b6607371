"""Columns of one block and the double-row notes in them: upright boxes in, column and side of each out.

Thickness alone does not tell a note row from main text: where columns stand wide apart, a note row may be
as thick as the main text. Place does: main text stands in the middle of its column, the rows of a note to
the right and left of it by half their distance. So we look for pairs of rows that begin at the same height
with main text centred above or below them, learn the distances of rows and columns there, and
go on from column to column. A block without such a pair has notes only where two thin rows stand
close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tongguocr.layout.frame import Flags, Floats, Ints, typical
from tongguocr.page import Line

SAME_TOP = 0.5
"""Two rows of a note begin within this part of a row's thickness."""
ALIKE = 1.7
"""Two rows of a note are no more than this many times as thick as one another."""
ROW_STEP = (0.7, 1.55)
"""The middles of a note's rows are this many thicknesses apart."""
CENTRED = 0.2
"""Main text belongs to a pair if it is this near the pair's middle, in distances of the rows."""
AS_THICK = 0.75
"""Main text about a pair is at least this many times as thick as its rows."""
ADJACENT = 2.2
"""Main text stands no farther above or below its pair than this, in distances of the rows."""
THIN = 0.72
"""In a block without such main text, rows must be this much thinner than the typical main text."""
BY_WIDTH = 0.5
"""How much a doubling of thickness counts, where being off by half the distance of the rows counts 1."""
TELLING = 1.3
"""Where main text is this much thicker than the rows of notes, thickness alone finds most of it."""
SNUG = (0.85, 1.65)
"""Neighbouring columns are this far apart, in twice the distance of the rows."""
KNOWN = 0.8
"""How much it counts, in the same measure, that a line is said to be a note, or not to be one."""
FAR = 2.5
"""Column distances beyond which the next column need not be in step."""
SLIM = 0.82
"""Rows of a note that a detector took for main text are thinner than this share of the main text."""
CLOSE = 1.0
"""Their middles are nearer than this many thicknesses of the main text: its own columns are wider apart."""
TOUCHING = 0.8
"""A row alone is a note if it is so near to main text above or below, in the same measure."""
THINNEST = 1e-3
"""Pixels that anything is thick, at the least."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One entry a line."""

    column: Ints
    """0 is the rightmost."""
    side: Ints
    """0: main text; 1: the right row of a note; -1: the left row."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows that are surely notes, and the main text that says so."""

    rows: Ints
    """n x 2: right, left."""
    anchors: Ints
    """Lines that are surely main text."""


def find_columns(boxes: Floats, is_note: Flags | None = None) -> Columns:
    """Every line of the block gets its column and its side; `is_note` is what is said of the lines before.

    What is said counts much but not all: a pair of rows has at least one line that is said to be a note, and
    the main text about it none.
    """
    pairs = _pairs(boxes, is_note)
    if len(pairs.rows) and len(pairs.anchors):
        return _in_step(boxes, pairs, is_note)
    side = np.zeros(len(boxes), np.int64)
    if is_note is not None and is_note.any():
        boxes, side = _in_their_columns(boxes, is_note)
    return Columns(_stack(boxes), side)


def mend_kinds(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines whose kinds a detector told one by one, with notes where small rows stand as those of a note.

    Two rows side by side are one, and so is a row alone just above or below main text. Sizes of characters
    are what counts; lines that have none, or do not run downward, are left alone.
    """
    body = [k for k, line in enumerate(lines) if line.kind in ("main", "note") and _runs_down(line)]
    is_main = np.array([lines[k].kind == "main" for k in body], np.bool_)
    if not is_main.any():
        return tuple(lines)
    w, unit = (np.array(values) for values in zip(*(_sizes(lines[k]) for k in body), strict=True))
    counts = [len(lines[k].chars) for k in body]
    boxes = np.array([lines[k].box for k in body], np.float64)
    x = _middles(boxes)
    thick = float(np.median(np.repeat(w, counts * is_main)))
    small = set(np.flatnonzero(is_main & _hangs_on(boxes, x, unit, thick)).tolist())
    for right, left in _side_by_side(boxes, x, w):
        if max(w[right], w[left]) < SLIM * thick and x[right] - x[left] < CLOSE * thick:
            small |= {right, left}
    notes = {body[k] for k in small}
    return tuple(replace(line, kind="note") if k in notes else line for k, line in enumerate(lines))


def _hangs_on(boxes: Floats, x: Floats, unit: Floats, thick: float) -> Flags:
    """Which rows are small and stand just above or below a line of full size, within its width."""
    full = unit >= AS_THICK * thick
    above, below = boxes[:, None, 1] - boxes[None, :, 3], boxes[None, :, 1] - boxes[:, None, 3]
    apart = np.maximum(above, below) / thick
    aside = np.abs(x[:, None] - x[None]) / np.maximum(boxes[:, 2] - boxes[:, 0], 1)[None]
    hangs = full[None] & (apart > -0.3) & (apart < TOUCHING) & (aside < 0.5)
    return np.asarray(~full & hangs.any(1))


def _sizes(line: Line) -> tuple[float, float]:
    """The middle width and the middle longer side of a line's characters."""
    sides = np.array([(c.box[2] - c.box[0], c.box[3] - c.box[1]) for c in line.chars])
    sides = np.maximum(sides, THINNEST)  # a character at the page's edge may have nothing on it
    return float(np.median(sides[:, 0])), float(np.median(sides.max(1)))


def _runs_down(line: Line) -> bool:
    return bool(line.chars) and line.direction == "top-to-bottom"


def _in_their_columns(boxes: Floats, is_note: Flags) -> tuple[Floats, Ints]:
    """Rows that have no partner, such as 臣 in a signature, made as wide as the main text above or below.

    Returns the boxes so changed, and the side of each row.
    """
    main = boxes[~is_note]
    wide, side = boxes.copy(), np.zeros(len(boxes), np.int64)
    for k in np.flatnonzero(is_note):
        x = (boxes[k, 0] + boxes[k, 2]) / 2
        apart = np.maximum(main[:, 1] - boxes[k, 3], boxes[k, 1] - main[:, 3])
        above = (main[:, 0] <= x) & (x <= main[:, 2]) & (apart < ADJACENT * (boxes[k, 2] - boxes[k, 0]))
        if above.any():
            wide[k, [0, 2]] = main[above][np.argmin(apart[above])][[0, 2]]
            side[k] = 1 if x > wide[k, [0, 2]].mean() else -1
    return wide, side


def _middles(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 0] + boxes[:, 2]) / 2)


def _widths(boxes: Floats) -> Floats:
    """Lines as they are given may have no width; what is divided by a width needs some."""
    return np.maximum(boxes[:, 2] - boxes[:, 0], THINNEST)


def _pairs(boxes: Floats, is_note: Flags | None) -> Pairs:
    x, w = _middles(boxes), _widths(boxes)
    candidates = _side_by_side(boxes, x, w)
    if is_note is not None:
        candidates = [(right, left) for right, left in candidates if is_note[right] or is_note[left]]
    supported = []
    for right, left in candidates:
        main = {int(k) for k in _centred_main(boxes, x, w, right, left) if is_note is None or not is_note[k]}
        if main:
            uneven = abs(boxes[right, 1] - boxes[left, 1]) / min(w[right], w[left])
            off = min(abs(x[k] - (x[right] + x[left]) / 2) for k in main) / (x[right] - x[left])
            misfit = float(uneven + abs(np.log2(w[right] / w[left])) + off)
            supported.append((misfit, right, left, main))
    rows, anchors = _agreeing(supported)
    if not rows:
        return _thin_pairs(boxes, w, candidates)
    return Pairs(np.array(rows, np.int64), np.array(sorted(anchors), np.int64))


def _agreeing(supported: list[tuple[float, int, int, set[int]]]) -> tuple[list[tuple[int, int]], set[int]]:
    """The best pairs that do not contradict each other: no line is both row and main text."""
    rows, taken, anchors = list[tuple[int, int]](), set[int](), set[int]()
    for _, right, left, main in sorted(supported, key=lambda pair: pair[:3]):
        if not {right, left} & (anchors | taken) and main - taken:
            rows.append((right, left))
            taken |= {right, left}
            anchors |= main - taken
    return rows, anchors


def _side_by_side(boxes: Floats, x: Floats, w: Floats) -> list[tuple[int, int]]:
    """All pairs (right, left) that could be the rows of one note."""
    found = []
    for right in range(len(boxes)):
        thin, thick = np.minimum(w, w[right]), np.maximum(w, w[right])
        step = (x[right] - x) / ((w + w[right]) / 2)
        even = np.abs(boxes[:, 1] - boxes[right, 1]) <= SAME_TOP * thin
        near = (step >= ROW_STEP[0]) & (step <= ROW_STEP[1]) & (thick <= ALIKE * thin)
        found += [(right, int(left)) for left in np.flatnonzero(even & near)]
    return found


def _centred_main(boxes: Floats, x: Floats, w: Floats, right: int, left: int) -> Ints:
    """The lines just above or below the pair that stand in its middle."""
    step = x[right] - x[left]
    top, bottom = boxes[[right, left], 1].min(), boxes[[right, left], 3].max()
    below, above = boxes[:, 1] - bottom, top - boxes[:, 3]
    slack = -0.4 * step
    touching = ((below >= slack) & (below <= ADJACENT * step)) | (
        (above >= slack) & (above <= ADJACENT * step)
    )
    centred = np.abs(x - (x[right] + x[left]) / 2) <= CENTRED * step
    return np.flatnonzero(touching & centred & (w >= AS_THICK * (w[right] + w[left]) / 2))


def _thin_pairs(boxes: Floats, w: Floats, candidates: list[tuple[int, int]]) -> Pairs:
    """Pairs of rows much thinner than the main text, in a block where no pair has main text about it."""
    thick = float(np.percentile(w, 80)) if len(w) else 0.0
    rows = [pair for pair in candidates if max(w[pair[0]], w[pair[1]]) < THIN * thick]
    anchors = np.flatnonzero(w >= 0.85 * thick) if rows else np.zeros(0, np.int64)
    return Pairs(np.array(rows, np.int64).reshape(-1, 2), anchors)


def _in_step(boxes: Floats, pairs: Pairs, is_note: Flags | None) -> Columns:
    """From the sure columns outward: each line is put in the nearest column that it is in step with."""
    x, w = _middles(boxes), _widths(boxes)
    aside = float(np.median(x[pairs.rows[:, 0]] - x[pairs.rows[:, 1]])) / 2
    main, row = float(np.median(w[pairs.anchors])), float(np.median(w[pairs.rows.ravel()]))
    wide = np.stack([np.abs(np.log2(w / main)), np.abs(np.log2(w / row)), np.abs(np.log2(w / row))])
    if is_note is not None:
        wide = wide + KNOWN / BY_WIDTH * np.stack([is_note, ~is_note, ~is_note])
    thick = np.flatnonzero(wide[0] < wide[1]) if main > TELLING * row else pairs.anchors
    step = _column_step(x[thick], aside)
    side = np.zeros(len(x), np.int64)
    middle = x.copy()
    waiting = np.ones(len(x), bool)
    waiting[pairs.anchors] = False
    away = np.full(len(x), np.inf)
    source = np.zeros(len(x))
    for k in pairs.anchors:
        _nearer(x, x[k], away, source)
    while waiting.any():
        k = int(np.argmin(np.where(waiting, away, np.inf)))
        side[k], middle[k] = _place(x[k], source[k], step, aside, wide[:, k])
        waiting[k] = False
        _nearer(x, middle[k], away, source)
    return Columns(_number(middle, step), side)


def _nearer(x: Floats, known: float, away: Floats, source: Floats) -> None:
    """Lines that are nearer to this column than to any before take their bearings from it."""
    distance = np.abs(x - known)
    closer = distance < away
    away[closer], source[closer] = distance[closer], known


def _column_step(middles: Floats, aside: float) -> float:
    """The distance of columns: that of main text next door, or next but one, else twice that of the rows."""
    apart = np.diff(np.sort(middles)) / (4 * aside)
    apart = apart[apart > SNUG[0]]
    next_door = apart[apart < SNUG[1]]
    if not len(next_door):
        next_door = apart[apart < 2 * SNUG[1]] / 2
    return 4 * aside * (float(np.median(next_door)) if len(next_door) else 1.0)


def _place(x: float, known: float, step: float, aside: float, wide: Floats) -> tuple[int, float]:
    """The side of a line and the middle of its column, from a column already known."""
    costs = []
    for side, width_cost in zip((0, 1, -1), wide, strict=True):
        away = x - side * aside - known
        off = abs((away + step / 2) % step - step / 2) / aside if abs(away) <= FAR * step else 0.5 * abs(side)
        costs.append((off + BY_WIDTH * float(width_cost), abs(side), side))
    side = min(costs)[2]
    return side, x - side * aside


def _number(middle: Floats, step: float) -> Ints:
    """Middles closer than half a column are one column; the rightmost is 0."""
    order = np.argsort(-middle, kind="stable")
    column = np.zeros(len(middle), np.int64)
    ahead = 0
    for before, k in pairwise(order):
        ahead += int(middle[before] - middle[k] > 0.45 * step)
        column[k] = ahead
    return column


def _stack(boxes: Floats) -> Ints:
    """Columns without notes: a line joins the column whose middle it stands on."""
    x, w = _middles(boxes), _widths(boxes)
    size = typical(boxes)
    order = np.argsort(-x, kind="stable")
    column = np.zeros(len(x), np.int64)
    ahead = 0
    for before, k in pairwise(order):
        near = x[before] - x[k] <= 0.3 * max(min(w[before], w[k]), 0.5 * size)
        crossing = min(boxes[before, 3], boxes[k, 3]) - max(boxes[before, 1], boxes[k, 1])
        beside = crossing > 0.5 * min(boxes[before, 3] - boxes[before, 1], boxes[k, 3] - boxes[k, 1])
        ahead += int(not near or (beside and x[before] - x[k] > 0.15 * size))
        column[k] = ahead
    return column
