"""Lines in any order -> the same lines in reading order, with kinds: `order_lines`. Boxes and rules, no text.

What stands outside of the frame is set aside first (outside.py). The block of all other lines is divided
again and again: at the centre fold or a wide gutter into half-leaves, right before left (leaves.py); at drawn
rules and wide blanks into registers, rows of a table and headings, upper before lower (registers.py). What
cannot be divided is columns, from right to left, each from top to bottom, the right row of a note before its
left row (notes.py). Head notes follow all of the text, and the fold's text follows them. docs/layout.md
states every rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tongguocr.layout.drawn import share_ruled
from tongguocr.layout.frame import (
    Flags,
    Floats,
    Ints,
    Rule,
    View,
    WritingMode,
    guess_writing_mode,
    lies,
    middle,
    upright,
)
from tongguocr.layout.leaves import find_fold, find_gutter
from tongguocr.layout.notes import find_columns
from tongguocr.layout.outside import find_outside
from tongguocr.layout.registers import find_bands, is_head, ruled_cuts
from tongguocr.page import Kind, Page

FRAME = 2.0
"""Cells: the text is no farther from the rules of its frame."""


@dataclass
class Reading:
    """What has been read so far, as line numbers."""

    text: list[int] = field(default_factory=list)
    margin: list[int] = field(default_factory=list)
    fold: list[int] = field(default_factory=list)
    notes: set[int] = field(default_factory=set)
    is_note: Flags | None = None
    """Which lines are known to be notes, where kinds are known."""
    known_fold: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Lines that are known to be the fold's."""
    cuts: list[tuple[float, float, float]] = field(default_factory=list)
    """Where bands were parted: the height, and the block's left and right side."""


def order_lines(
    page: Page,
    direction: WritingMode | None = None,
    keep_kinds: bool = False,
    rules: Sequence[Rule] | None = None,
) -> Page:
    """The page with its lines in reading order and their kinds set; every line exactly once.

    `direction` says how the lines follow each other where the user knows better than their shapes tell;
    `keep_kinds` takes the lines' kinds as given, and lets them help to find the columns. `rules` are those
    drawn on the page, if anybody looked for them (`find_rules`). Neither the lines' order, nor their text,
    nor their own direction is looked at. Lines of equal place follow each other by their ids.
    """
    if not page.lines:
        return page
    lines = tuple(sorted(page.lines, key=lambda line: (line.box, line.id, line.polygon or ())))
    view = upright(lines, direction or guess_writing_mode(lines), rules)
    known: list[Kind | None] = [line.kind if keep_kinds else None for line in lines]
    for k, kind in find_outside(view, known).items():
        known[k] = kind
    is_note = np.array([kind == "note" for kind in known]) if keep_kinds else None
    fold = np.flatnonzero([kind == "fold" for kind in known])
    reading = Reading(is_note=is_note, known_fold=fold)
    body = np.flatnonzero([kind not in ("margin", "fold") for kind in known])
    _divide(view, body, reading, apart=not keep_kinds)
    _columns(view.boxes, np.flatnonzero([kind == "margin" for kind in known]), reading.margin, set())
    _read_around(view.boxes, fold, body, reading)
    kinds = _kinds(len(lines), reading)
    chosen = [old or new for old, new in zip(known, kinds, strict=True)]
    order = reading.text + reading.margin + reading.fold
    return replace(page, lines=tuple(replace(lines[k], kind=chosen[k]) for k in order))


def _kinds(count: int, reading: Reading) -> list[Kind]:
    kinds: list[Kind] = ["main"] * count
    for k in reading.notes:
        kinds[k] = "note"
    for k in reading.margin:
        kinds[k] = "margin"
    for k in reading.fold:
        kinds[k] = "fold"
    return kinds


def _divide(view: View, block: Ints, reading: Reading, apart: bool, topmost: bool = True) -> None:
    """Read one block: its leaves, or its bands, or its columns.

    `apart`: head notes and the fold are sought, head notes only in the `topmost` band of a leaf.
    """
    boxes = view.boxes
    if len(block) == 0:
        return
    if apart and (fold := find_fold(boxes, block)):
        rest = np.setdiff1d(block, fold)
        _divide_at(view, rest, float(np.mean(middle(boxes[fold]))), reading, apart, topmost)
        reading.fold += sorted(fold, key=lambda k: boxes[k, 1])
    elif (gutter := _gutter(view, block, reading.known_fold)) is not None:
        _divide_at(view, block, gutter, reading, apart, topmost)
    elif len(bands := find_bands(view, block, reading.is_note)) > 1:
        sides = float(boxes[block, 0].min()), float(boxes[block, 2].max())
        reading.cuts += [(float(boxes[band, 1].min()), *sides) for band in bands[1:]]
        if apart and topmost and is_head(boxes, bands):
            _columns(boxes, bands.pop(0), reading.margin, set())
        for n, band in enumerate(bands):
            _divide(view, band, reading, apart, topmost and n == 0)
    else:
        _columns(boxes, block, reading.text, reading.notes, reading.is_note)


def _divide_at(view: View, block: Ints, place: float, reading: Reading, apart: bool, topmost: bool) -> None:
    """Read the half-leaf right of this place, then the one left of it."""
    right = middle(view.boxes[block]) > place
    for leaf in (block[right], block[~right]):
        _divide(view, leaf, reading, apart, topmost)


def _gutter(view: View, block: Ints, fold: Ints) -> float | None:
    """The middle of a gutter, unless rules are drawn across it: then it is a column left empty.

    That of a frame may run across the centre fold as well, where some of its lines stand.
    """
    boxes = view.boxes[block]
    gutter = find_gutter(boxes)
    if gutter is None or view.drawn is None:
        return None if gutter is None else sum(gutter) / 2
    x, reach = middle(view.boxes[fold]), FRAME * view.cell
    heights = [(y - reach / 4, y + reach / 4) for y in ruled_cuts(view, block)]
    if not ((x > gutter[0]) & (x < gutter[1])).any():
        heights += [
            (boxes[:, 1].min() - reach, boxes[:, 1].min()),
            (boxes[:, 3].max(), boxes[:, 3].max() + reach),
        ]
    crossed = any(share_ruled(view.drawn.across, gutter, (float(a), float(b))) > 0.8 for a, b in heights)
    return None if crossed else sum(gutter) / 2


def _read_around(boxes: Floats, fold: Ints, text: Ints, reading: Reading) -> None:
    """Running titles and numbers: between the columns, register by register; above; beside; below."""
    if len(fold) == 0 or len(text) == 0:
        _columns(boxes, fold, reading.fold, set())
        return
    x, y = middle(boxes[fold]), boxes[fold][:, [1, 3]].mean(1)
    x0, y0, x1, y1 = (boxes[text, k].min() if k < 2 else boxes[text, k].max() for k in range(4))
    aside = np.where(x > x1, 1, np.where(x < x0, 2, 0))
    place = np.where(aside > 0, 1 + aside, np.where(y < y0, 1, np.where(y > y1, 4, 0)))
    number = np.array(
        [sum(cut < v and a <= u <= b for cut, a, b in reading.cuts) for u, v in zip(x, y, strict=True)]
    )
    for register in range(int(number.max()) + 1):
        _columns(boxes, fold[(place == 0) & (number == register)], reading.fold, set())
    for part in range(1, 5):
        lines = fold[place == part]
        reading.fold += _down(boxes, lines, np.zeros(len(boxes), np.int64))


def _columns(
    boxes: Floats, block: Ints, order: list[int], notes: set[int], is_note: Flags | None = None
) -> None:
    """Read a block that is only columns, lines lying above them first and those lying below them last."""
    if len(block) == 0:
        return
    flat, standing = block[lies(boxes[block])], block[~lies(boxes[block])]
    level = float(np.mean(boxes[standing][:, [1, 3]])) if len(standing) else float("inf")
    flat = np.array(sorted(flat, key=lambda k: (boxes[k, 1] + boxes[k, 3], -boxes[k, 2])), np.int64)
    high = (boxes[flat, 1] + boxes[flat, 3]) / 2 <= level
    order += [int(k) for k in flat[high]]
    if len(standing):
        found = find_columns(boxes[standing], None if is_note is None else is_note[standing])
        for column in range(int(found.column.max()) + 1):
            inside = np.flatnonzero(found.column == column)
            order += [int(standing[k]) for k in _down(boxes[standing], inside, found.side)]
        notes.update(int(k) for k in standing[found.side != 0])
    order += [int(k) for k in flat[~high]]


def _down(boxes: Floats, column: Ints, side: Ints) -> list[int]:
    """One column from top to bottom; lines beside each other from right to left."""
    groups: list[list[int]] = []
    reach = -np.inf
    for k in sorted(column, key=lambda k: (boxes[k, 1], -boxes[k, 2])):
        low = boxes[k, 1]
        if groups and reach - low > 0.3 * min(boxes[k, 3] - low, reach - boxes[groups[-1][0], 1]):
            groups[-1].append(int(k))
            reach = max(reach, boxes[k, 3])
        else:
            groups.append([int(k)])
            reach = boxes[k, 3]
    rows = (
        (k for k in sorted(group, key=lambda k: (-side[k], -boxes[k, 2], boxes[k, 1]))) for group in groups
    )
    return [k for group in rows for k in group]
