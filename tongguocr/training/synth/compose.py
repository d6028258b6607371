"""A page of a named kind, from text and a font book: `compose_page`.

In: a kind, a text source, a font book, a seed. Out: a Composition. The same seed gives the same page
everywhere. A style is drawn once and holds for the whole page, as it does for a book: one face, one size,
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
    """How one book is cut: drawn once a page."""

    face: int
    pitch: float
    """Height of a cell, in pixels."""
    column: float
    """Distance from one column's middle to the next."""
    high: float
    """A glyph's em box over the cell: over 1, characters of a column touch."""
    wide: float
    """A glyph's width over its height."""
    note_wide: float
    """A note glyph's em box over half the column."""
    note_high: float
    """... and over its own cell."""
    note_pitch: float
    """A note cell over a main cell: 1 in the Siku manuscripts, less where the cutter saved wood."""
    loose: float
    """How far the hand strays: standard deviation of place and size, in em."""
    turn: float
    """... of the angle, in radians ..."""
    lean: float
    """... and of a whole line's slant from the upright, in radians."""
    ruled: bool
    rule: float
    frame: float
    double_frame: bool


def draw_style(rng: np.random.Generator, fonts: FontBook, held_out: bool, pitch: float) -> Style:
    """One book's habits."""
    column = pitch * rng.uniform(1.15, 1.7)
    # Most books are near square; where wood was dear, characters were cut flat and wide and set close.
    wide = rng.uniform(0.82, 1.2) if rng.random() < 0.75 else rng.uniform(1.2, 1.5)
    return Style(
        face=fonts.pick(rng, held_out),
        pitch=pitch,
        column=column,
        high=rng.uniform(0.84, 1.08),
        wide=min(wide, 0.98 * column / pitch),
        note_wide=rng.uniform(0.8, 0.98),
        note_high=rng.uniform(0.72, 1.0),
        note_pitch=float(rng.choice([1.0, 1.0, 0.85, 0.7])),
        loose=rng.uniform(0.005, 0.04),
        turn=rng.uniform(0.0, 0.02),
        lean=rng.uniform(0.0, 0.004),
        ruled=bool(rng.random() < 0.75),
        rule=max(pitch * rng.uniform(0.02, 0.05), 1.0),
        frame=max(pitch * rng.uniform(0.06, 0.16), 2.0),
        double_frame=bool(rng.random() < 0.5),
    )


@dataclass
class Sheet:
    """A page while it is composed: glyphs, lines and everything printed around them."""

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

    def put(self, char: str, x: float, y: float, w: float, h: float, white: bool = False) -> bool:
        """One glyph about its middle; False where no face can draw it."""
        face = self.fonts.face_for(char, self.style.face)
        if face is None:
            return False
        dx, dy, dw, dh, turn = self.rng.normal(0.0, 1.0, 5)
        loose = self.style.loose
        x, y = x + dx * loose * w, y + dy * loose * h
        w, h = w * (1 + 0.5 * dw * loose), h * (1 + 0.5 * dh * loose)
        self.text.append(char)
        self.faces.append(face)
        self.boxes.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
        self.angles.append(float(turn) * self.style.turn)
        self.white.append(white)
        return True

    def line(
        self,
        text: str,
        x: float,
        y: float,
        size: tuple[float, float],
        step: float,
        kind: Kind = "main",
        direction: Direction = "top-to-bottom",
        white: bool = False,
    ) -> None:
        """Glyphs of `size`, `step` apart, from (x, y): the middle of the near side of the first cell.

        A character that no face draws is left out and the next takes its cell.
        """
        start = len(self.text)
        lean = self.rng.normal(0.0, self.style.lean)
        for char in text:
            middle = (len(self.text) - start + 0.5) * step
            aside = lean * middle
            cx, cy = {
                "top-to-bottom": (x + aside, y + middle),
                "bottom-to-top": (x + aside, y - middle),
                "left-to-right": (x + middle, y + aside),
                "right-to-left": (x - middle, y + aside),
            }[direction]
            self.put(char, cx, cy, *size, white)
        if len(self.text) > start:
            self.lines.append(ComposedLine(start, len(self.text), kind, direction))

    def main_size(self) -> tuple[float, float]:
        h = self.style.pitch * self.style.high
        return h * self.style.wide, h

    def note_size(self) -> tuple[float, float]:
        w = self.style.column / 2 * self.style.note_wide
        step = self.style.pitch * self.style.note_pitch
        return min(w, 1.25 * step), min(step * self.style.note_high, 1.2 * w)

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.strokes.append(Stroke((x0, y0), (x1, y1), self.style.rule))

    def enclose(self, box: Box) -> None:
        """A frame around the text, heavy outside and, in half the books, light inside."""
        x0, y0, x1, y1 = box
        rings = [(self.style.frame, 0.0)]
        if self.style.double_frame:
            rings = [(self.style.frame, 2.0 * self.style.frame), (self.style.rule, 0.0)]
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

    def finish(self, kind: str, seed: int) -> Composition:
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


def set_column(sheet: Sheet, column: Column, x: float, y: float, rows: int) -> None:
    """One column down from (x, y): main text and note rows in turn, the rest of a too long one left off."""
    style = sheet.style
    row = float(min(column.indent, rows - 1))
    for run in column.runs:
        room = rows - row
        top = y + row * style.pitch
        if not run.is_note:
            text = run.text[: int(room + 1e-6)]
            sheet.line(text, x, top, sheet.main_size(), style.pitch)
            row += len(text)
        elif room >= 1:
            row += _set_note(sheet, run.text, x, top, room)


def _set_note(sheet: Sheet, text: str, x: float, top: float, room: float) -> float:
    """Right row, then left row, the right one longer where the count is odd; the cells it took."""
    step = sheet.style.pitch * sheet.style.note_pitch
    half = min(-(-len(text) // 2), int(room / sheet.style.note_pitch + 1e-6))
    for side, part in ((1, text[:half]), (-1, text[half : 2 * half])):
        sheet.line(part, x + side * sheet.style.column / 4, top, sheet.note_size(), step, "note")
    return float(ceil(half * sheet.style.note_pitch - 1e-6))


def set_columns(
    sheet: Sheet, columns: Iterable[Column], right: float, top: float, count: int, rows: int
) -> list[int]:
    """Up to `count` columns side by side, right to left; the first line of each."""
    firsts = []
    for k, column in zip(range(count), columns, strict=False):
        firsts.append(len(sheet.lines))
        set_column(sheet, column, right - (k + 0.5) * sheet.style.column, top, rows)
    return firsts


def rule_columns(sheet: Sheet, box: Box, count: int) -> None:
    """The rules between columns, if the book has them."""
    if sheet.style.ruled:
        for k in range(1, count):
            x = box[2] - k * sheet.style.column
            sheet.rule(x, box[1], x, box[3])


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


def compose_page(
    kind: str, text: TextSource, fonts: FontBook, seed: int, held_out: bool = False
) -> Composition:
    """A page of this kind; every choice comes from the seed."""
    from tongguocr.training.synth.kinds import LAYOUTS

    rng = np.random.default_rng([seed, *kind.encode()])
    return LAYOUTS[kind](Desk(rng, text, fonts, held_out)).finish(kind, seed)


@dataclass(frozen=True, slots=True)
class Desk:
    """What a layout works with."""

    rng: np.random.Generator
    text: TextSource
    fonts: FontBook
    held_out: bool

    def sheet(self, width: float, height: float, pitch: float) -> Sheet:
        style = draw_style(self.rng, self.fonts, self.held_out, pitch)
        return Sheet(self.rng, self.fonts, style, width, height)

    def columns(self, rows: int, note_pitch: float = 1.0) -> Iterator[Column]:
        """Columns of at most `rows` cells: as they stand in the source, or flowed to another height."""
        height, columns = self.text.passage(self.rng)
        if height == rows and note_pitch == 1.0:
            return columns
        flowed = paragraphs(columns, height)
        return (column for paragraph in flowed for column in reflow(paragraph, rows, note_pitch))

    def words(self, count: int) -> str:
        return "".join(islice(self.text.stream(self.rng), count))


KINDS: dict[str, float] = {
    "half-leaf": 14,
    "spread": 14,
    "tripitaka": 12,
    "two-registers": 5,
    "three-registers": 4,
    "title": 3,
    "table": 6,
    "preface": 5,
    "commentary": 10,
    "head-notes": 6,
    "raised": 5,
    "note-edges": 6,
    "boxed": 4,
    "marked": 4,
    "horizontal": 2,
}
"""The kinds of page and their default shares: common ones often, odd ones often enough to be learned."""


def pick_kind(rng: np.random.Generator) -> str:
    """A kind by its share."""
    shares = np.array(list(KINDS.values()), np.float64)
    return str(rng.choice(list(KINDS), p=shares / shares.sum()))
