"""Line boxes of the kinds of page that users have, for the block bench and the block tests: no ink, no paper.

Each kind is a function of a random generator and yields a Page whose lines are in reading order. Sizes are
those of real scans: a half-leaf 1,000 to 1,400 px high, characters of 30 to 60 px, double-row notes at half
the width and two thirds of the height of the main text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tongguocr.geometry import Box
from tongguocr.page import Direction, Kind, Line, Page


@dataclass
class Sheet:
    """A page under construction."""

    rng: np.random.Generator
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)

    def put(self, box: Box, count: int, kind: Kind = "main", direction: Direction = "top-to-bottom") -> None:
        jitter = self.rng.normal(0.0, 1.0, 4)
        x0, y0, x1, y1 = (float(v + j) for v, j in zip(box, jitter, strict=True))
        text = "文" * max(count, 1)
        self.lines.append(Line(f"l{len(self.lines) + 1}", (x0, y0, x1, y1), text, kind, direction))

    def page(self) -> Page:
        return Page("", round(self.width), round(self.height), tuple(self.lines))


def columns(
    sheet: Sheet, right: float, top: float, count: int, rows: int, cell: float, notes: float = 0.0
) -> None:
    """`count` columns of up to `rows` cells, right to left, some short or indented, some with notes."""
    pitch = cell * sheet.rng.uniform(1.25, 1.6)
    for c in range(count):
        middle = right - (c + 0.5) * pitch
        first = int(sheet.rng.choice([0, 0, 0, 0, 1, 2]))
        last = rows if sheet.rng.random() < 0.8 else int(sheet.rng.integers(first + 2, rows + 1))
        if sheet.rng.random() < notes:
            _noted_column(sheet, middle, top, first, last, cell)
        else:
            box = (middle - cell / 2, top + first * cell, middle + cell / 2, top + last * cell)
            sheet.put(box, last - first)


def _noted_column(sheet: Sheet, middle: float, top: float, first: int, last: int, cell: float) -> None:
    """Main text and double-row notes in turn; either may come first."""
    row, is_note = first, bool(sheet.rng.random() < 0.3)
    while row < last:
        run = min(int(sheet.rng.integers(2, 9)), last - row)
        y0, y1 = top + row * cell, top + (row + run) * cell
        if is_note:
            count = max(round(run / 0.7), 1)
            sheet.put((middle, y0, middle + cell / 2, y1), count, "note")
            sheet.put((middle - cell / 2, y0, middle, y1 - (cell if run > 2 else 0)), count, "note")
        else:
            sheet.put((middle - cell / 2, y0, middle + cell / 2, y1), run)
        row, is_note = row + run, not is_note


def half_leaf(rng: np.random.Generator, notes: float = 0.0) -> Page:
    cell, rows, count = rng.uniform(36, 50), int(rng.integers(16, 25)), int(rng.integers(7, 12))
    sheet = Sheet(rng, count * cell * 1.6 + 160, rows * cell + 220)
    columns(sheet, sheet.width - 80, 110, count, rows, cell, notes)
    return sheet.page()


def spread(rng: np.random.Generator, notes: float = 0.0) -> Page:
    cell, rows, count = rng.uniform(36, 50), int(rng.integers(16, 25)), int(rng.integers(7, 12))
    leaf = count * cell * 1.6
    sheet = Sheet(rng, 2 * leaf + 3 * cell + 200, rows * cell + 220)
    columns(sheet, sheet.width - 100, 110, count, rows, cell, notes)
    columns(sheet, 100 + leaf, 110, count, rows, cell, notes)
    middle = sheet.width / 2
    sheet.put((middle - cell / 2, 200, middle + cell / 2, 200 + 8 * cell), 8, "fold")
    return sheet.page()


def tripitaka(rng: np.random.Generator) -> Page:
    cell, count = rng.uniform(32, 44), int(rng.integers(20, 31))
    sheet = Sheet(rng, count * cell * 1.6 + 120, 17 * cell + 200)
    columns(sheet, sheet.width - 60, 100, count, 17, cell)
    return sheet.page()


def registers(rng: np.random.Generator, how_many: int) -> Page:
    cell, count, rows = rng.uniform(26, 36), int(rng.integers(16, 30)), int(rng.integers(10, 18))
    sheet = Sheet(rng, count * cell * 1.6 + 120, how_many * (rows + 2) * cell + 120)
    for r in range(how_many):
        columns(sheet, sheet.width - 60, 60 + r * (rows + 2) * cell, count, rows, cell)
    return sheet.page()


def table(rng: np.random.Generator) -> Page:
    cell, across, down = rng.uniform(30, 44), int(rng.integers(8, 14)), int(rng.integers(5, 9))
    pitch, step = cell * 1.8, cell * 5
    sheet = Sheet(rng, across * pitch + 120, down * step + 160)
    for r in range(down):
        for c in range(across):
            if rng.random() < 0.85:
                middle, y0 = sheet.width - 60 - (c + 0.5) * pitch, 80 + r * step
                count = int(rng.integers(1, 5))
                sheet.put((middle - cell / 2, y0, middle + cell / 2, y0 + count * cell), count)
    return sheet.page()


def head_notes(rng: np.random.Generator) -> Page:
    cell, count = rng.uniform(36, 48), int(rng.integers(8, 11))
    sheet = Sheet(rng, count * cell * 1.6 + 160, 20 * cell + 500)
    columns(sheet, sheet.width - 80, 380, count, 20, cell)
    small = cell * 0.6
    for c in range(int(rng.integers(3, 12))):
        x1 = sheet.width - 100 - c * small * 1.3
        sheet.put((x1 - small, 120, x1, 120 + 8 * small), 8, "margin")
    return sheet.page()


def title(rng: np.random.Generator) -> Page:
    cell = rng.uniform(110, 160)
    sheet = Sheet(rng, 900, 1300)
    sheet.put((450 - cell / 2, 150, 450 + cell / 2, 150 + 7 * cell), 7)
    for x in (760.0, 190.0):
        sheet.put((x - 30, 300, x + 30, 300 + 8 * 56), 8)
    return sheet.page()


def rows_of_text(rng: np.random.Generator) -> Page:
    cell, count, across = rng.uniform(28, 40), int(rng.integers(18, 34)), int(rng.integers(20, 30))
    sheet = Sheet(rng, across * cell + 160, count * cell * 1.6 + 160)
    for r in range(count):
        y0, length = 80 + r * cell * 1.6, across if rng.random() < 0.8 else int(rng.integers(3, across))
        sheet.put((80, y0, 80 + length * cell, y0 + cell), length, direction="left-to-right")
    return sheet.page()


def plaque(rng: np.random.Generator) -> Page:
    cell = rng.uniform(120, 200)
    sheet = Sheet(rng, 6 * cell, 3 * cell)
    sheet.put((cell, cell, 5 * cell, 2 * cell), 4, direction="right-to-left")
    sheet.put((0.4 * cell, cell, 0.7 * cell, 2 * cell), 6)
    return sheet.page()


KINDS: dict[str, Callable[[np.random.Generator], Page]] = {
    "half-leaf": half_leaf,
    "half-leaf with notes": lambda rng: half_leaf(rng, 0.6),
    "dense commentary": lambda rng: half_leaf(rng, 1.0),
    "spread": spread,
    "spread with notes": lambda rng: spread(rng, 0.6),
    "Tripitaka, one register": tripitaka,
    "two registers": lambda rng: registers(rng, 2),
    "three registers": lambda rng: registers(rng, 3),
    "table": table,
    "head notes": head_notes,
    "title page": title,
    "horizontal lines": rows_of_text,
    "plaque": plaque,
}


def pages(kind: str, count: int, seed: int = 1) -> Iterator[Page]:
    """The same pages for the same seed, whatever other kinds were drawn before."""
    for index in range(count):
        yield KINDS[kind](np.random.default_rng([seed, index, *kind.encode()]))
