"""How well lines are put in order and told apart, by kind of page: `python -m bench.order [--pages N]`.

Composed pages of all kinds, without ink; their lines are shuffled and their kinds taken away. Each page is
ordered as it is, with boxes that stray by 3 px, turned by 2 degrees either way, and both. RO-ED is the edit
distance between the two sequences of lines over their length. Beside it, in the same run, the plain rule
that anyone would write first: lines that overlap across are one column, columns from right to left, each
from top to bottom.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import cos, radians, sin
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table

from tongguocr.evaluate.order import order_edits
from tongguocr.geometry import Point, bounds, centre, make_box, width
from tongguocr.layout import order_lines
from tongguocr.page import Line, Page
from tongguocr.training.synth.composition import to_page
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.kinds import BENCHMARK_KINDS, compose_page
from tongguocr.training.synth.text import Column, Run, TextSource

CONDITIONS: dict[str, tuple[float, float]] = {
    "as set": (0.0, 0.0),
    "3 px": (3.0, 0.0),
    "2 degrees": (0.0, 2.0),
    "both": (3.0, 2.0),
}
"""Standard deviation of every edge in pixels, and the slant."""


@dataclass(frozen=True)
class AnyFace:
    """A font book that draws every character: order needs no ink."""

    def pick(self, rng: np.random.Generator, held_out: bool = False) -> int:
        return 0

    def pick_group(self, rng: np.random.Generator, group: str, held_out: bool = False) -> int:
        return 0

    def face_for(self, char: str, face: int) -> int:
        return face


@dataclass(frozen=True)
class MixedText:
    """Columns of 20 cells in which main text and notes of all lengths take turns; some short or indented."""

    def passage(self, rng: np.random.Generator) -> tuple[int, Iterator[Column]]:
        return 20, self._columns(rng)

    def stream(self, rng: np.random.Generator) -> Iterator[str]:
        while True:
            yield "文"

    def _columns(self, rng: np.random.Generator) -> Iterator[Column]:
        while True:
            indent = int(rng.choice([0, 0, 0, 0, 0, 1, 2]))
            room = 20 - indent if rng.random() < 0.8 else int(rng.integers(2, 16))
            runs, note = list[Run](), bool(rng.random() < 0.3)
            while room > 0:
                note = not note and bool(rng.random() < 0.4)
                cells = min(int(rng.integers(1, 12)), room)
                odd = int(note and rng.random() < 0.5)
                runs.append(Run("文" * (2 * cells - odd if note else cells), note))
                room -= cells
            yield Column(indent, tuple(runs))


def composed(kind: str, seed: int) -> Page:
    """A page of this kind, in true order and with true kinds."""
    text, book = cast(TextSource, MixedText()), cast(FontBook, AnyFace())
    return to_page(compose_page(kind, text, book, seed))


def shaken(
    page: Page, rng: np.random.Generator, jitter: float = 0.0, degrees: float = 0.0, polygons: bool = False
) -> Page:
    """The page's lines shuffled, without kinds, directions and text; turned, and their edges astray."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    lines = []
    for line in page.lines:
        x0, y0, x1, y1 = line.box
        corners: tuple[Point, ...] = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        corners = tuple((c * x - s * y, s * x + c * y) for x, y in corners)
        astray = rng.normal(0.0, 1.0, 4) * jitter
        box = make_box(*(float(v + d) for v, d in zip(bounds(corners), astray, strict=True)))
        lines.append(Line(line.id, box, polygon=corners if polygons else None))
    return replace(page, lines=tuple(lines[k] for k in rng.permutation(len(lines))))


def plain_order(page: Page) -> Page:
    """The peer: columns by overlap, from right to left, each from top to bottom."""
    columns: list[list[Line]] = []
    for line in sorted(page.lines, key=lambda line: -centre(line.box)[0]):
        last = columns[-1][-1].box if columns else None
        if last is not None:
            shared = min(last[2], line.box[2]) - max(last[0], line.box[0])
            if shared > 0.5 * min(width(last), width(line.box)):
                columns[-1].append(line)
                continue
        columns.append([line])
    ordered = (line for column in columns for line in sorted(column, key=lambda line: line.box[1]))
    return replace(page, lines=tuple(ordered))


def order_error(truth: Page, found: Page) -> float:
    """RO-ED: edits between the two sequences of ids, over their length."""
    number = {line.id: k for k, line in enumerate(truth.lines)}
    edits, length = order_edits(range(len(number)), [number[line.id] for line in found.lines])
    return edits / max(length, 1)


def kind_accuracy(truth: Page, found: Page) -> float:
    kinds = {line.id: line.kind for line in found.lines}
    return float(np.mean([kinds[line.id] == line.kind for line in truth.lines]))


def measure(kind: str, pages: int, seed: int, jitter: float, degrees: float) -> tuple[float, ...]:
    """RO-ED, kind accuracy, ms a page, the peer's RO-ED: means over pages of one kind."""
    rows = []
    for k in range(seed, seed + pages):
        truth, rng = composed(kind, k), np.random.default_rng(k)
        page = shaken(truth, rng, jitter, degrees if k % 2 else -degrees)
        found, ms = _timed(order_lines, page)
        rows.append(
            (
                order_error(truth, found),
                kind_accuracy(truth, found),
                ms,
                order_error(truth, plain_order(page)),
            )
        )
    return tuple(float(v) for v in np.mean(rows, axis=0))


def _timed(step: Callable[[Page], Page], page: Page) -> tuple[Page, float]:
    start = time.perf_counter()
    found = step(page)
    return found, 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reading order and kinds on composed pages.")
    parser.add_argument("--pages", type=int, default=40, help="pages of each kind")
    parser.add_argument("--seed", type=int, default=20000)
    options = parser.parse_args()
    for name, (jitter, degrees) in CONDITIONS.items():
        table = Table(title=f"{name}: {options.pages} pages of each kind")
        for column in ("kind of page", "RO-ED", "kinds right", "ms a page", "RO-ED, plain sort"):
            table.add_column(column, justify="left" if column == "kind of page" else "right")
        rows = {kind: measure(kind, options.pages, options.seed, jitter, degrees) for kind in BENCHMARK_KINDS}
        rows["mean"] = tuple(float(v) for v in np.mean(list(rows.values()), axis=0))
        for kind, (error, right, ms, peer) in rows.items():
            table.add_row(kind, f"{error:.4f}", f"{right:.4f}", f"{ms:.0f}", f"{peer:.4f}")
        Console(width=90).print(table)


if __name__ == "__main__":
    main()
