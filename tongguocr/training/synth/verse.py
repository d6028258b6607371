"""Columns that are set in pieces: verse (偈頌), glosses (音釋), lists, and the pages full of them.

In: a `LayoutContext`. Out: a `PageBuilder`, or for other layouts the columns one by one: `Setting`s, which
`set_register` puts side by side. A verse fills its columns with two, three or four pieces, one below another
with a gap between them; each piece is a line, and a column is read to its foot before the next. In glosses
every entry is one to four large characters and a double-row note, and entries run on through the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from tongguocr.geometry import Box
from tongguocr.training.synth.half_leaf import annotated, lifted, margins
from tongguocr.training.synth.page_builder import LayoutContext, PageBuilder, rule_columns, set_column, take
from tongguocr.training.synth.text import Column, Run

VERSE_GAP = (0.7, 3.0)
"""Cells between the pieces of a verse, the least and the most."""
PIECE_LENGTHS = {4: 2.0, 5: 4.0, 6: 1.0, 7: 5.0, 8: 1.0, 9: 1.0}
"""Characters of a piece, and how often: verses of five and seven are the usual ones."""
HEADING = "音釋"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one column that is a line of its own."""

    row: float
    """Where it begins, in cells from the column's top."""
    text: str
    side: int = 0
    """0: main text, in the middle of the column; 1 and -1: the right and the left row of a note."""
    scale: float = 1.0
    """Its characters over those of the main text."""


Setting: TypeAlias = Column | tuple[Piece, ...]
"""One column as it is set; an empty one leaves its place blank."""
Source: TypeAlias = Callable[[LayoutContext, int, float], Iterator[Setting]]
"""From the rows of a column and the note pitch to columns."""


def set_register(
    page: PageBuilder, columns: Iterator[Setting], xs: Sequence[float], top: float, rows: int
) -> int:
    """Columns about these places, from right to left; how many, for the text may end before."""
    placed = list(zip(xs, columns, strict=False))
    for x, column in placed:
        if isinstance(column, Column):
            set_column(page, column, x, top, rows)
        else:
            for piece in column:
                _set_piece(page, piece, x, top)
    return len(placed)


def _set_piece(page: PageBuilder, piece: Piece, x: float, top: float) -> None:
    style, y = page.style, top + piece.row * page.style.pitch
    if piece.side:
        x += piece.side * style.column_pitch / 4
        page.add_line(piece.text, x, y, page.note_size(), style.pitch * style.note_pitch, "note")
        return
    w, h = page.main_size()
    widest = 0.96 * style.column_pitch / w
    size = (w * min(piece.scale, widest), h * piece.scale)
    page.add_line(piece.text, x, y, size, style.pitch * piece.scale)


@dataclass(frozen=True, slots=True)
class VerseForm:
    """How the columns of one verse are parted."""

    indent: int
    pieces: int
    length: int
    gap: float
    """Cells between two pieces."""

    def column(self, stream: Iterator[str], pieces: int) -> tuple[Piece, ...]:
        """A column with so many pieces."""
        step = self.length + self.gap
        return tuple(Piece(self.indent + k * step, take(stream, self.length)) for k in range(pieces))


def draw_verse_form(rng: np.random.Generator, rows: int) -> VerseForm | None:
    """A form that fills most of a column of `rows` cells; None if that is too short for two pieces."""
    forms = [
        (indent, pieces, length, (rows - indent - pieces * length) / (pieces - 1))
        for indent in (0, 1, 2)
        for pieces in (2, 3, 4)
        for length in PIECE_LENGTHS
    ]
    forms = [f for f in forms if f[3] >= VERSE_GAP[0] and f[0] + f[1] * (f[2] + VERSE_GAP[1]) >= 0.75 * rows]
    if not forms:
        return None
    chances = np.array([PIECE_LENGTHS[f[2]] / (1 + f[0]) for f in forms])
    indent, pieces, length, room = forms[int(rng.choice(len(forms), p=chances / chances.sum()))]
    widest = min(room, VERSE_GAP[1])
    # Most verses reach down to the foot, as the prose beside them does.
    gap = widest if rng.random() < 0.4 else float(rng.uniform(VERSE_GAP[0], widest))
    return VerseForm(indent, pieces, length, gap)


def verse_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Blocks of verse among prose, or nothing but verse."""
    rng, whole = context.rng, bool(context.rng.random() < 0.35)
    form = draw_verse_form(rng, rows)
    prose_first = not whole and bool(rng.random() < 0.6)
    while True:
        if prose_first or form is None:
            yield from islice(plain_columns(context, rows, note_pitch), int(rng.integers(1, 6)))
        prose_first = not whole
        if form is not None:
            yield from _verse_block(context, form, int(rng.integers(3, 13)))
        if whole and rng.random() < 0.3:
            form = draw_verse_form(rng, rows)


def _verse_block(context: LayoutContext, form: VerseForm, count: int) -> Iterator[Setting]:
    stream = context.text.stream(context.rng)
    for _ in range(count):
        yield form.column(stream, form.pieces)
    if context.rng.random() < 0.4:
        yield form.column(stream, int(context.rng.integers(1, form.pieces)))


def gloss_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Entries without end, one behind the other: one to four large characters, then their note."""
    rng, stream = context.rng, context.text.stream(context.rng)
    indent, scale = int(rng.choice([0, 1, 1, 2])), float(rng.uniform(1.0, 1.25))
    longest, apart = int(rng.integers(8, 40)), float(rng.choice([0.0, rng.uniform(0, 0.5)]))
    row, column = float(indent), list[Piece]()
    while True:
        head = take(stream, int(rng.choice([1, 2, 3, 4], p=[0.4, 0.4, 0.1, 0.1])))
        note = take(stream, int(rng.integers(3, longest)))
        for text, step, is_note in ((head, scale, False), (note, note_pitch, True)):
            while text:
                room = int((rows - row) / step + 1e-6)
                if room < 1:
                    yield tuple(column)
                    row, column = float(indent), []
                    continue
                pieces = _note_rows(text, row, room) if is_note else [Piece(row, text[:room], scale=scale)]
                text = text[sum(len(piece.text) for piece in pieces) :]
                column += pieces
                row += len(pieces[0].text) * step
        row += apart


def _note_rows(text: str, row: float, room: int) -> list[Piece]:
    """As much of a note as fits into so many cells: its right row and, if any is left, its left one."""
    half = min(-(-len(text) // 2), room)
    rows = ((1, text[:half]), (-1, text[half : 2 * half]))
    return [Piece(row, part, side) for side, part in rows if part]


def chapter_end(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """The last columns of a chapter, its title again, and its glosses; then nothing more."""
    rng = context.rng
    if rng.random() < 0.7:
        yield from islice(plain_columns(context, rows, note_pitch), int(rng.integers(1, 12)))
        last = context.take_text(int(rng.integers(1, rows)))
        yield Column(0, (Run(last),))
    if rng.random() < 0.8:
        yield from [Column(0, ())] * int(rng.integers(0, 3))
        yield Column(0, (Run(context.take_text(int(rng.integers(4, rows)))),))
    if rng.random() < 0.75:
        yield from [Column(0, ())] * int(rng.integers(0, 4))
        yield Column(int(rng.integers(0, 3)), (Run(HEADING),))
        yield from islice(gloss_columns(context, rows, note_pitch), int(rng.integers(1, 9)))


def plain_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Columns of prose without notes."""
    for column in context.columns(rows):
        yield Column(column.indent, (Run("".join(run.text for run in column.runs)[: rows - column.indent]),))


def list_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Columns that begin and end at various heights, as names in a list or items of a contents do."""
    rng, stream = context.rng, context.text.stream(context.rng)
    indents = int(rng.integers(0, 3)), int(rng.integers(1, 5))
    while True:
        indent = min(indents[int(rng.random() < 0.7)], rows - 3)
        text = take(stream, int(rng.integers(2, rows - indent + 1)))
        notes = (Run(take(stream, int(rng.integers(2, 9))), True),) if rng.random() < 0.15 else ()
        yield Column(indent, (Run(text), *notes))


def mixed_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Columns as the source has them, with its notes."""
    yield from context.columns(rows, note_pitch)


def annotated_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """A classic with its commentary."""
    yield from annotated(context, rows, note_pitch)


def lifted_columns(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
    """Raised and indented columns."""
    yield from lifted(context, context.columns(rows, note_pitch), rows, note_pitch)


def verse(context: LayoutContext) -> PageBuilder:
    """Verse in half, third and quarter columns among prose, in one register or two."""
    return _page_of(context, verse_columns, int(context.rng.integers(12, 27)))


def glosses(context: LayoutContext) -> PageBuilder:
    """Glosses: large head characters and their notes, running on from column to column."""

    def headed(context: LayoutContext, rows: int, note_pitch: float) -> Iterator[Setting]:
        if context.rng.random() < 0.4:
            yield from islice(plain_columns(context, rows, note_pitch), int(context.rng.integers(1, 4)))
        if context.rng.random() < 0.5:
            yield Column(int(context.rng.integers(0, 3)), (Run(HEADING),))
        yield from gloss_columns(context, rows, note_pitch)

    return _page_of(context, headed, int(context.rng.integers(10, 22)))


def _page_of(context: LayoutContext, source: Source, rows: int) -> PageBuilder:
    """A page of such columns in a frame, in one register or, where columns are short, in two."""
    rng = context.rng
    how_many = 2 if rows < 18 and rng.random() < 0.4 else 1
    pitch = min(rng.uniform(750, 1350) / (rows * how_many), 62.0)
    page = context.new_page(0, 0, pitch)
    page.style = replace(page.style, ruled=bool(rng.random() < 0.5))
    left, top, right, bottom = margins(context)
    count, clear = int(rng.choice([8, 9, 10, 12, 15, 18, 22])), pitch * rng.uniform(0.3, 1.2)
    w, band = count * page.style.column_pitch, rows * pitch + 2 * clear
    page.width, page.height = left + w + right, top + how_many * band + bottom
    columns = source(context, rows, page.style.note_pitch)
    xs = [left + w - (k + 0.5) * page.style.column_pitch for k in range(count)]
    for k in range(how_many):
        y = top + k * band
        set_register(page, columns, xs, y + clear, rows)
        rule_columns(page, (left, y, left + w, y + band), count)
        if k:
            page.add_rule(left, y, left + w, y)
    _surround(context, page, (left, top, left + w, top + how_many * band))
    return page


def _surround(context: LayoutContext, page: PageBuilder, box: Box) -> None:
    """A frame in most books; in the others nothing, and then no rules that end nowhere."""
    if context.rng.random() < 0.8 or page.strokes:
        page.add_frame(box)
    page.frame = page.frame if page.strokes else box
