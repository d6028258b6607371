"""A font book of tiny fonts and small compositions by hand, for the tests of the CPU renderer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tiny_fonts import make_font

from tongguocr.training.synth.composition import ComposedLine, Composition, Mark, Patch, Stroke
from tongguocr.training.synth.fonts import FontBook, load_fonts

FULL = (1200, 1600)
CHARS = "一丨田口十乚"


def make_book(folder: Path) -> FontBook:
    make_font(folder / "tiny.ttf")
    return load_fonts(folder)


def empty(width: int, height: int, seed: int = 0) -> Composition:
    return Composition(
        "test",
        width,
        height,
        seed,
        (),
        np.zeros(0, np.int16),
        np.zeros((0, 4), np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.bool_),
        (),
    )


def make_composition(book: FontBook, width: int, height: int, seed: int = 0) -> Composition:
    """Two columns with a rule between them, a frame, a white character on black, and marks of all kinds."""
    cell = min(max(width / 6, 4.0), 60.0)
    rows = max(int((height - cell) / cell), 1)
    boxes, text, white = [], [], []
    for column in range(2):
        x = width - cell * (1.75 + 1.5 * column)
        for row in range(rows):
            y = cell / 2 + row * cell
            boxes.append((x, y, x + cell * 0.95, y + cell * 0.9))
            text.append(CHARS[len(text) % len(CHARS)])
            white.append(column == 1 and row == 0)
    x0, y0, x1, y1 = boxes[rows]
    ground = Patch(((x0 - 1, y0 - 1), (x1 + 1, y0 - 1), (x1 + 1, y1 + 1), (x0 - 1, y1 + 1)))
    rule, frame = width - cell * 2, (2.0, 2.0, width - 2.0, height - 2.0)
    sides = [((2, 2), (width - 2, 2)), ((2, height - 2), (width - 2, height - 2)), ((2, 2), (2, height - 2))]
    return Composition(
        "test",
        width,
        height,
        seed,
        tuple(text),
        np.zeros(len(text), np.int16),
        np.array(boxes, np.float32),
        np.zeros(len(text), np.float32),
        np.array(white, np.bool_),
        (ComposedLine(0, rows), ComposedLine(rows, 2 * rows)),
        (
            Stroke((rule, 2), (rule, height - 2), max(cell / 20, 1)),
            *(Stroke(a, b, max(cell / 12, 1), "frame") for a, b in sides),
        ),
        (ground,),
        (
            Mark((x0 + cell, y1), cell / 8, "ring"),
            Mark((x0 + cell, y1 + cell), cell / 8, "dot"),
            Mark((x0 + cell, y1 + 2 * cell), cell / 8, "dot", red=True),
        ),
        frame,
    )
