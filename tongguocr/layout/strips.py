"""Lines beside the text that are none of its columns: running titles and numbers at the right or left edge.

In a reprint they stand in a strip outside of the frame, on a half-leaf they are a slice of the centre fold.
In: a `View`, the lines that may be text, and the kinds that are known. Out: the lines of the strip, if there
is one.

A strip is told by the drawn rule between it and the text, by its characters, which are smaller than the
text's, by what is said of its lines, and by where they stand: a column begins where the others begin, has no
large holes, and ends where two registers meet. Text that is left out is worse than a title too many, so one
sign alone does not make a strip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tongguocr.layout.drawn import IN_LINE, WholeRule, join_pieces, share_ruled, turned
from tongguocr.layout.frame import NOTES, Flags, Floats, Ints, View, blanks, middle, typical
from tongguocr.layout.registers import find_cuts
from tongguocr.page import Kind

Edge: TypeAlias = Literal["frame", "last rule", "rule", "blank"]
"""What stands between the text and a strip: surely the frame's side, a rule with no other beyond it, another
rule, or nothing."""

# Lengths are in thicknesses of the page's typical line, unless cells are named.
LONG = 0.6
"""A side of the frame is at least as long as this part of the text."""
BEYOND = 1.5
"""A rule so much longer than the text is high, with no other between columns, is surely the frame's side."""
NARROW = 1.25
"""The lines of a strip that stand are no wider together; it is one column."""
WIDEST = 2.5
"""Nor are those that lie in it, such as a page number."""
GAP = 0.1
"""Where no rule is drawn, a strip is at least so far from the text."""
LEAST = 5.0
"""The text beside it is at least as wide: a page of few columns says nothing."""
MOST = 0.25
"""It holds no more than this part of the text, by length."""
THIN = 0.85
"""Its characters are this much smaller than those of the text."""
ALIGNED = 0.5
"""Cells: a column of text begins so near to where the others begin."""
FULL = 0.6
"""It fills this part of the text's height, or it may be something else."""
HOLE = 3.5
"""Cells: hardly any column of text has a larger hole."""


def find_strip(view: View, text: Ints, known: Sequence[Kind | None], direction: int) -> Ints:
    """The lines of a strip beside the text, right (1) or left (-1) of it; none where there is none."""
    widest = WIDEST * typical(view.boxes[text], NOTES)
    for beyond, edge in _edges(view, text, direction):
        part, rest = text[beyond], text[~beyond]
        if _width(view.boxes[part]) > widest:
            continue
        if _may_be_strip(view.boxes, part, rest) and _is_strip(view, part, rest, known, edge):
            return part
    return np.zeros(0, np.int64)


def _edges(view: View, text: Ints, direction: int) -> Iterator[tuple[Flags, Edge]]:
    """Where the text may end: at long rules from the edge inward, then at blanks; what is beyond each."""
    boxes = view.boxes[text]
    if not len(boxes):
        return
    sides = sorted(_sides(view, boxes), key=lambda side: -direction * side.at)
    for n, side in enumerate(sides):
        beyond = direction * (middle(boxes) - side.height(boxes[:, [1, 3]].mean(1))) > 0
        yield beyond, "rule" if n else "frame" if _is_frame(side, sides, boxes) else "last rule"
    least = GAP * typical(boxes)
    for a, b in sorted(blanks(boxes[:, 0], boxes[:, 2]), reverse=direction > 0):
        if b - a >= least:
            yield direction * (middle(boxes) - (a + b) / 2) > 0, "blank"


def _sides(view: View, text: Floats) -> list[WholeRule]:
    """The long rules along the columns, x and y exchanged."""
    if view.drawn is None:
        return []
    whole = join_pieces(turned(view.drawn.down), IN_LINE * typical(text))
    top, foot = float(text[:, 1].min()), float(text[:, 3].max())
    return [rule for rule in whole if rule.share(top, foot) >= LONG]


def _is_frame(side: WholeRule, sides: list[WholeRule], text: Floats) -> bool:
    """Whether a rule reaches far beyond the text, up or down, and no other stands between columns."""
    x0, x1, level = float(text[:, 0].min()), float(text[:, 2].max()), text[:, [1, 3]].mean(keepdims=True)
    between = [other for other in sides if x0 < float(other.height(level)[0, 0]) < x1]
    length = float(np.ptp(side.pieces))
    return between in ([], [side]) and length >= BEYOND * float(np.ptp(text[:, [1, 3]]))


def _may_be_strip(boxes: Floats, part: Ints, rest: Ints) -> bool:
    """Whether some lines are few and narrow enough beside all others."""
    if not len(part) or not len(rest):
        return False
    size, strip, text = typical(boxes[rest], NOTES), boxes[part], boxes[rest]
    narrow = _width(strip[_stands(strip)]) <= NARROW * size and _width(text) >= LEAST * size
    long = [float((some[:, 3] - some[:, 1]).sum()) for some in (strip, text)]
    return narrow and long[0] <= MOST * sum(long) and not _side_by_side(strip, text)


def _stands(boxes: Floats) -> Flags:
    return np.asarray(boxes[:, 3] - boxes[:, 1] >= boxes[:, 2] - boxes[:, 0])


def _width(boxes: Floats) -> float:
    return float(np.ptp(boxes[:, [0, 2]])) if len(boxes) else 0.0


def _side_by_side(part: Floats, rest: Floats) -> bool:
    """Whether a line of each begin at one height close to each other, as the two rows of a note do."""
    w = np.minimum((part[:, 2] - part[:, 0])[:, None], (rest[:, 2] - rest[:, 0])[None])
    apart = np.maximum(part[:, None, 0] - rest[None, :, 2], rest[None, :, 0] - part[:, None, 2])
    even = np.abs(part[:, None, 1] - rest[None, :, 1]) < 0.5 * w
    return bool((even & (apart < 0.5 * w)).any())


def _is_strip(view: View, part: Ints, rest: Ints, known: Sequence[Kind | None], edge: Edge) -> bool:
    """Whether lines beside the text are none of its columns, by all signs together.

    Where kinds are known and the lines are said to be text, it takes a rule and more signs.
    """
    strip, text = view.boxes[part], view.boxes[rest]
    told = known[part[0]] is not None
    said = _length_said(view.boxes, part, rest, np.array([kind == "fold" for kind in known]))
    if said >= 1 or edge == "frame":
        return True
    if told and edge == "blank":
        return False
    main = text[[known[k] != "note" for k in rest]]
    thick = typical(main) if told and len(main) else typical(text, NOTES)
    thin = _width(strip[_stands(strip)]) < THIN * thick
    cuts = find_cuts(view, rest)
    signs = (
        said > 0,
        _is_loose(view, strip, text),
        _has_hole(view, strip, cuts),
        _is_chain(strip),
        _stands_across(view, strip, cuts),
        _beside_rules(view, strip, text, cuts),
    )
    return sum(signs) >= (1 if edge == "last rule" else 2) + (0 if thin else 2 if told else 1)


def _length_said(boxes: Floats, part: Ints, rest: Ints, is_fold: Flags) -> float:
    """How long the lines known to be the fold's are that stand in the strip, over the strip's others."""
    x, level, high = middle(boxes), boxes[:, [1, 3]].mean(1), boxes[:, 3] - boxes[:, 1]
    in_line = (x > boxes[part, 0].min()) & (x < boxes[part, 2].max())
    beside = (level > boxes[rest, 1].min()) & (level < boxes[rest, 3].max())
    return float(high[is_fold & in_line & beside].sum() / high[part].sum())


def _is_loose(view: View, strip: Floats, text: Floats) -> bool:
    """Whether a strip neither begins where columns begin nor fills much of their height."""
    begins = abs(strip[:, 1].min() - text[:, 1].min()) < ALIGNED * view.cell
    filled = float((strip[:, 3] - strip[:, 1]).sum())
    return not begins and filled < FULL * float(np.ptp(text[:, [1, 3]]))


def _has_hole(view: View, strip: Floats, cuts: list[float]) -> bool:
    """Whether there is a hole in a strip where no two registers meet."""
    holes = [(a, b) for a, b in blanks(strip[:, 1], strip[:, 3]) if b - a > HOLE * view.cell]
    return any(not any(a < y < b for y in cuts) for a, b in holes)


def _is_chain(strip: Floats) -> bool:
    """Whether there are two or more pieces with blanks between them."""
    least = 0.5 * float((strip[:, 2] - strip[:, 0]).max())
    return any(b - a >= least for a, b in blanks(strip[:, 1], strip[:, 3]))


def _stands_across(view: View, strip: Floats, cuts: list[float]) -> bool:
    """Whether a line of the strip stands where two registers meet."""
    reach = view.cell / 2
    return any(bool(((strip[:, 1] < y - reach) & (strip[:, 3] > y + reach)).any()) for y in cuts)


def _beside_rules(view: View, strip: Floats, text: Floats, cuts: list[float]) -> bool:
    """Whether the rules between registers run over the text but not over the strip."""
    if view.drawn is None or not cuts:
        return False
    reach, over = view.cell / 2, []
    for part in (strip, text):
        sides = float(part[:, 0].min()), float(part[:, 2].max())
        over.append([share_ruled(view.drawn.across, sides, (y - reach, y + reach)) for y in cuts])
    return max(over[0]) < 0.3 and min(over[1]) > 0.8
