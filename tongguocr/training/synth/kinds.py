"""The kinds of synthetic page: one table, `KINDS`, and a page of any of them, `compose_page`.

In: a kind's name, a text source, a font book, a seed. Out: a `Composition`; the same seed gives the same page
everywhere. A kind is a layout, a function from a `LayoutContext` to a `PageBuilder` filled with lines in
reading order: leaves from right to left, registers from top to bottom, columns from right to left, notes
inside their column, head notes and the centre fold after the text they belong to. Sizes are in pixels of a
scan at about 200 dpi: a half-leaf of 1,000 x 1,400, characters of 40 to 60 px. Layouts that are one half-leaf
with something special to it are in half_leaf.py and cut_leaf.py, those of columns set in pieces in verse.py,
reprints in reprint.py, all others here.

To add a kind: write its layout, give it a row in `KINDS`. The tests of all kinds then try it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tongguocr.training.synth import half_leaf
from tongguocr.training.synth.composition import Composition, Patch, Stroke
from tongguocr.training.synth.cut_leaf import cut_leaf
from tongguocr.training.synth.half_leaf import half_leaf_size, margins, set_half_leaf
from tongguocr.training.synth.page_builder import LayoutContext, PageBuilder, rule_columns, set_columns, take
from tongguocr.training.synth.reprint import below_hundred, reprint
from tongguocr.training.synth.text import Column, Run, TextSource
from tongguocr.training.synth.verse import glosses, verse

if TYPE_CHECKING:
    from tongguocr.training.synth.fonts import FontBook

Layout: TypeAlias = Callable[[LayoutContext], PageBuilder]


def spread(context: LayoutContext) -> PageBuilder:
    """Two half-leaves of one printed page, the centre fold between them."""
    count, rows, pitch = half_leaf_size(context)
    page = context.new_page(0, 0, pitch)
    left, top, right, bottom = margins(context)
    w, h = count * page.style.column_pitch, rows * pitch + 0.5 * pitch
    fold = pitch * context.rng.uniform(1.2, 1.8)
    page.width, page.height = left + 2 * w + fold + right, top + h + bottom
    columns = context.columns(rows, page.style.note_pitch)
    for x in (left + w + fold, left):
        set_half_leaf(page, columns, (x, top, x + w, top + h), count, rows)
    page.frame = (left, top, left + 2 * w + fold, top + h)
    _fold(context, page, left + w + fold / 2, top, h, fold)
    return page


def _fold(context: LayoutContext, page: PageBuilder, x: float, top: float, h: float, width: float) -> None:
    """Fish-tails, the running title between them, chapter and leaf number below."""
    size = min(width * 0.7, page.style.pitch * 0.85)
    upper, lower = top + h * context.rng.uniform(0.16, 0.24), top + h * context.rng.uniform(0.66, 0.74)
    for y, down in ((upper, 1), (lower, -1))[: int(context.rng.integers(1, 3))]:
        page.patches.append(_fish_tail(x, y, width * 0.9, down))
    y = upper + width * 0.9
    for text in (context.take_text(int(context.rng.integers(2, 6))), "卷" + _number(context)):
        page.add_line(text, x, y, (size, size), size * 1.05, "fold")
        y += (len(text) + 1.0) * size * 1.05
    number = _number(context)
    page.add_line(number, x, lower + width, (size * 0.8, size * 0.8), size * 0.85, "fold")


def _fish_tail(x: float, y: float, w: float, down: int) -> Patch:
    """A bar with a notched tail, pointing down (1) or up (-1)."""
    tail, notch = 0.55 * w * down, 0.25 * w * down
    return Patch(
        ((x - w / 2, y), (x + w / 2, y), (x + w / 2, y + tail), (x, y + notch), (x - w / 2, y + tail))
    )


def _number(context: LayoutContext) -> str:
    return below_hundred(int(context.rng.integers(1, 100)))


def tripitaka(context: LayoutContext) -> PageBuilder:
    """A wide page of plain columns, 17 or 20 characters, only a line above and below, or nothing."""
    rows, count = int(context.rng.choice([14, 17, 17, 20])), int(context.rng.integers(10, 27))
    pitch = context.rng.uniform(40, 56)
    page = context.new_page(0, 0, pitch)
    left, top, right, bottom = margins(context)
    w, h = count * page.style.column_pitch, rows * pitch + pitch
    page.width, page.height = left + w + right, top + h + bottom
    set_columns(page, context.columns(rows, page.style.note_pitch), left + w, top + pitch / 2, count, rows)
    if context.rng.random() < 0.7:
        for y in (top, top + h):
            page.strokes.append(
                Stroke((left - 20, y), (left + w + 20, y), page.style.frame_width / 2, "frame")
            )
    page.frame = (left, top, left + w, top + h)
    return page


def registers(context: LayoutContext, how_many: int) -> PageBuilder:
    """Text in bands one above another, each read from right to left before the next."""
    rows, count = int(context.rng.integers(8, 15)), int(context.rng.integers(12, 24))
    pitch = context.rng.uniform(34, 48)
    page = context.new_page(0, 0, pitch)
    left, top, right, bottom = margins(context)
    w, band = count * page.style.column_pitch, rows * pitch + pitch
    page.width, page.height = left + w + right, top + how_many * band + bottom
    columns = context.columns(rows, page.style.note_pitch)
    for k in range(how_many):
        y = top + k * band
        set_columns(page, columns, left + w, y + pitch / 2, count, rows)
        rule_columns(page, (left, y, left + w, y + band), count)
        if k:
            page.add_rule(left, y, left + w, y)
    page.add_frame((left, top, left + w, top + how_many * band))
    return page


def title(context: LayoutContext) -> PageBuilder:
    """A title page: the date on the right, the title large in the middle, the publisher on the left."""
    page = context.new_page(context.rng.uniform(850, 1050), context.rng.uniform(1250, 1450), 60)
    count = int(context.rng.integers(4, 9))
    top, bottom = 170.0, page.height - 130
    step = (bottom - top) / (count + 0.5)
    size = min(step * 0.92, page.width * 0.3)
    small = context.rng.uniform(44, 62)
    x = page.width / 2
    outer = page.width * 0.32
    page.add_line(
        context.take_text(int(context.rng.integers(4, 9))), x + outer, top + 20, (small, small), small * 1.12
    )
    page.add_line(context.take_text(count), x, top + 0.25 * step, (size * 0.95, size), step)
    page.add_line(
        context.take_text(int(context.rng.integers(4, 9))), x - outer, top + 240, (small, small), small * 1.12
    )
    page.add_frame((x - outer - 80, top, x + outer + 80, bottom))
    if page.style.ruled:
        for side in (-1, 1):
            page.add_rule(x + side * outer * 0.6, top, x + side * outer * 0.6, bottom)
    return page


def table(context: LayoutContext) -> PageBuilder:
    """A table or genealogy, read row by row, each cell from right to left in one or two short columns."""
    across, down = int(context.rng.integers(6, 12)), int(context.rng.integers(4, 9))
    pitch, rows = context.rng.uniform(36, 48), int(context.rng.integers(3, 6))
    page = context.new_page(0, 0, pitch)
    cell_w, cell_h = 2.2 * page.style.column_pitch, (rows + 0.8) * pitch
    left, top, right, bottom = margins(context)
    w, h = across * cell_w, down * cell_h
    page.width, page.height = left + w + right, top + h + bottom
    stream = context.text.stream(context.rng)
    for r in range(down):
        for c in range(across):
            if context.rng.random() < 0.85:
                x = left + w - (c + 0.5) * cell_w
                _cell(context, page, stream, x, top + r * cell_h + 0.3 * pitch, rows)
        if r:
            page.add_rule(left, top + r * cell_h, left + w, top + r * cell_h)
    for c in range(1, across):
        page.add_rule(left + c * cell_w, top, left + c * cell_w, top + h)
    page.add_frame((left, top, left + w, top + h))
    return page


def _cell(
    context: LayoutContext, page: PageBuilder, stream: Iterator[str], x: float, y: float, rows: int
) -> None:
    columns = 2 if context.rng.random() < 0.3 else 1
    for k in range(columns):
        count = rows if k + 1 < columns else int(context.rng.integers(1, rows + 1))
        place = x + (0.5 * (columns - 1) - k) * page.style.column_pitch
        page.add_line(take(stream, count), place, y, page.main_size(), page.style.pitch)


def preface(context: LayoutContext) -> PageBuilder:
    """Few large characters in a running hand, unevenly spaced, by a brush face where there is one."""
    count, rows = int(context.rng.integers(5, 8)), int(context.rng.integers(8, 14))
    pitch = context.rng.uniform(1000, 1200) / rows
    page = context.new_page(0, 0, pitch)
    brush = context.fonts.pick_group(context.rng, "brush", context.held_out)
    page.style = replace(
        page.style,
        face=brush,
        jitter=context.rng.uniform(0.03, 0.06),
        column_pitch=pitch * 1.35,
    )
    left, top, right, bottom = margins(context)
    w, h = count * page.style.column_pitch, rows * pitch * 1.05
    page.width, page.height = left + w + right, top + h + bottom
    plain = (Column(c.indent, (Run("".join(r.text for r in c.runs)),)) for c in context.columns(rows))
    set_half_leaf(page, plain, (left, top, left + w, top + h), count, rows)
    return page


@dataclass(frozen=True, slots=True)
class PageKind:
    """One kind of page."""

    layout: Layout
    share: float
    """How often it is drawn, against the others: common kinds often, odd ones often enough to be learned."""
    benchmark: bool = False
    """Whether the frozen benchmark's first part has pages of it. New kinds stay out: it never changes."""


KINDS: dict[str, PageKind] = {
    "half-leaf": PageKind(half_leaf.half_leaf, 14, benchmark=True),
    "spread": PageKind(spread, 14, benchmark=True),
    "tripitaka": PageKind(tripitaka, 12, benchmark=True),
    "two-registers": PageKind(partial(registers, how_many=2), 5, benchmark=True),
    "three-registers": PageKind(partial(registers, how_many=3), 4, benchmark=True),
    "title": PageKind(title, 3, benchmark=True),
    "table": PageKind(table, 6, benchmark=True),
    "preface": PageKind(preface, 5, benchmark=True),
    "commentary": PageKind(half_leaf.commentary, 10, benchmark=True),
    "head-notes": PageKind(half_leaf.head_notes, 6, benchmark=True),
    "raised": PageKind(half_leaf.raised, 5, benchmark=True),
    "note-edges": PageKind(half_leaf.note_edges, 6, benchmark=True),
    "boxed": PageKind(half_leaf.boxed, 4, benchmark=True),
    "marked": PageKind(half_leaf.marked, 4, benchmark=True),
    "horizontal": PageKind(half_leaf.horizontal, 2, benchmark=True),
    "reprint": PageKind(reprint, 12),
    "verse": PageKind(verse, 8),
    "glosses": PageKind(glosses, 6),
    "cut-leaf": PageKind(cut_leaf, 10),
}
"""Every kind of page by its name."""

BENCHMARK_KINDS = tuple(name for name, kind in KINDS.items() if kind.benchmark)
"""The kinds of the frozen benchmark, in the order of its pages."""
SECOND_BENCHMARK_KINDS = ("reprint", "verse", "glosses", "cut-leaf")
"""The kinds of the frozen benchmark's second part, in the order of its pages."""


def compose_page(
    kind: str, text: TextSource, fonts: FontBook, seed: int, held_out: bool = False
) -> Composition:
    """A page of this kind; every choice comes from the seed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    return KINDS[kind].layout(LayoutContext(rng, text, fonts, held_out)).build(kind, seed)


def pick_kind(rng: np.random.Generator) -> str:
    """A random kind, by the shares."""
    shares = np.array([kind.share for kind in KINDS.values()], np.float64)
    return str(rng.choice(list(KINDS), p=shares / shares.sum()))
