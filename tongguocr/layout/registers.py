"""A block of lines -> its bands, upper first: registers, rows of a table, headings. `find_bands` decides.

What parts two registers is, as for a reader, a rule drawn between them or a blank from side to side. A blank
may also stand between the halves of verses, and then every column is read to its foot before the next: so
without a rule a blank between short stretches of text is no register, unless the rules between the columns
stop there, or it is much wider than the others.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tongguocr.layout.drawn import IN_LINE, join_pieces, share_ruled, turned
from tongguocr.layout.frame import NOTES, Flags, Floats, Ints, View, blanks, lies, middle, typical
from tongguocr.layout.notes import find_columns

# Lengths are in thicknesses of the block's typical line, or in cells: from one character to the next.
TRIM = 0.15
"""Heads and feet of lines may stray this far into a blank, in thicknesses."""
BLANK = 0.5
"""A blank that divides upper from lower is at least this high, strays not counted, in thicknesses."""
REGISTER = 3.0
"""Without a rule, the text above and below such a blank is at least this wide, in thicknesses."""
RULED = 0.12
"""A rule runs through a blank if its pieces cover this part of the block's width, however worn it is."""
SPAN = (0.5, 0.7)
"""From its first piece to its last it is this long, in the same measure; longer if it is in one piece, for a
large seal has a frame, too."""
WORN = 0.05
"""Where two blanks of a table have rules, others have one if its pieces cover as little."""
THROUGH = 0.8
"""A rule that some lines cross divides if it covers this part of the block's width."""
CROSSING = 0.1
"""No more than this part of the lines crosses such a rule."""
PIECE = 9.8
"""Cells: no piece of a verse is longer, and hardly any register is as low."""
FEW = 0.3
"""No more of the text, by length, is in longer pieces: columns of prose among the verse."""
VERSE_GAP = 4.5
"""Cells: no gap in a verse is higher in most columns."""
ALIKE = 0.7
"""And where there are some, so many of all lines are as long as others: the pieces of the verse."""
EVEN = 0.6
"""Cells: the pieces of a verse are of one length, to within this."""
MOSTLY = 0.85
"""The part of the lines that are of that length."""
STUB = 0.3
"""A column is very short if it is no longer than this part of the longest."""
STUBS = 0.15
"""No more of the columns are so short where each is halved."""
WIDER = 1.35
"""A blank that is this many times as high as all others parts registers though they do not."""
BOUNDED = 5
"""So many rules between columns are needed to say whether they stop at a blank or run through it."""
OPEN = 1.2
"""Cells: a lower blank does not show it."""
JOIN = 0.5
"""Cells: characters of one piece are nearer to each other."""
MANY = 5.0
"""Thicknesses: the columns of a register that ends with little text below it are as wide together."""
REACH = 0.5
"""A register is full enough if this part of its width reaches its foot."""
HEAD = 0.45
"""Head notes are no higher than this part of the text below them."""
SMALL = 0.8
"""Head notes are this much thinner than the main text below them, or set this much closer."""


def find_bands(view: View, block: Ints, is_note: Flags | None = None) -> list[Ints]:
    """The block divided from top to bottom; the block alone where nothing divides it."""
    return _split(view.boxes, block, find_cuts(view, block, is_note))


def find_cuts(view: View, block: Ints, is_note: Flags | None = None) -> list[float]:
    """The heights at which the block is divided.

    Where notes are known, nothing but notes is no band unless a rule says so: they belong to the text above
    or below.
    """
    return ruled_cuts(view, block) or _open_cuts(view, block, is_note)


def ruled_cuts(view: View, block: Ints) -> list[float]:
    """The heights at which a drawn rule parts the block."""
    if view.drawn is None or len(block) == 0:
        return []
    inside = view.boxes[block]
    size = typical(inside)
    rows = find_rows(inside, size)
    sides = float(inside[:, 0].min()), float(inside[:, 2].max())
    cuts = [row for row in rows if _is_ruled(view, sides, row, size) or _rules_at(view, row, block) == "stop"]
    heights = [(a + b) / 2 for a, b in cuts]
    worn = [row for row in rows if row not in cuts and share_ruled(view.drawn.across, sides, row) >= WORN]
    if len(cuts) > 1 and worn and _are_rows(view.boxes, block, heights, [(a + b) / 2 for a, b in worn]):
        heights += [(a + b) / 2 for a, b in worn]
    levels = view.drawn.across[:, [1, 3]].mean(1)
    for y in np.sort(levels).tolist():
        in_blank = any(a <= y <= b for a, b in rows)
        apart = all(abs(y - other) > size for other in heights)
        if not in_blank and apart and _cuts_through(view, inside, y, size):
            heights.append(y)
    level = inside[:, [1, 3]].mean(1)
    return sorted(y for y in heights if (level < y).any() and (level >= y).any())


def _are_rows(boxes: Floats, block: Ints, heights: list[float], more: list[float]) -> bool:
    """Whether dividing at more heights gives bands no lower than those that rules give: rows of a table."""
    before, after = (
        min(float(np.ptp(boxes[band][:, [1, 3]])) for band in _split(boxes, block, sorted(cuts)))
        for cuts in (heights, heights + more)
    )
    return after >= 0.6 * before


def _is_ruled(view: View, sides: tuple[float, float], row: tuple[float, float], size: float) -> bool:
    """Whether a rule runs through a blank: some pieces in one line, from near one side to near the other."""
    if view.drawn is None:
        return False
    level, trim = view.drawn.across[:, [1, 3]].mean(1), TRIM * size
    within = (level >= row[0] + trim) & (level <= row[1] - trim)
    for rule in join_pieces(view.drawn.across[within], IN_LINE * size):
        ends = np.clip(rule.pieces, *sides)
        span, share = float(np.ptp(ends)) / (sides[1] - sides[0]), rule.share(*sides)
        if share >= RULED and span >= SPAN[int(share > 0.9 * span)]:
            return True
    return False


def _cuts_through(view: View, inside: Floats, y: float, size: float) -> bool:
    """Whether a rule at this height runs from side to side and few lines cross it."""
    crossing = (inside[:, 1] < y - 0.4 * size) & (inside[:, 3] > y + 0.4 * size)
    if crossing.mean() > CROSSING or view.drawn is None:
        return False
    sides = float(inside[:, 0].min()), float(inside[:, 2].max())
    return share_ruled(view.drawn.across, sides, (y - 0.3 * size, y + 0.3 * size)) >= THROUGH


def _split(boxes: Floats, block: Ints, cuts: list[float]) -> list[Ints]:
    level = boxes[block][:, [1, 3]].mean(1)
    number = np.searchsorted(np.array(cuts), level, side="right")
    parts = [block[number == k] for k in range(len(cuts) + 1)]
    return [part for part in parts if len(part)]


def _open_cuts(view: View, block: Ints, is_note: Flags | None) -> list[float]:
    """The heights at which a blank alone parts the block."""
    boxes, size = view.boxes, typical(view.boxes[block])
    level = boxes[:, [1, 3]].mean(1)
    chosen: list[tuple[float, float]] = []
    rest = block
    for a, b in find_rows(boxes[block], size):
        above, below = rest[level[rest] < (a + b) / 2], rest[level[rest] >= (a + b) / 2]
        only_notes = is_note is not None and (is_note[above].all() or is_note[below].all())
        if _ends_full(view, above, below) or (not only_notes and _parts(boxes, above, below, block, size)):
            chosen.append((a, b))
            rest = below
    return _without_verse(view, block, chosen)


def _ends_full(view: View, above: Ints, below: Ints) -> bool:
    """Whether most of many columns end at one height, clear of what little there is below."""
    upper, lower = view.boxes[above], view.boxes[below]
    if not len(upper) or not len(lower) or lower[:, 1].min() - upper[:, 3].max() < view.cell:
        return False
    deep = upper[upper[:, 3] >= upper[:, 3].max() - view.cell]
    wide, full = (
        np.ptp(part[:, [0, 2]]) - sum(b - a for a, b in blanks(part[:, 0], part[:, 2]))
        for part in (upper, deep)
    )
    return bool(wide >= MANY * typical(upper)) and bool(full >= REACH * wide)


def find_rows(boxes: Floats, size: float) -> list[tuple[float, float]]:
    """The blanks that run through from side to side, a little of every line's head and foot left off."""
    trim = np.minimum(TRIM * size, 0.4 * (boxes[:, 3] - boxes[:, 1]))
    found = blanks(boxes[:, 1] + trim, boxes[:, 3] - trim)
    return [(a, b) for a, b in found if b - a >= BLANK * size]


def _parts(boxes: Floats, above: Ints, below: Ints, block: Ints, size: float) -> bool:
    """Whether two groups are bands: a few lines under a short column do not make a register."""
    if len(above) == 0 or len(below) == 0:
        return False
    if lies(boxes[np.concatenate([above, below])])[: len(above)].all():
        return True
    wide = [float(boxes[part, 2].max() - boxes[part, 0].min()) >= REGISTER * size for part in (above, below)]
    return all(wide) or (len(above) + len(below) == len(block) and is_head(boxes, [above, below]))


def _without_verse(view: View, block: Ints, rows: list[tuple[float, float]]) -> list[float]:
    """The middles of the blanks, without those that part the pieces of verses."""
    parts = _split(view.boxes, block, [(a + b) / 2 for a, b in rows])
    pairs = zip(rows, parts[:-1], parts[1:], strict=True)
    verse = [row for row, above, below in pairs if _is_verse(view, row, above, below)]
    if len(verse) > 1:
        gaps = _column_gaps(view.boxes[block], view.cell)
        trim = TRIM * typical(view.boxes[block])
        verse = [(a, b) for a, b in verse if not _is_wider((a + trim, b - trim), gaps)]
    return [(a + b) / 2 for a, b in rows if (a, b) not in verse]


def _is_wider(row: tuple[float, float], gaps: list[tuple[float, float]]) -> bool:
    """Whether a blank is higher than all gaps in single columns that are elsewhere."""
    others = [b - a for a, b in gaps if b <= row[0] or a >= row[1]]
    return bool(others) and row[1] - row[0] >= WIDER * max(others)


def _is_verse(view: View, row: tuple[float, float], above: Ints, below: Ints) -> bool:
    """Whether a blank stands between the halves of columns.

    The rules between columns run through it, or there is little text above and below. Where nobody looked for
    rules, the halves must be of one length as well.
    """
    upper, lower = view.boxes[above], view.boxes[below]
    alike = 0.8 < typical(upper, NOTES) / typical(lower, NOTES) < 1.25
    if lies(np.concatenate([upper, lower])).any() or not alike:
        return False
    if _run_through(view, row, np.concatenate([above, below])):
        return True
    long = max(_share_long(part, view.cell) for part in (upper, lower))
    even = min(_share_alike(part, view.cell) for part in (upper, lower))
    if long > FEW or (long > 0 and even < ALIKE):
        return False
    if _usual_gap(np.concatenate([upper, lower]), row, view.cell) > VERSE_GAP * view.cell:
        return False
    high = [float(np.ptp(part[:, [1, 3]])) / view.cell for part in (upper, lower)]
    if view.drawn is not None:
        return min(_share_stubs(part) for part in (upper, lower)) < STUBS
    whole = [_share_whole(part, EVEN * view.cell) for part in (upper, lower)]
    return min(whole) >= MOSTLY and abs(high[0] - high[1]) < EVEN


def _run_through(view: View, row: tuple[float, float], block: Ints) -> bool:
    """Whether the rules between columns run through a blank in which nothing else is drawn."""
    sides = float(view.boxes[block, 0].min()), float(view.boxes[block, 2].max())
    bare = view.drawn is not None and share_ruled(view.drawn.across, sides, row) < WORN
    return bare and _rules_at(view, row, block) == "run through"


def _share_stubs(boxes: Floats) -> float:
    """The part of the columns that are very short: prose has them where a paragraph ends, verse has none."""
    high = np.array([np.ptp(column[:, [1, 3]]) for _, column in _columns(boxes)])
    return float((high < STUB * np.ptp(boxes[:, [1, 3]])).mean())


def _share_long(boxes: Floats, cell: float) -> float:
    """The part of the main text that is in long pieces; notes that follow it without a gap lengthen them."""
    long = total = 0.0
    for line, column in _columns(boxes):
        inner = [v for gap in _gaps(column, cell) for v in gap]
        ends = [float(column[:, 1].min()), *inner, float(column[:, 3].max())]
        run = next(b - a for a, b in zip(ends[::2], ends[1::2], strict=True) if line[1] < b)
        total += line[3] - line[1]
        long += (line[3] - line[1]) * (run > PIECE * cell)
    return long / total


def _share_alike(boxes: Floats, cell: float) -> float:
    """The part of the lines that are as long as two others, to within half a character."""
    high = boxes[:, 3] - boxes[:, 1]
    return float(((np.abs(high[:, None] - high[None]) < EVEN * cell).sum(1) > 2).mean())


def _usual_gap(boxes: Floats, row: tuple[float, float], cell: float) -> float:
    """How far the pieces above and below a blank are apart in most columns."""
    gaps = [b - a for a, b in _column_gaps(boxes, cell) if a < sum(row) / 2 < b]
    return float(np.median(gaps)) if gaps else 0.0


def _column_gaps(boxes: Floats, cell: float) -> list[tuple[float, float]]:
    return [gap for _, column in _columns(boxes) for gap in _gaps(column, cell)]


def _columns(boxes: Floats) -> list[tuple[Floats, Floats]]:
    """Every line of main text, and with it those above and below."""
    x, w = middle(boxes), boxes[:, 2] - boxes[:, 0]
    main = np.flatnonzero(w >= 0.8 * typical(boxes))
    return [(boxes[k], boxes[np.abs(x - x[k]) < w[k] / 2]) for k in main]


def _gaps(column: Floats, cell: float) -> list[tuple[float, float]]:
    return [(a, b) for a, b in blanks(column[:, 1], column[:, 3]) if b - a > JOIN * cell]


def _share_whole(boxes: Floats, near: float) -> float:
    """The part of the lines that reach from the top of all to their foot."""
    short = np.ptp(boxes[:, [1, 3]]) - (boxes[:, 3] - boxes[:, 1])
    return float((short < near).mean())


def _rules_at(view: View, row: tuple[float, float], block: Ints) -> Literal["stop", "run through", ""]:
    """What the rules between columns do at a blank: those of one register all stop somewhere in it."""
    if view.drawn is None or row[1] - row[0] < OPEN * view.cell:
        return ""
    text, near = view.boxes[block], 2 * view.cell
    heights = np.arange(row[0] + 0.3 * view.cell, row[1] - 0.3 * view.cell, 0.2 * view.cell)
    crossing = []
    for rule in join_pieces(turned(view.drawn.down), IN_LINE * typical(text)):
        between = text[:, 0].min() < float(rule.height(np.array(sum(row) / 2))) < text[:, 2].max()
        beside = max(rule.share(row[0] - near, row[0]), rule.share(row[1], row[1] + near))
        if between and beside > 0.5:
            low, high = rule.pieces[:, :1], rule.pieces[:, 1:]
            crossing.append(((low <= heights) & (heights <= high)).any(0))
    least = float(np.mean(crossing, axis=0).min()) if len(crossing) >= BOUNDED else 0.25
    return "stop" if least <= 0.1 else "run through" if least >= 0.5 else ""


def is_head(boxes: Floats, bands: list[Ints]) -> bool:
    """Whether the first band is head notes: small characters in a low band above one block of larger ones."""
    if len(bands) != 2:
        return False
    head, text = boxes[bands[0]], boxes[bands[1]]
    low = np.ptp(head[:, [1, 3]]) <= HEAD * np.ptp(text[:, [1, 3]])
    if not low or lies(boxes[np.concatenate(bands)])[: len(head)].any():
        return False
    found = find_columns(text)
    main = text[found.side == 0]
    thin = typical(head) / float(np.median(main[:, 2] - main[:, 0])) if len(main) else 1.0
    if thin < SMALL:
        return True
    close = _step(middle(head), find_columns(head).column) / max(_step(middle(text), found.column), 1e-9)
    return thin < 1.25 and close < SMALL


def _step(x: Floats, column: Ints) -> float:
    """The usual distance from one column to the next; endless where there is one column only."""
    middles = [float(np.mean(x[column == c])) for c in range(int(column.max()) + 1)]
    return float(np.median(-np.diff(middles))) if len(middles) > 1 else float("inf")
