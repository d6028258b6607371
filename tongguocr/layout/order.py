"""Lines in any order -> the same lines in reading order, with kinds: `order_lines`. Boxes only, no text.

The block of all lines is divided again and again: at the centre fold or a wide gutter into half-leaves,
right before left; where a blank runs through from side to side into registers, rows of a table, headings
and head notes, upper before lower. What cannot be divided is columns, from right to left, each from top to
bottom, the right row of a note before its left row. Head notes follow all of the text, and the fold's text
follows them. docs/layout.md states every rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tongguocr.layout.frame import Flags, Floats, Ints, WritingMode, guess_writing_mode, typical, upright
from tongguocr.layout.notes import find_columns
from tongguocr.page import Kind, Page

TRIM = 0.15
"""Heads and feet of lines may stray this far into a blank, in thicknesses of the typical line."""
BLANK = 0.5
"""A blank that divides upper from lower is at least this high, strays not counted, in the same measure."""
REGISTER = 3.0
"""The text above and below such a blank is at least this wide, in the same measure."""
LYING = 1.8
"""A line in a page of columns lies if it is this many times as wide as high."""
HEAD = 0.45
"""Head notes are no higher than this part of the text below them."""
SMALL = 0.8
"""Head notes are this much thinner than the main text below them, or set this much closer."""
GUTTER = 1.8
"""A gutter without text is this many times as wide as any other blank between columns."""
MIDDLE = (0.25, 0.75)
"""The gutter, like the fold, lies in this part of the block's width."""
LEAF = 4.0
"""Right and left of the fold is text at least this wide, in thicknesses of the typical line."""
FOLD_DROP = 0.08
"""The fold's text begins this part of the block's height below its top."""
FOLD_GAP = 0.5
"""Pieces of the fold's text are at least this many thicknesses apart."""


@dataclass
class Reading:
    """What has been read so far, as line numbers."""

    text: list[int] = field(default_factory=list)
    margin: list[int] = field(default_factory=list)
    fold: list[int] = field(default_factory=list)
    notes: set[int] = field(default_factory=set)
    is_note: Flags | None = None
    """Which lines are known to be notes, where kinds are known."""


def order_lines(page: Page, direction: WritingMode | None = None, keep_kinds: bool = False) -> Page:
    """The page with its lines in reading order and their kinds set; every line exactly once.

    `direction` says how the lines follow each other where the user knows better than their shapes tell;
    `keep_kinds` takes the lines' kinds as given, and lets them help to find the columns. Neither the lines'
    order, nor their text, nor their own direction is looked at. Lines of equal place follow each other by
    their ids.
    """
    if not page.lines:
        return page
    lines = tuple(sorted(page.lines, key=lambda line: (line.box, line.id, line.polygon or ())))
    boxes = upright(lines, direction or guess_writing_mode(lines))
    known: list[Kind | None] = [line.kind if keep_kinds else None for line in lines]
    reading = Reading(is_note=np.array([kind == "note" for kind in known]) if keep_kinds else None)
    body = [k for k, kind in enumerate(known) if kind not in ("margin", "fold")]
    _divide(boxes, np.array(body, np.int64), reading, apart=not keep_kinds)
    for kind, place in (("margin", reading.margin), ("fold", reading.fold)):
        _columns(boxes, np.flatnonzero([k == kind for k in known]), place, set())
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


def _divide(boxes: Floats, block: Ints, reading: Reading, apart: bool) -> None:
    """Read one block: its leaves, or its bands, or its columns. `apart`: head notes and fold are sought."""
    if len(block) == 0:
        return
    fold = _fold(boxes, block) if apart else []
    if fold:
        at = float(np.mean(_middle(boxes[fold])))
        rest = np.setdiff1d(block, fold)
        right = _middle(boxes[rest]) > at
        _divide(boxes, rest[right], reading, apart)
        _divide(boxes, rest[~right], reading, apart)
        reading.fold += sorted(fold, key=lambda k: boxes[k, 1])
    elif (gutter := _gutter(boxes[block])) is not None:
        right = _middle(boxes[block]) > gutter
        _divide(boxes, block[right], reading, apart)
        _divide(boxes, block[~right], reading, apart)
    elif len(bands := _bands(boxes, block, reading.is_note)) > 1:
        if apart and _is_head(boxes, bands):
            _columns(boxes, bands.pop(0), reading.margin, set())
        for band in bands:
            _divide(boxes, band, reading, apart)
    else:
        _columns(boxes, block, reading.text, reading.notes, reading.is_note)


def _middle(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 0] + boxes[:, 2]) / 2)


def _lies(boxes: Floats) -> Flags:
    """Whether each line lies: much wider than high, and not merely one flat character."""
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return np.asarray((w > LYING * h) & (w > 1.5 * typical(boxes)))


def _blanks(low: Floats, high: Floats) -> list[tuple[float, float]]:
    """The stretches of an axis that no interval covers, between the first and the last."""
    order = np.argsort(low, kind="stable")
    reach = np.maximum.accumulate(high[order])
    starts = low[order][1:]
    return [(float(a), float(b)) for a, b in zip(reach[:-1], starts, strict=True) if b > a]


def _bands(boxes: Floats, block: Ints, is_note: Flags | None) -> list[Ints]:
    """The block divided at the blanks that run through from side to side, upper first.

    Where notes are known, nothing but notes is no band: they belong to the text above or below.
    """
    inside = boxes[block]
    size, level = typical(inside), (boxes[:, 1] + boxes[:, 3]) / 2
    bands: list[Ints] = []
    rest = block
    for a, b in _rows(inside, size):
        above, below = rest[level[rest] < (a + b) / 2], rest[level[rest] >= (a + b) / 2]
        only_notes = is_note is not None and (is_note[above].all() or is_note[below].all())
        if not only_notes and _parts(boxes, above, below, block, size):
            bands.append(above)
            rest = below
    return [*bands, rest]


def _rows(boxes: Floats, size: float) -> list[tuple[float, float]]:
    """The blanks that run through from side to side, a little of every line's head and foot left off."""
    trim = np.minimum(TRIM * size, 0.4 * (boxes[:, 3] - boxes[:, 1]))
    blanks = _blanks(boxes[:, 1] + trim, boxes[:, 3] - trim)
    return [(a, b) for a, b in blanks if b - a >= BLANK * size]


def _parts(boxes: Floats, above: Ints, below: Ints, block: Ints, size: float) -> bool:
    """Whether two groups are bands: a few lines under a short column do not make a register."""
    if len(above) == 0 or len(below) == 0:
        return False
    if _lies(boxes[np.concatenate([above, below])])[: len(above)].all():
        return True
    wide = [float(boxes[part, 2].max() - boxes[part, 0].min()) >= REGISTER * size for part in (above, below)]
    return all(wide) or (len(above) + len(below) == len(block) and _is_head(boxes, [above, below]))


def _is_head(boxes: Floats, bands: list[Ints]) -> bool:
    """Whether the first band is head notes: small characters in a low band above one block of larger ones."""
    if len(bands) != 2:
        return False
    head, text = boxes[bands[0]], boxes[bands[1]]
    if (
        np.ptp(head[:, [1, 3]]) > HEAD * np.ptp(text[:, [1, 3]])
        or _lies(boxes[np.concatenate(bands)])[: len(head)].any()
    ):
        return False
    found = find_columns(text)
    main = text[found.side == 0]
    thin = typical(head) / float(np.median(main[:, 2] - main[:, 0])) if len(main) else 1.0
    if thin < SMALL:
        return True
    close = _step(_middle(head), find_columns(head).column) / max(_step(_middle(text), found.column), 1e-9)
    return thin < 1.25 and close < SMALL


def _step(x: Floats, column: Ints) -> float:
    """The usual distance from one column to the next; endless where there is one column only."""
    middles = [float(np.mean(x[column == c])) for c in range(int(column.max()) + 1)]
    return float(np.median(-np.diff(middles))) if len(middles) > 1 else float("inf")


def _gutter(boxes: Floats) -> float | None:
    """The middle of the one wide blank that parts two half-leaves, where there is one."""
    blanks = sorted(_blanks(boxes[:, 0], boxes[:, 2]), key=lambda blank: blank[1] - blank[0])
    if len(blanks) < 4:
        return None
    a, b = blanks[-1]
    second = blanks[-2][1] - blanks[-2][0]
    x0, x1 = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    central = MIDDLE[0] <= ((a + b) / 2 - x0) / (x1 - x0) <= MIDDLE[1]
    wide = b - a >= max(GUTTER * second, 1.2 * typical(boxes))
    return (a + b) / 2 if central and wide else None


def _fold(boxes: Floats, block: Ints) -> list[int]:
    """The lines of the centre fold, alone in their strip: some with a blank between, or one in a gutter.

    They begin lower than the columns beside them. In a table, whose every column is like that, blanks run
    through from side to side.
    """
    inside = boxes[block]
    x0, y0, x1, y1 = inside[:, 0].min(), inside[:, 1].min(), inside[:, 2].max(), inside[:, 3].max()
    x, w = _middle(inside), inside[:, 2] - inside[:, 0]
    place = (x - x0) / (x1 - x0)
    low = inside[:, 1] >= y0 + FOLD_DROP * (y1 - y0)
    aside = np.minimum(x - x0, x1 - x) >= LEAF * typical(inside)
    central = np.flatnonzero(low & aside & (place >= MIDDLE[0]) & (place <= MIDDLE[1]))
    for k in sorted(central, key=lambda k: (abs(place[k] - 0.5), inside[k, 1])):
        strip = np.flatnonzero((inside[:, 0] < x[k] + 0.45 * w[k]) & (inside[:, 2] > x[k] - 0.45 * w[k]))
        deep = inside[strip, 3].max() > (y0 + y1) / 2
        chain = deep and _is_chain(inside[strip])
        if w[k] < w[strip].max() or not low[strip].all():
            continue
        if (chain or _in_gutter(inside, strip)) and not _rows_through(inside, strip):
            return [int(block[s]) for s in strip]
    return []


def _in_gutter(boxes: Floats, strip: Ints) -> bool:
    """Whether one line stands in a blank that is wide on both of its sides, and clear of the foot."""
    if len(strip) != 1:
        return False
    x0, _, x1, y1 = boxes[strip[0]]
    blanks = _blanks(boxes[:, 0], boxes[:, 2])
    sides = [b - a for a, b in blanks if a == x1 or b == x0]
    usual = float(np.median([b - a for a, b in blanks])) if blanks else 0.0
    clear = y1 < boxes[:, 3].max() - 2 * FOLD_DROP * np.ptp(boxes[:, [1, 3]])
    return bool(clear) and len(sides) == 2 and min(sides) >= max(GUTTER * usual, 0.8 * (x1 - x0))


def _is_chain(boxes: Floats) -> bool:
    """Two or more lines of one middle, with a blank between some of them."""
    x, w = _middle(boxes), boxes[:, 2] - boxes[:, 0]
    ordered = boxes[np.argsort(boxes[:, 1], kind="stable")]
    clear = ordered[1:, 1] - ordered[:-1, 3] >= FOLD_GAP * w.max()
    return len(boxes) > 1 and bool(clear.any()) and float(np.ptp(x)) <= 0.2 * float(w.max())


def _rows_through(boxes: Floats, strip: Ints) -> bool:
    """Whether the other lines leave blanks from side to side, and no line of the strip crosses one."""
    others = np.delete(boxes, strip, axis=0)
    size = typical(boxes)
    rows = _rows(others, size)
    crossed = [(boxes[strip, 1] < a) & (boxes[strip, 3] > b - TRIM * size) for a, b in rows]
    return bool(rows) and not any(bool(c.any()) for c in crossed)


def _columns(
    boxes: Floats, block: Ints, order: list[int], notes: set[int], is_note: Flags | None = None
) -> None:
    """Read a block that is only columns, lines lying above them first and those lying below them last."""
    if len(block) == 0:
        return
    lies = _lies(boxes[block])
    flat, standing = block[lies], block[~lies]
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
