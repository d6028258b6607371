"""The half-leaf, one side of a printed sheet: the unit that most pages are made of, and layouts that are one.

In: a `LayoutContext`. Out: a `PageBuilder` with margins, a frame, rules and columns; `half_leaf` is the
ordinary one, the layouts below it change its columns or add something to them. kinds.py has the table of all
kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from tongguocr.geometry import Box
from tongguocr.training.synth.composition import Mark, Patch, Stroke
from tongguocr.training.synth.page_builder import (
    LayoutContext,
    PageBuilder,
    reflow,
    rule_columns,
    set_columns,
    take,
)
from tongguocr.training.synth.text import Column, Run

ChangeColumns: TypeAlias = Callable[[Iterator[Column], int, float], Iterator[Column]]
"""From the source's columns, the rows of the page and the note pitch to the columns that are set."""


@dataclass
class HalfLeaf:
    """A half-leaf before its text."""

    page: PageBuilder
    box: Box
    """Where the frame goes."""
    count: int
    """Columns."""
    rows: int
    """Cells of a column."""


def half_leaf_size(context: LayoutContext) -> tuple[int, int, float]:
    """Columns, rows and pitch of an ordinary half-leaf."""
    rows = int(context.rng.choice([16, 17, 18, 19, 20, 21, 21, 21, 21, 22, 24]))
    return int(context.rng.integers(7, 12)), rows, context.rng.uniform(980, 1250) / rows


def margins(context: LayoutContext) -> tuple[float, float, float, float]:
    """Paper around the frame: left, top, right, bottom. The head is the widest."""
    left, right, bottom = context.rng.uniform(50, 140, 3)
    return left, context.rng.uniform(100, 260), right, bottom


def blank_half_leaf(context: LayoutContext, head: float = 0.0) -> HalfLeaf:
    """One half-leaf on its paper, with `head` cells of extra room above the frame."""
    count, rows, pitch = half_leaf_size(context)
    page = context.new_page(0, 0, pitch)
    left, top, right, bottom = margins(context)
    top += head * pitch
    w, h = count * page.style.column_pitch, rows * pitch + 0.5 * pitch
    page.width, page.height = left + w + right, top + h + bottom
    return HalfLeaf(page, (left, top, left + w, top + h), count, rows)


def fill_half_leaf(context: LayoutContext, leaf: HalfLeaf, change: ChangeColumns | None = None) -> list[int]:
    """Set the text, the rules and the frame; returns the number of each column's first line."""
    note_pitch = leaf.page.style.note_pitch
    columns = context.columns(leaf.rows, note_pitch)
    if change:
        columns = change(columns, leaf.rows, note_pitch)
    return set_half_leaf(leaf.page, columns, leaf.box, leaf.count, leaf.rows)


def set_half_leaf(page: PageBuilder, columns: Iterator[Column], box: Box, count: int, rows: int) -> list[int]:
    """Set columns in a frame, a little clear of it; returns the number of each column's first line."""
    clear = (box[3] - box[1] - rows * page.style.pitch) / 2
    firsts = set_columns(page, columns, box[2], box[1] + clear, count, rows)
    rule_columns(page, box, count)
    page.add_frame(box)
    return firsts


def half_leaf(context: LayoutContext) -> PageBuilder:
    """One half-leaf of ordinary columns, ruled or not."""
    leaf = blank_half_leaf(context)
    fill_half_leaf(context, leaf)
    return leaf.page


def commentary(context: LayoutContext) -> PageBuilder:
    """A few characters of the classic, then notes that fill most of the page."""
    leaf = blank_half_leaf(context)
    fill_half_leaf(context, leaf, lambda _, rows, note_pitch: annotated(context, rows, note_pitch))
    return leaf.page


def annotated(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Column]:
    """Columns of a classic with its commentary: a few characters, then a long note, and so on."""
    stream = context.text.stream(context.rng)
    while True:
        runs = []
        for _ in range(4):
            runs.append(Run(take(stream, int(context.rng.integers(2, 12)))))
            runs.append(Run(take(stream, int(context.rng.integers(20, 120))), True))
        yield from reflow(Column(0, tuple(runs)), rows, note_pitch)


def note_edges(context: LayoutContext) -> PageBuilder:
    """Columns that begin with a note, end with one, or hold notes of odd length."""

    def edged(columns: Iterator[Column], rows: int, note_pitch: float) -> Iterator[Column]:
        stream = context.text.stream(context.rng)
        while True:
            shape = str(context.rng.choice(["nm", "mn", "nmn", "n", "mnm"]))
            odd = [2 * int(k) + 1 for k in context.rng.integers(0, 8, len(shape))]
            runs = [Run(take(stream, k), part == "n") for k, part in zip(odd, shape, strict=True)]
            yield Column(int(context.rng.integers(0, 2)), tuple(runs))

    leaf = blank_half_leaf(context)
    fill_half_leaf(context, leaf, edged)
    return leaf.page


def raised(context: LayoutContext) -> PageBuilder:
    """Columns that stand one or two cells higher in honour of a name, the others indented below them."""
    leaf = blank_half_leaf(context)
    fill_half_leaf(context, leaf, partial(lifted, context))
    return leaf.page


def lifted(
    context: LayoutContext, columns: Iterator[Column], rows: int, note_pitch: float
) -> Iterator[Column]:
    """These columns at various heights: most of them indented, some raised."""
    for column in columns:
        indent = int(context.rng.choice([0, 1, 2, 2, 2, 2, 3]))
        yield from reflow(replace(column, indent=indent), rows, note_pitch)


def head_notes(context: LayoutContext) -> PageBuilder:
    """An ordinary half-leaf with small notes above the frame, read after it."""
    rows, scale = int(context.rng.integers(4, 9)), context.rng.uniform(0.5, 0.65)
    leaf = blank_half_leaf(context, head=rows * scale)
    fill_half_leaf(context, leaf)
    page, (left, top, x, _) = leaf.page, leaf.box
    size = page.style.pitch * scale
    across, along = size * 1.35, size * 1.05
    y = top - rows * along - 3 * page.style.frame_width - 12
    x -= context.rng.uniform(0, 0.3) * (x - left)
    for _ in range(int(context.rng.integers(1, 4))):
        for _ in range(int(context.rng.integers(2, 6))):
            if x - across > left:
                count = rows if context.rng.random() < 0.7 else int(context.rng.integers(2, rows + 1))
                page.add_line(context.take_text(count), x - across / 2, y, (size, size), along, "margin")
                x -= across
        x -= across * context.rng.uniform(2, 6)
    return page


def horizontal(context: LayoutContext) -> PageBuilder:
    """A short line from right to left above ordinary columns, as on a plaque or a picture's heading."""
    scale, count = context.rng.uniform(1.2, 2.0), int(context.rng.integers(3, 7))
    leaf = blank_half_leaf(context, head=1.3 * scale)
    page, (left, top, right, _) = leaf.page, leaf.box
    size = page.style.pitch * scale
    x, y = (left + right) / 2 + count * size * 1.1 / 2, top - 0.8 * size - 3 * page.style.frame_width
    page.add_line(context.take_text(count), x, y, (size, size), size * 1.1, "main", "right-to-left")
    fill_half_leaf(context, leaf)
    return page


def boxed(context: LayoutContext) -> PageBuilder:
    """Headings of a few characters in boxes, or white on black."""
    leaf = blank_half_leaf(context)
    page, firsts = leaf.page, fill_half_leaf(context, leaf)
    for first in firsts:
        if first < len(page.lines) and context.rng.random() < 0.5:
            line = page.lines[first]
            stop = min(line.start + int(context.rng.integers(1, 4)), line.stop)
            boxes = np.array(page.boxes[line.start : stop])
            grow = 0.04 * page.style.pitch
            x0, y0 = boxes[:, :2].min(axis=0) - grow
            x1, y1 = boxes[:, 2:].max(axis=0) + grow
            corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
            if context.rng.random() < 0.5:
                page.patches.append(Patch(corners))
                page.white[line.start : stop] = [True] * (stop - line.start)
            else:
                for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                    page.strokes.append(Stroke(a, b, page.style.rule_width * 1.3, "box"))
    return page


def marked(context: LayoutContext) -> PageBuilder:
    """Reading marks at the right foot of characters: rings or dots, printed or added in red."""
    leaf = blank_half_leaf(context)
    fill_half_leaf(context, leaf)
    page = leaf.page
    ring, red = bool(context.rng.random() < 0.6), bool(context.rng.random() < 0.5)
    for line in page.lines:
        k = line.start
        while (k := k + int(context.rng.integers(3, 9))) < line.stop:
            _, y0, x1, y1 = page.boxes[k]
            radius = 0.1 * (y1 - y0)
            centre = (x1 + 0.4 * radius, y1 - 0.2 * radius)
            page.marks.append(Mark(centre, radius, "ring" if ring else "dot", red))
    return page
