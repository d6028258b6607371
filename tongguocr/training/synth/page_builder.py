"""What page layouts are made with: a page under construction, its style, and columns of text set on it.

In: a random generator, a text source and a font book, together a `LayoutContext`. Out: a `PageBuilder`, which
a layout (kinds.py, half_leaf.py) fills with lines in reading order, rules and marks, and which becomes a
`Composition`. A style is drawn once and holds for the whole page, as it does for a book: one face, one size,
one spacing, one habit of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from tongguocr.geometry import Box
from tongguocr.page import Direction, Kind
from tongguocr.training.synth.composition import ComposedLine, Composition, Mark, Patch, Stroke
from tongguocr.training.synth.text import Column, Run, TextSource

if TYPE_CHECKING:
    from tongguocr.training.synth.fonts import FontBook


@dataclass(frozen=True, slots=True)
class Style:
    """How one book is cut and set; drawn once a page."""

    face: int
    pitch: float
    """Height of a cell, in pixels."""
    column_pitch: float
    """Distance from one column's middle to the next, in pixels."""
    glyph_height: float
    """A glyph's em box over the cell, as heights: over 1, characters of a column touch."""
    glyph_aspect: float
    """A glyph's width over its height."""
    note_width: float
    """The em box of a note's glyph over half the column, as widths."""
    note_height: float
    """The em box of a note's glyph over its own cell, as heights."""
    note_pitch: float
    """A note cell over a main cell: 1 in the Siku manuscripts, less where the cutter saved wood."""
    jitter: float
    """Standard deviation of a glyph's place and size, in em."""
    angle_jitter: float
    """Standard deviation of a glyph's angle, in radians."""
    slant_jitter: float
    """Standard deviation of a whole line's slant from the upright, in radians."""
    ruled: bool
    """Whether there are rules between the columns."""
    rule_width: float
    """Thickness of rules, in pixels."""
    frame_width: float
    """Thickness of the frame, in pixels."""
    double_frame: bool
    """Whether the frame has a thin line inside."""


def draw_style(rng: np.random.Generator, fonts: FontBook, held_out: bool, pitch: float) -> Style:
    """A random book's style, with cells `pitch` pixels high."""
    column = pitch * rng.uniform(1.15, 1.7)
    # Most books are near square; where wood was dear, characters were cut flat and wide and set close.
    wide = rng.uniform(0.82, 1.2) if rng.random() < 0.75 else rng.uniform(1.2, 1.5)
    return Style(
        face=fonts.pick(rng, held_out),
        pitch=pitch,
        column_pitch=column,
        glyph_height=rng.uniform(0.84, 1.08),
        glyph_aspect=min(wide, 0.98 * column / pitch),
        note_width=rng.uniform(0.8, 0.98),
        note_height=rng.uniform(0.72, 1.0),
        note_pitch=float(rng.choice([1.0, 1.0, 0.85, 0.7])),
        jitter=rng.uniform(0.005, 0.04),
        angle_jitter=rng.uniform(0.0, 0.02),
        slant_jitter=rng.uniform(0.0, 0.004),
        ruled=bool(rng.random() < 0.75),
        rule_width=max(pitch * rng.uniform(0.02, 0.05), 1.0),
        frame_width=max(pitch * rng.uniform(0.06, 0.16), 2.0),
        double_frame=bool(rng.random() < 0.5),
    )


@dataclass
class PageBuilder:
    """A page under construction: glyphs, lines and everything printed around them.

    The order in which lines are added is the reading order.
    """

    rng: np.random.Generator
    fonts: FontBook
    style: Style
    width: float
    height: float
    text: list[str] = field(default_factory=list)
    faces: list[int] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    angles: list[float] = field(default_factory=list)
    white: list[bool] = field(default_factory=list)
    lines: list[ComposedLine] = field(default_factory=list)
    strokes: list[Stroke] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    frame: Box = (0.0, 0.0, 0.0, 0.0)

    def add_glyph(self, char: str, x: float, y: float, w: float, h: float) -> None:
        """One glyph about its middle; nothing where no face can draw it."""
        face = self.fonts.face_for(char, self.style.face)
        if face is None:
            return
        dx, dy, dw, dh, turn = self.rng.normal(0.0, 1.0, 5)
        jitter = self.style.jitter
        x, y = x + dx * jitter * w, y + dy * jitter * h
        w, h = w * (1 + 0.5 * dw * jitter), h * (1 + 0.5 * dh * jitter)
        self.text.append(char)
        self.faces.append(face)
        self.boxes.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
        self.angles.append(float(turn) * self.style.angle_jitter)
        self.white.append(False)

    def add_line(
        self,
        text: str,
        x: float,
        y: float,
        size: tuple[float, float],
        step: float,
        kind: Kind = "main",
        direction: Direction = "top-to-bottom",
    ) -> None:
        """A line of glyphs of `size`, `step` apart, from (x, y), the middle of the first cell's near side.

        A character that no face draws is left out and the next takes its cell.
        """
        start = len(self.text)
        slant = self.rng.normal(0.0, self.style.slant_jitter)
        for char in text:
            middle = (len(self.text) - start + 0.5) * step
            aside = slant * middle
            cx, cy = {
                "top-to-bottom": (x + aside, y + middle),
                "bottom-to-top": (x + aside, y - middle),
                "left-to-right": (x + middle, y + aside),
                "right-to-left": (x - middle, y + aside),
            }[direction]
            self.add_glyph(char, cx, cy, *size)
        if len(self.text) > start:
            self.lines.append(ComposedLine(start, len(self.text), kind, direction))

    def add_unlabelled(self, text: str, x: float, y: float, size: tuple[float, float], step: float) -> None:
        """A column of ink that belongs to no line. It comes after the last line of the page."""
        for k, char in enumerate(text):
            self.add_glyph(char, x, y + (k + 0.5) * step, *size)

    def main_size(self) -> tuple[float, float]:
        """Width and height of a glyph of the main text."""
        h = self.style.pitch * self.style.glyph_height
        return h * self.style.glyph_aspect, h

    def note_size(self) -> tuple[float, float]:
        """Width and height of a glyph in a double-row note."""
        w = self.style.column_pitch / 2 * self.style.note_width
        step = self.style.pitch * self.style.note_pitch
        return min(w, 1.25 * step), min(step * self.style.note_height, 1.2 * w)

    def add_rule(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A thin printed line."""
        self.strokes.append(Stroke((x0, y0), (x1, y1), self.style.rule_width))

    def add_frame(self, box: Box) -> None:
        """A frame around the text, heavy outside and, in half the books, light inside."""
        x0, y0, x1, y1 = box
        rings = [(self.style.frame_width, 0.0)]
        if self.style.double_frame:
            rings = [(self.style.frame_width, 2.0 * self.style.frame_width), (self.style.rule_width, 0.0)]
        for width, away in rings:
            corners = [
                (x0 - away, y0 - away),
                (x1 + away, y0 - away),
                (x1 + away, y1 + away),
                (x0 - away, y1 + away),
            ]
            for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
                self.strokes.append(Stroke(start, end, width, "frame"))
        away = rings[0][0] / 2 + rings[0][1]
        self.frame = (x0 - away, y0 - away, x1 + away, y1 + away)

    def build(self, kind: str, seed: int) -> Composition:
        """The finished page."""
        count = len(self.text)
        return Composition(
            kind=kind,
            width=max(round(self.width), 1),
            height=max(round(self.height), 1),
            seed=seed,
            text=tuple(self.text),
            faces=np.array(self.faces, np.int16),
            boxes=np.array(self.boxes, np.float32).reshape(count, 4),
            angles=np.array(self.angles, np.float32),
            white=np.array(self.white, np.bool_),
            lines=tuple(self.lines),
            strokes=tuple(self.strokes),
            patches=tuple(self.patches),
            marks=tuple(self.marks),
            frame=self.frame,
        )


def take(stream: Iterator[str], count: int) -> str:
    """The next `count` characters of an endless text."""
    return "".join(islice(stream, count))


def set_column(page: PageBuilder, column: Column, x: float, y: float, rows: int) -> None:
    """One column down from (x, y): main text and note rows in turn, the rest of a too long one left off."""
    style = page.style
    row = float(min(column.indent, rows - 1))
    for run in column.runs:
        room = rows - row
        top = y + row * style.pitch
        if not run.is_note:
            text = run.text[: int(room + 1e-6)]
            page.add_line(text, x, top, page.main_size(), style.pitch)
            row += len(text)
        elif room >= 1:
            row += _set_note(page, run.text, x, top, room)


def _set_note(page: PageBuilder, text: str, x: float, top: float, room: float) -> float:
    """Right row, then left row, the right one longer where the count is odd; the cells it took."""
    step = page.style.pitch * page.style.note_pitch
    half = min(-(-len(text) // 2), int(room / page.style.note_pitch + 1e-6))
    for side, part in ((1, text[:half]), (-1, text[half : 2 * half])):
        page.add_line(part, x + side * page.style.column_pitch / 4, top, page.note_size(), step, "note")
    return float(ceil(half * page.style.note_pitch - 1e-6))


def set_columns(
    page: PageBuilder, columns: Iterable[Column], right: float, top: float, count: int, rows: int
) -> list[int]:
    """Up to `count` columns side by side, right to left; the first line of each."""
    firsts = []
    for k, column in zip(range(count), columns, strict=False):
        firsts.append(len(page.lines))
        set_column(page, column, right - (k + 0.5) * page.style.column_pitch, top, rows)
    return firsts


def rule_columns(page: PageBuilder, box: Box, count: int) -> None:
    """The rules between columns, if the book has them."""
    if page.style.ruled:
        for k in range(1, count):
            x = box[2] - k * page.style.column_pitch
            page.add_rule(x, box[1], x, box[3])


def paragraphs(columns: Iterator[Column], rows: int) -> Iterator[Column]:
    """Columns joined where the text runs on: the indent stays and the column before was full."""
    indent, runs = 0, list[Run]()
    for column in columns:
        full = column.indent + sum(run.cells for run in column.runs) >= rows - 1
        if runs and column.indent != indent:
            yield Column(indent, tuple(runs))
            runs = []
        indent = column.indent
        for run in column.runs:
            if runs and runs[-1].is_note == run.is_note:
                runs[-1] = Run(runs[-1].text + run.text, run.is_note)
            else:
                runs.append(run)
        if not full or sum(run.cells for run in runs) > 12 * rows:
            yield Column(indent, tuple(runs))
            runs = []


def reflow(paragraph: Column, rows: int, note_pitch: float) -> Iterator[Column]:
    """One paragraph as columns of `rows` cells: main text breaks anywhere, a note goes on in two rows."""
    indent = min(paragraph.indent, rows // 3)
    row, runs = indent, list[Run]()
    for run in paragraph.runs:
        text = run.text
        while text:
            room = rows - row
            take = 2 * int(room / note_pitch + 1e-6) if run.is_note else room
            part, text = text[:take], text[take:]
            runs.append(Run(part, run.is_note))
            row += ceil(ceil(len(part) / 2) * note_pitch - 1e-6) if run.is_note else len(part)
            if row >= rows:
                yield Column(indent, tuple(runs))
                row, runs = indent, []
    if runs:
        yield Column(indent, tuple(runs))


@dataclass(frozen=True, slots=True)
class LayoutContext:
    """What a layout draws on: every choice of a page comes from this generator, text and fonts."""

    rng: np.random.Generator
    text: TextSource
    fonts: FontBook
    held_out: bool
    """Whether faces kept for the benchmark are used, instead of all others."""

    def new_page(self, width: float, height: float, pitch: float) -> PageBuilder:
        """An empty page in a random style, with cells `pitch` pixels high."""
        style = draw_style(self.rng, self.fonts, self.held_out, pitch)
        return PageBuilder(self.rng, self.fonts, style, width, height)

    def columns(self, rows: int, note_pitch: float = 1.0) -> Iterator[Column]:
        """Columns of at most `rows` cells: as they stand in the source, or flowed to another height."""
        height, columns = self.text.passage(self.rng)
        if height == rows and note_pitch == 1.0:
            return columns
        flowed = paragraphs(columns, height)
        return (column for paragraph in flowed for column in reflow(paragraph, rows, note_pitch))

    def take_text(self, count: int) -> str:
        """So many characters from a random place of the text."""
        return take(self.text.stream(self.rng), count)
