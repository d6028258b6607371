"""How well lines are put in order and told apart, by kind of page: `python -m bench.order [--pages N]`.

Composed pages of all kinds, without ink; their lines are shuffled. Each page is ordered as it is, with boxes
that stray by 3 px, turned by 2 degrees either way, and both: from boxes alone, their kinds taken away; with
the rules that are drawn on it; and as a detector finds it, with rules, kinds, polygons and characters.
RO-ED is the edit distance between the two sequences of lines over their length. Beside it, in the same run,
the plain rule that anyone would write first: lines that overlap across are one column, columns from right to
left, each from top to bottom.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from math import cos, radians, sin
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table

from tongguocr.evaluate.order import order_edits
from tongguocr.geometry import Point, bounds, centre, make_box, width
from tongguocr.layout import order_lines
from tongguocr.layout.frame import Rule
from tongguocr.page import Line, Page
from tongguocr.training.synth.composition import Composition, to_page
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.kinds import BENCHMARK_KINDS, SECOND_BENCHMARK_KINDS, compose_page
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


@dataclass(frozen=True)
class Result:
    """Figures of one page, or means over several."""

    boxes: float
    """RO-ED from boxes alone."""
    kinds: float
    """The share of right kinds, from boxes alone."""
    ruled: float
    """RO-ED with the drawn rules."""
    found: float
    """RO-ED with rules, kinds, polygons and characters."""
    ms: float
    """Milliseconds a page, as found."""
    plain: float
    """RO-ED of the plain sort."""


def composition(kind: str, seed: int) -> Composition:
    text, book = cast(TextSource, MixedText()), cast(FontBook, AnyFace())
    return compose_page(kind, text, book, seed)


def composed(kind: str, seed: int) -> Page:
    """A page of this kind, in true order and with true kinds."""
    return to_page(composition(kind, seed))


def drawn_rules(page: Composition, degrees: float = 0.0) -> tuple[Rule, ...]:
    """The rules and frames of a page, turned."""
    strokes = [(stroke.start, stroke.end) for stroke in page.strokes if stroke.role != "box"]
    return tuple((turned(start, degrees), turned(end, degrees)) for start, end in strokes)


def turned(point: Point, degrees: float) -> Point:
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return (c * point[0] - s * point[1], s * point[0] + c * point[1])


def shaken(
    page: Page, rng: np.random.Generator, jitter: float = 0.0, degrees: float = 0.0, polygons: bool = False
) -> Page:
    """The page's lines shuffled, without kinds, directions and text; turned, and their edges astray.

    Those of a box stray after it is turned, those of a polygon before: it turns with its line.
    """
    lines = []
    for line in page.lines:
        astray = rng.normal(0.0, 1.0, 4) * jitter
        x0, y0, x1, y1 = make_box(*(np.array(line.box) + astray * polygons).tolist())
        corners = tuple(turned(corner, degrees) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1)))
        box = make_box(*(np.array(bounds(corners)) + astray * (not polygons)).tolist())
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


def as_found(truth: Page, page: Page) -> Page:
    """The page's lines with the kinds and characters that they have in truth."""
    known = {line.id: line for line in truth.lines}
    lines = (replace(x, kind=known[x.id].kind, chars=known[x.id].chars) for x in page.lines)
    return replace(page, lines=tuple(lines))


def measure(kind: str, pages: int, seed: int, jitter: float, degrees: float) -> Result:
    """Means over pages of one kind."""
    results = [
        measure_page(composition(kind, k), k, jitter, degrees if k % 2 else -degrees)
        for k in range(seed, seed + pages)
    ]
    return mean(results)


def measure_page(drawn: Composition, seed: int, jitter: float, degrees: float) -> Result:
    truth, rules = to_page(drawn), drawn_rules(drawn, degrees)
    page = shaken(truth, np.random.default_rng(seed), jitter, degrees)
    whole = as_found(truth, shaken(truth, np.random.default_rng(seed), jitter, degrees, polygons=True))
    alone = order_lines(page)
    found, ms = _timed(partial(order_lines, keep_kinds=True, rules=rules), whole)
    return Result(
        boxes=order_error(truth, alone),
        kinds=kind_accuracy(truth, alone),
        ruled=order_error(truth, order_lines(page, rules=rules)),
        found=order_error(truth, found),
        ms=ms,
        plain=order_error(truth, plain_order(page)),
    )


def mean(results: Sequence[Result]) -> Result:
    return Result(*(float(v) for v in np.mean([astuple(result) for result in results], axis=0)))


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
        columns = ("boxes alone", "kinds right", "with rules", "as found", "ms a page", "plain sort")
        for column in ("RO-ED", *columns):
            table.add_column(column, justify="left" if column == "RO-ED" else "right")
        for title, kinds in (("mean", BENCHMARK_KINDS), ("mean, new kinds", SECOND_BENCHMARK_KINDS)):
            rows = {kind: measure(kind, options.pages, options.seed, jitter, degrees) for kind in kinds}
            for kind, r in {**rows, title: mean(list(rows.values()))}.items():
                figures = (r.boxes, r.kinds, r.ruled, r.found)
                table.add_row(kind, *(f"{v:.4f}" for v in figures), f"{r.ms:.0f}", f"{r.plain:.4f}")
            table.add_section()
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
