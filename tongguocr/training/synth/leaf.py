"""A half-leaf, the unit that most layouts share: its size, its margins, its frame, rules and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tongguocr.geometry import Box
from tongguocr.training.synth.compose import Desk, Sheet, rule_columns, set_columns
from tongguocr.training.synth.text import Column

Change = Callable[[Iterator[Column], int, float], Iterator[Column]]
"""From the source's columns, the rows of the page and the note pitch to the columns that are set."""


@dataclass
class Leaf:
    """A half-leaf before its text: the sheet, the frame's box, columns and rows."""

    sheet: Sheet
    box: Box
    count: int
    rows: int


def leaf_size(desk: Desk) -> tuple[int, int, float]:
    """Columns, rows and pitch of an ordinary half-leaf."""
    rows = int(desk.rng.choice([16, 17, 18, 19, 20, 21, 21, 21, 21, 22, 24]))
    return int(desk.rng.integers(7, 12)), rows, desk.rng.uniform(980, 1250) / rows


def margins(desk: Desk) -> tuple[float, float, float, float]:
    """Paper around the frame: left, top, right, bottom. The head is the widest."""
    left, right, bottom = desk.rng.uniform(50, 140, 3)
    return left, desk.rng.uniform(100, 260), right, bottom


def blank(desk: Desk, head: float = 0.0) -> Leaf:
    """One half-leaf on its paper, with `head` cells of extra room above the frame."""
    count, rows, pitch = leaf_size(desk)
    sheet = desk.sheet(0, 0, pitch)
    left, top, right, bottom = margins(desk)
    top += head * pitch
    w, h = count * sheet.style.column, rows * pitch + 0.5 * pitch
    sheet.width, sheet.height = left + w + right, top + h + bottom
    return Leaf(sheet, (left, top, left + w, top + h), count, rows)


def fill(desk: Desk, leaf: Leaf, change: Change = lambda columns, rows, note_pitch: columns) -> list[int]:
    """Set the text, the rules and the frame; the first line of each column."""
    note_pitch = leaf.sheet.style.note_pitch
    columns = change(desk.columns(leaf.rows, note_pitch), leaf.rows, note_pitch)
    return set_leaf(leaf.sheet, columns, leaf.box, leaf.count, leaf.rows)


def set_leaf(sheet: Sheet, columns: Iterator[Column], box: Box, count: int, rows: int) -> list[int]:
    """The text stands a little clear of the frame."""
    clear = (box[3] - box[1] - rows * sheet.style.pitch) / 2
    firsts = set_columns(sheet, columns, box[2], box[1] + clear, count, rows)
    rule_columns(sheet, box, count)
    sheet.enclose(box)
    return firsts
