"""A half-leaf whose picture ends in its centre fold or in the facing leaf: its edge cuts characters through.

In: a `LayoutContext`. Out: a `PageBuilder` whose glyphs reach beyond the page at one side. Of the fold's
characters the picture shows either more than half (`SHOWN`), and then they are lines like any other fold, or
little (`HIDDEN`), and then they are ink that belongs to no line. Of the facing leaf's nearest column it never
shows more than little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tongguocr.geometry import Box
from tongguocr.training.synth import verse
from tongguocr.training.synth.composition import Patch, Stroke
from tongguocr.training.synth.half_leaf import half_leaf_size, margins
from tongguocr.training.synth.page_builder import LayoutContext, PageBuilder, rule_columns
from tongguocr.training.synth.reprint import number
from tongguocr.training.synth.verse import set_register

SHOWN = (0.55, 1.1)
"""The share of a labelled character's width that the picture shows; over 1: it is whole, near the edge."""
HIDDEN = (0.02, 0.3)
"""The same of ink that is in no label."""
SOURCES = (
    verse.mixed_columns,
    verse.mixed_columns,
    verse.plain_columns,
    verse.plain_columns,
    verse.annotated_columns,
    verse.lifted_columns,
    verse.verse_columns,
    verse.gloss_columns,
    verse.list_columns,
)


@dataclass(frozen=True, slots=True)
class Edge:
    """Where the picture ends."""

    side: int
    """1: at the right of the leaf, -1: at its left."""
    inner: float
    """The leaf's own side there."""
    middle: float
    """The middle of the column of characters that the edge cuts."""
    size: float
    """The width of the largest of these characters."""


def cut_leaf(context: LayoutContext) -> PageBuilder:
    """A half-leaf with a slice of the centre fold or of the facing leaf at one side."""
    rng = context.rng
    count, rows, pitch = half_leaf_size(context)
    page = context.new_page(0, 0, pitch)
    left, top, right, bottom = margins(context)
    w, h = count * page.style.column_pitch, rows * pitch + 0.5 * pitch
    side, fold = int(rng.choice([-1, 1])), bool(rng.random() < 0.7)
    away, size, seen = _fold_measures(context, page) if fold else _facing_measures(context, page)
    # So far from the leaf's side to where the picture shows this share of the characters.
    room = away + (seen - 0.5) * size
    left, right = (room, right) if side < 0 else (left, room)
    page.width, page.height = left + w + right, top + h + bottom
    box = (left, top, left + w, top + h)
    columns = SOURCES[int(rng.integers(len(SOURCES)))](context, rows, page.style.note_pitch)
    xs = [left + w - (k + 0.5) * page.style.column_pitch for k in range(count)]
    set_register(page, columns, xs, top + 0.25 * pitch, rows)
    rule_columns(page, box, count)
    inner = box[2] if side > 0 else box[0]
    edge = Edge(side, inner, inner + side * away, size)
    if fold:
        _add_fold(context, page, box, edge, labelled=seen >= SHOWN[0])
    else:
        _add_facing(context, page, box, edge, rows, shown=seen > 0)
    return page


def _fold_measures(context: LayoutContext, page: PageBuilder) -> tuple[float, float, float]:
    """From the leaf's side to the fold's middle, the width of its characters, the share that is seen."""
    fold = page.style.pitch * context.rng.uniform(1.2, 1.8)
    size = min(0.7 * fold, 0.85 * page.style.pitch)
    seen = context.rng.uniform(*(SHOWN if context.rng.random() < 0.65 else HIDDEN))
    return fold / 2, size, float(seen)


def _facing_measures(context: LayoutContext, page: PageBuilder) -> tuple[float, float, float]:
    """The same for the facing leaf's first column; below 0 only its frame is seen."""
    size = page.main_size()[0]
    away = page.style.pitch * context.rng.uniform(0.8, 3.5) + page.style.column_pitch / 2
    seen = HIDDEN[0] - 0.1 if context.rng.random() < 0.2 else context.rng.uniform(*HIDDEN)
    return away, size, float(seen)


def _add_fold(context: LayoutContext, page: PageBuilder, box: Box, edge: Edge, labelled: bool) -> None:
    """Frame, fish-tails, title, chapter and leaf number, running out of the picture."""
    x0, y0, x1, y1 = box
    rng, style, beyond = context.rng, page.style, page.width if edge.side > 0 else 0.0
    outer, heavy = (x1 if edge.side < 0 else x0), style.frame_width
    for y in (y0, y1):
        page.strokes.append(Stroke((outer, y), (beyond, y), heavy, "frame"))
    page.strokes.append(Stroke((outer, y0), (outer, y1), heavy, "frame"))
    page.strokes.append(Stroke((edge.inner, y0), (edge.inner, y1), style.rule_width, "frame"))
    page.frame = (min(x0, beyond), y0, max(x1, beyond), y1)
    upper = y0 + (y1 - y0) * rng.uniform(0.16, 0.24)
    lower = y0 + (y1 - y0) * rng.uniform(0.66, 0.74)
    half = abs(edge.middle - edge.inner) * 0.95
    tails = int(rng.integers(0, 3))
    if tails:
        page.patches.append(_fish_tail(edge.middle, upper, half, 1.0, page.width))
    # A character that strays further than this could be seen by more or less than its line is said to be.
    page.style = replace(style, jitter=min(style.jitter, 0.01), slant_jitter=0.0)
    y = upper + 2.2 * half
    chapter = "卷" * bool(rng.random() < 0.7) + number(context, 60)
    for text in (context.take_text(int(rng.integers(2, 7))), chapter):
        _add_column(page, text, edge.middle, y, edge.size, labelled)
        y += (len(text) + rng.uniform(0.5, 1.5)) * edge.size * 1.05
    lower = max(lower, y + 1.2 * half)
    if tails > 1:
        page.patches.append(_fish_tail(edge.middle, lower, half, -1.0, page.width))
    _add_column(page, number(context, 80), edge.middle, lower + 0.4 * half, 0.8 * edge.size, labelled)


def _add_column(page: PageBuilder, text: str, x: float, y: float, size: float, labelled: bool) -> None:
    if labelled:
        page.add_line(text, x, y, (size, size), 1.05 * size, "fold")
    else:
        page.add_unlabelled(text, x, y, (size, size), 1.05 * size)


def _fish_tail(x: float, y: float, half: float, down: float, width: float) -> Patch:
    """A bar with a notched tail, pointing down (1) or up (-1), cut off at the picture's edges."""
    ends = (max(x - half, 0.0), min(x + half, width))
    a, b = ((end, y + down * (0.5 * half + 0.6 * abs(end - x))) for end in ends)
    notch = ((x, y + 0.5 * half * down),) if ends[0] < x < ends[1] else ()
    return Patch(((ends[0], y), (ends[1], y), b, *notch, a))


def _add_facing(
    context: LayoutContext, page: PageBuilder, box: Box, edge: Edge, rows: int, shown: bool
) -> None:
    """The facing leaf's frame from its side to the picture's edge, and its first column where it is shown."""
    page.add_frame(box)
    style = page.style
    frame, beyond = edge.middle - edge.side * style.column_pitch / 2, page.width if edge.side > 0 else 0.0
    y0, y1 = (y + context.rng.normal(0, 0.15) * style.pitch for y in (box[1], box[3]))
    page.strokes.append(Stroke((frame, y0), (frame, y1), style.frame_width, "frame"))
    for y in (y0, y1):
        page.strokes.append(Stroke((frame, y), (beyond, y), style.frame_width, "frame"))
    page.style = replace(style, jitter=min(style.jitter, 0.01), slant_jitter=0.0)
    text = context.take_text(int(context.rng.integers(rows // 2, rows + 1)) if shown else 0)
    page.add_unlabelled(text, edge.middle, y0 + 0.25 * style.pitch, page.main_size(), style.pitch)
