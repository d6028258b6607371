"""The invisible text of one page of a PDF: lines in, text operators out.

Every line is written in reading order along its own direction: the text of a column runs down the page, so
that programs follow it as one line. Each character has a code of its own in the page's font, whose width is
the character's own height in the column: characters touch, nothing takes the gaps between them for spaces,
and the mark over a selected character covers its ink. A line ends with the code of a line feed, so that the
lines of a double-row note, or of one column, do not run together.

Lines that a sorting program would not find in order stand behind one text (`ActualText`), which tells it
what to read there. They are drawn by a form: PDFium would give all of them one place if they stood in the
page's own content, and it takes each for itself in a form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tongguocr.formats.pdf.columns import Stretch, find_stretches
from tongguocr.formats.txt import characters
from tongguocr.geometry import Box, Point, clip, make_box
from tongguocr.layout.columns import number_columns
from tongguocr.page import Direction, Line, Page

_OVERLAP = 0.095
"""Ems by which a character may reach back over the one before it; further, and programs see a new line."""
_ROTATION: dict[Direction, tuple[int, int, int, int]] = {
    "top-to-bottom": (0, -1, 1, 0),
    "left-to-right": (1, 0, 0, 1),
    "right-to-left": (-1, 0, 0, -1),
    "bottom-to-top": (0, 1, -1, 0),
}
_LINE_END = "\n"
_LINE_END_WIDTH = 0.1
_NO_SIZE = 0.02
"""Pixels: the em of text that only marks a place."""
FORM_NAME = "Text"
"""How the forms are called in the page's content: Text0, Text1 ..."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A character's place in its line's own frame: `along` the direction of reading, and `across` it."""

    text: str
    along: tuple[float, float]
    across: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Run:
    """A line's characters as one operation shows them, with lengths in pixels."""

    direction: Direction
    em: float
    texts: tuple[str, ...]
    reaches: tuple[tuple[float, float], ...]
    """From where to where along the line each character reaches."""
    base: float
    """Where the baseline lies across the line."""

    @property
    def start(self) -> Point:
        """Where the run begins on the page, on its baseline."""
        return _on_page(self.direction, self.reaches[0][0], self.base)

    @property
    def stop(self) -> Point:
        """Where the run ends on the page, on its baseline."""
        return _on_page(self.direction, self.reaches[-1][1], self.base)

    @property
    def longest(self) -> float:
        """How far the longest of its characters reaches, in pixels."""
        return max(stop - start for start, stop in self.reaches)

    @property
    def box(self) -> Box:
        """The run's place on the page."""
        return make_box(*self.start, *_on_page(self.direction, self.reaches[-1][1], self.base + self.em))


@dataclass(frozen=True, slots=True)
class TextLayer:
    """The page's text as operators: the page's own content, and the forms that it draws."""

    content: str
    forms: tuple[str, ...]
    texts: tuple[str, ...]
    """What each code of the page's font means, from code 1 on."""
    widths: tuple[float, ...]
    """How far each code reaches, in ems."""


@dataclass(slots=True)
class _Writer:
    """Writes runs as operators, each character with the next free code."""

    scale: float
    page_height: float
    texts: list[str] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def run(self, run: Run) -> str:
        """The operators that show a line's characters."""
        backs = [(a[1] - b[0]) / run.em for a, b in pairwise(run.reaches)]
        row = f"{self.matrix(run.direction, run.em, run.start)} {_shown([0.0, *backs], len(self.texts))} TJ"
        self.texts += run.texts
        self.widths += [(stop - start) / run.em for start, stop in run.reaches]
        return row

    def line_end(self, em: float, at: Point) -> str:
        """A line feed, set downwards: PDFium takes one in a line from the right for a space."""
        row = f"{self.matrix('top-to-bottom', em, at)} {_shown([0.0], len(self.texts))} TJ"
        self.texts.append(_LINE_END)
        self.widths.append(_LINE_END_WIDTH)
        return row

    def matrix(self, direction: Direction, em: float, start: Point) -> str:
        """Sets text in this direction and size that begins at a point of the page."""
        turn = [self.scale * em * value for value in _ROTATION[direction]]
        x, y = self.scale * start[0], self.scale * (self.page_height - start[1])
        return f"{numbers((*turn, x, y))} Tm"


def text_layer(page: Page, scale: float) -> TextLayer:
    """The page's text, `scale` points a pixel."""
    cells = [(line, line_cells(line, page)) for line in number_columns(page).lines]
    shown = [(line, line_run(line.direction, found)) for line, found in cells if found]
    runs = [run for _, run in shown]
    writer, rows, forms = _Writer(scale, page.height), list[str](), list[str]()
    for stretch in find_stretches([line for line, _ in shown], [run.box for run in runs], scale):
        inside = [runs[n] for n in stretch.lines]
        last = stretch.lines[-1]
        if stretch.behind:
            rows += _mark(writer, stretch, inside, len(forms))
            forms.append(_form(writer, stretch, inside))
        else:
            inside = [replace(inside[0], em=stretch.breadth, base=stretch.place[0])]
            rows.append(_text(writer.run(inside[0])))
        end = _line_end(inside[-1], runs[last + 1] if last + 1 < len(runs) else None, page.height)
        rows.append(_text(writer.line_end(inside[-1].em, end)))
    return TextLayer("\n".join(rows), tuple(forms), tuple(writer.texts), tuple(writer.widths))


def _mark(writer: _Writer, stretch: Stretch, runs: Sequence[Run], number: int) -> list[str]:
    """The text that stands for the runs of a form, and the form drawn behind it.

    The text is exactly what the form's codes mean: MuPDF compares them. The font is set for poppler, which
    takes it from where the text ends.
    """
    text = _LINE_END.join(("", *("".join(run.texts) for run in runs), ""))
    meaning = f"FEFF{text.encode('utf-16-be').hex().upper()}"
    return [
        _text(writer.matrix("top-to-bottom", stretch.breadth, stretch.place[:2])),
        f"/Span << /ActualText <{meaning}> >> BDC",
        f"/{FORM_NAME}{number} Do",
        "EMC",
    ]


def _form(writer: _Writer, stretch: Stretch, runs: Sequence[Run]) -> str:
    """The runs between two line ends, by which poppler measures how far the text in their place reaches.

    These have no size: PDFium passes over text without any.
    """
    x, top, _, bottom = stretch.place
    rows = [writer.line_end(_NO_SIZE, (x, top))]
    for run, following in pairwise(runs):
        rows += [writer.run(run), writer.line_end(run.em, _line_end(run, following, writer.page_height))]
    rows += [writer.run(runs[-1]), writer.line_end(_NO_SIZE, (x, bottom))]
    return "\n".join(_text(row) for row in rows)


def _text(operators: str) -> str:
    """A text object that is not painted. Each run has its own: MuPDF does not compare longer ones aright."""
    return f"BT 3 Tr /Text 1 Tf {operators} ET"


def line_cells(line: Line, page: Page) -> tuple[Cell, ...]:
    """The line's characters in its own frame: their boxes, or without them equal parts of the line."""
    boxes = [_turned(line.direction, clip(char.box, page.width, page.height)) for char in line.chars]
    middles = [(box[0] + box[2]) / 2 for box in boxes]
    known = line.chars and "".join(char.text for char in line.chars) == line.text
    if known and all(a < b for a, b in pairwise(middles)):
        cells = zip((char.text for char in line.chars), boxes, strict=True)
        return tuple(Cell(text, (box[0], box[2]), (box[1], box[3])) for text, box in cells if text)
    texts = characters(line.text)
    start, low, stop, high = _turned(line.direction, clip(line.box, page.width, page.height))
    part = (stop - start) / max(1, len(texts))
    return tuple(
        Cell(text, (start + n * part, start + (n + 1) * part), (low, high)) for n, text in enumerate(texts)
    )


def line_run(direction: Direction, cells: Sequence[Cell]) -> Run:
    """The line as one operation, on one baseline: poppler begins a new line wherever the baseline moves.

    The em therefore reaches over the whole breadth of a column that slants.
    """
    low, high = min(cell.across[0] for cell in cells), max(cell.across[1] for cell in cells)
    em = max(1.0, high - low)
    return Run(direction, em, tuple(cell.text for cell in cells), _reaches(cells, em), low)


def _line_end(run: Run, following: Run | None, page_height: float) -> Point:
    """Where the line's end goes: at its foot, or a little away if that is where a line begins.

    PDFium sorts neighbouring operations that begin at one height from left to right, and so would read
    columns that begin at one height from the left. An end at another height between them keeps the order.
    Poppler takes no notice of an end off the page.
    """
    starts = [run.start[1]] + ([following.start[1]] if following else [])
    clear = max(run.longest, following.longest if following else 0.0)
    x, foot = run.stop
    heights = (foot, foot + clear, run.start[1] - clear, max(starts) + clear)
    apart = [y for y in heights if min(abs(y - start) for start in starts) > 0.7 * clear]
    return x, next((y for y in apart if 0 <= y <= page_height), apart[0])


def _reaches(cells: Sequence[Cell], em: float) -> tuple[tuple[float, float], ...]:
    """From where to where each character reaches: over its box, and to the next one without a gap."""
    joints = [(a.along[1] + b.along[0]) / 2 for a, b in pairwise(cells)]
    starts = [cells[0].along[0], *joints]
    stops = [*joints, cells[-1].along[1]]
    found = []
    for cell, start, stop in zip(cells, starts, stops, strict=True):
        start = max(min(start, cell.along[0]), start - _OVERLAP * em / 2)
        stop = min(max(stop, cell.along[1]), stop + _OVERLAP * em / 2)
        found.append((start, max(stop, start + 0.01 * em)))
    return tuple(found)


def _turned(direction: Direction, box: Box) -> Box:
    """The box as (along, across, along, across): the text's own axes, with its top away from its baseline."""
    x0, y0, x1, y1 = box
    match direction:
        case "top-to-bottom":
            return (y0, x0, y1, x1)
        case "left-to-right":
            return (x0, -y1, x1, -y0)
        case "right-to-left":
            return (-x1, y0, -x0, y1)
        case "bottom-to-top":
            return (-y1, -x1, -y0, -x0)


def _on_page(direction: Direction, along: float, across: float) -> Point:
    """A point of the line's own frame in pixels of the page."""
    match direction:
        case "top-to-bottom":
            return (across, along)
        case "left-to-right":
            return (along, -across)
        case "right-to-left":
            return (-along, across)
        case "bottom-to-top":
            return (-across, -along)


def _shown(backs: Sequence[float], first: int) -> str:
    """The operand of TJ: codes from `first + 1` on, and the steps back between them in thousandths."""
    parts = [
        (f"{1000 * back:.1f}" if back else "", f"{first + n:04X}") for n, back in enumerate(backs, start=1)
    ]
    operand = "".join(f">{back}<{code}" if back else code for back, code in parts)
    return f"[<{operand}>]"


def numbers(values: Iterable[float]) -> str:
    """Numbers as PDF writes them: a few decimals, no exponent, no zeros at the end."""
    return " ".join(re.sub(r"\.?0+$", "", f"{value:.4f}") for value in values)
