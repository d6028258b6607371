"""The layouts: each a function that fills a sheet with lines in reading order.

Sizes are in pixels of a scan at about 200 dpi: a half-leaf of 1,000 x 1,400, characters of 40 to 60 px. The
order of `sheet.lines` is the reading order: leaves from right to left, registers from top to bottom, columns
from right to left, notes inside their column, head notes and the centre fold after the text they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from tongguocr.training.synth.compose import Desk, Sheet, reflow, rule_columns, set_columns
from tongguocr.training.synth.composition import Mark, Patch, Stroke
from tongguocr.training.synth.leaf import blank, fill, leaf_size, margins, set_leaf
from tongguocr.training.synth.text import Column, Run

DIGITS = "一二三四五六七八九十"


def half_leaf(desk: Desk) -> Sheet:
    leaf = blank(desk)
    fill(desk, leaf)
    return leaf.sheet


def spread(desk: Desk) -> Sheet:
    """Two half-leaves of one printed sheet, the centre fold between them."""
    count, rows, pitch = leaf_size(desk)
    sheet = desk.sheet(0, 0, pitch)
    left, top, right, bottom = margins(desk)
    w, h = count * sheet.style.column, rows * pitch + 0.5 * pitch
    fold = pitch * desk.rng.uniform(1.2, 1.8)
    sheet.width, sheet.height = left + 2 * w + fold + right, top + h + bottom
    columns = desk.columns(rows, sheet.style.note_pitch)
    for x in (left + w + fold, left):
        set_leaf(sheet, columns, (x, top, x + w, top + h), count, rows)
    sheet.frame = (left, top, left + 2 * w + fold, top + h)
    _fold(desk, sheet, left + w + fold / 2, top, h, fold)
    return sheet


def _fold(desk: Desk, sheet: Sheet, x: float, top: float, h: float, width: float) -> None:
    """Fish-tails, the running title between them, chapter and leaf number below."""
    size = min(width * 0.7, sheet.style.pitch * 0.85)
    upper, lower = top + h * desk.rng.uniform(0.16, 0.24), top + h * desk.rng.uniform(0.66, 0.74)
    for y, down in ((upper, 1), (lower, -1))[: int(desk.rng.integers(1, 3))]:
        sheet.patches.append(_fish_tail(x, y, width * 0.9, down))
    y = upper + width * 0.9
    for text in (desk.words(int(desk.rng.integers(2, 6))), "卷" + _number(desk)):
        sheet.line(text, x, y, (size, size), size * 1.05, "fold")
        y += (len(text) + 1.0) * size * 1.05
    number = _number(desk)
    sheet.line(number, x, lower + width, (size * 0.8, size * 0.8), size * 0.85, "fold")


def _fish_tail(x: float, y: float, w: float, down: int) -> Patch:
    """A bar with a notched tail, pointing down (1) or up (-1)."""
    tail, notch = 0.55 * w * down, 0.25 * w * down
    return Patch(
        ((x - w / 2, y), (x + w / 2, y), (x + w / 2, y + tail), (x, y + notch), (x - w / 2, y + tail))
    )


def _number(desk: Desk) -> str:
    n = int(desk.rng.integers(1, 100))
    tens, ones = divmod(n, 10)
    head = ("" if tens == 1 else DIGITS[tens - 1]) + "十" if tens else ""
    return head + (DIGITS[ones - 1] if ones else "")


def tripitaka(desk: Desk) -> Sheet:
    """A wide sheet of plain columns, 17 or 20 characters, only a line above and below, or nothing."""
    rows, count = int(desk.rng.choice([14, 17, 17, 20])), int(desk.rng.integers(10, 27))
    pitch = desk.rng.uniform(40, 56)
    sheet = desk.sheet(0, 0, pitch)
    left, top, right, bottom = margins(desk)
    w, h = count * sheet.style.column, rows * pitch + pitch
    sheet.width, sheet.height = left + w + right, top + h + bottom
    set_columns(sheet, desk.columns(rows, sheet.style.note_pitch), left + w, top + pitch / 2, count, rows)
    if desk.rng.random() < 0.7:
        for y in (top, top + h):
            sheet.strokes.append(Stroke((left - 20, y), (left + w + 20, y), sheet.style.frame / 2, "frame"))
    sheet.frame = (left, top, left + w, top + h)
    return sheet


def _registers(desk: Desk, how_many: int) -> Sheet:
    """Text in bands one above another, each read from right to left before the next."""
    rows, count = int(desk.rng.integers(8, 15)), int(desk.rng.integers(12, 24))
    pitch = desk.rng.uniform(34, 48)
    sheet = desk.sheet(0, 0, pitch)
    left, top, right, bottom = margins(desk)
    w, band = count * sheet.style.column, rows * pitch + pitch
    sheet.width, sheet.height = left + w + right, top + how_many * band + bottom
    columns = desk.columns(rows, sheet.style.note_pitch)
    for k in range(how_many):
        y = top + k * band
        set_columns(sheet, columns, left + w, y + pitch / 2, count, rows)
        rule_columns(sheet, (left, y, left + w, y + band), count)
        if k:
            sheet.rule(left, y, left + w, y)
    sheet.enclose((left, top, left + w, top + how_many * band))
    return sheet


def title(desk: Desk) -> Sheet:
    """A title page: the date on the right, the title large in the middle, the publisher on the left."""
    sheet = desk.sheet(desk.rng.uniform(850, 1050), desk.rng.uniform(1250, 1450), 60)
    count = int(desk.rng.integers(4, 9))
    top, bottom = 170.0, sheet.height - 130
    step = (bottom - top) / (count + 0.5)
    size = min(step * 0.92, sheet.width * 0.3)
    small = desk.rng.uniform(44, 62)
    x = sheet.width / 2
    outer = sheet.width * 0.32
    sheet.line(desk.words(int(desk.rng.integers(4, 9))), x + outer, top + 20, (small, small), small * 1.12)
    sheet.line(desk.words(count), x, top + 0.25 * step, (size * 0.95, size), step)
    sheet.line(desk.words(int(desk.rng.integers(4, 9))), x - outer, top + 240, (small, small), small * 1.12)
    sheet.enclose((x - outer - 80, top, x + outer + 80, bottom))
    if sheet.style.ruled:
        for side in (-1, 1):
            sheet.rule(x + side * outer * 0.6, top, x + side * outer * 0.6, bottom)
    return sheet


def table(desk: Desk) -> Sheet:
    """A table or genealogy, read row by row, each cell from right to left in one or two short columns."""
    across, down = int(desk.rng.integers(6, 12)), int(desk.rng.integers(4, 9))
    pitch, rows = desk.rng.uniform(36, 48), int(desk.rng.integers(3, 6))
    sheet = desk.sheet(0, 0, pitch)
    cell_w, cell_h = 2.2 * sheet.style.column, (rows + 0.8) * pitch
    left, top, right, bottom = margins(desk)
    w, h = across * cell_w, down * cell_h
    sheet.width, sheet.height = left + w + right, top + h + bottom
    stream = desk.text.stream(desk.rng)
    for r in range(down):
        for c in range(across):
            if desk.rng.random() < 0.85:
                x = left + w - (c + 0.5) * cell_w
                _cell(desk, sheet, stream, x, top + r * cell_h + 0.3 * pitch, rows)
        if r:
            sheet.rule(left, top + r * cell_h, left + w, top + r * cell_h)
    for c in range(1, across):
        sheet.rule(left + c * cell_w, top, left + c * cell_w, top + h)
    sheet.enclose((left, top, left + w, top + h))
    return sheet


def _cell(desk: Desk, sheet: Sheet, stream: Iterator[str], x: float, y: float, rows: int) -> None:
    columns = 2 if desk.rng.random() < 0.3 else 1
    for k in range(columns):
        count = rows if k + 1 < columns else int(desk.rng.integers(1, rows + 1))
        place = x + (0.5 * (columns - 1) - k) * sheet.style.column
        sheet.line(_take(stream, count), place, y, sheet.main_size(), sheet.style.pitch)


def preface(desk: Desk) -> Sheet:
    """Few large characters in a running hand, unevenly spaced, by a brush face where there is one."""
    count, rows = int(desk.rng.integers(5, 8)), int(desk.rng.integers(8, 14))
    pitch = desk.rng.uniform(1000, 1200) / rows
    sheet = desk.sheet(0, 0, pitch)
    brush = desk.fonts.pick_group(desk.rng, "brush", desk.held_out)
    sheet.style = replace(
        sheet.style,
        face=brush,
        loose=desk.rng.uniform(0.03, 0.06),
        column=pitch * 1.35,
    )
    left, top, right, bottom = margins(desk)
    w, h = count * sheet.style.column, rows * pitch * 1.05
    sheet.width, sheet.height = left + w + right, top + h + bottom
    plain = (Column(c.indent, (Run("".join(r.text for r in c.runs)),)) for c in desk.columns(rows))
    set_leaf(sheet, plain, (left, top, left + w, top + h), count, rows)
    return sheet


def commentary(desk: Desk) -> Sheet:
    """A few characters of the classic, then notes that fill most of the page."""

    def annotated(columns: Iterator[Column], rows: int, note_pitch: float) -> Iterator[Column]:
        stream = desk.text.stream(desk.rng)
        while True:
            runs = []
            for _ in range(4):
                runs.append(Run(_take(stream, int(desk.rng.integers(2, 12)))))
                runs.append(Run(_take(stream, int(desk.rng.integers(20, 120))), True))
            yield from reflow(Column(0, tuple(runs)), rows, note_pitch)

    leaf = blank(desk)
    fill(desk, leaf, annotated)
    return leaf.sheet


def note_edges(desk: Desk) -> Sheet:
    """Columns that begin with a note, end with one, or hold notes of odd length."""

    def edged(columns: Iterator[Column], rows: int, note_pitch: float) -> Iterator[Column]:
        stream = desk.text.stream(desk.rng)
        while True:
            shape = str(desk.rng.choice(["nm", "mn", "nmn", "n", "mnm"]))
            odd = [2 * int(k) + 1 for k in desk.rng.integers(0, 8, len(shape))]
            runs = [Run(_take(stream, k), part == "n") for k, part in zip(odd, shape, strict=True)]
            yield Column(int(desk.rng.integers(0, 2)), tuple(runs))

    leaf = blank(desk)
    fill(desk, leaf, edged)
    return leaf.sheet


def raised(desk: Desk) -> Sheet:
    """Columns that stand one or two cells higher in honour of a name, the others indented below them."""

    def lifted(columns: Iterator[Column], rows: int, note_pitch: float) -> Iterator[Column]:
        for column in columns:
            indent = int(desk.rng.choice([0, 1, 2, 2, 2, 2, 3]))
            yield from reflow(replace(column, indent=indent), rows, note_pitch)

    leaf = blank(desk)
    fill(desk, leaf, lifted)
    return leaf.sheet


def head_notes(desk: Desk) -> Sheet:
    """An ordinary half-leaf with small notes above the frame, read after it."""
    rows, scale = int(desk.rng.integers(4, 9)), desk.rng.uniform(0.5, 0.65)
    leaf = blank(desk, head=rows * scale)
    fill(desk, leaf)
    sheet, (left, top, x, _) = leaf.sheet, leaf.box
    size = sheet.style.pitch * scale
    across, along = size * 1.35, size * 1.05
    y = top - rows * along - 3 * sheet.style.frame - 12
    x -= desk.rng.uniform(0, 0.3) * (x - left)
    for _ in range(int(desk.rng.integers(1, 4))):
        for _ in range(int(desk.rng.integers(2, 6))):
            if x - across > left:
                count = rows if desk.rng.random() < 0.7 else int(desk.rng.integers(2, rows + 1))
                sheet.line(desk.words(count), x - across / 2, y, (size, size), along, "margin")
                x -= across
        x -= across * desk.rng.uniform(2, 6)
    return sheet


def horizontal(desk: Desk) -> Sheet:
    """A short line from right to left above ordinary columns, as on a plaque or a picture's heading."""
    scale, count = desk.rng.uniform(1.2, 2.0), int(desk.rng.integers(3, 7))
    leaf = blank(desk, head=1.3 * scale)
    sheet, (left, top, right, _) = leaf.sheet, leaf.box
    size = sheet.style.pitch * scale
    x, y = (left + right) / 2 + count * size * 1.1 / 2, top - 0.8 * size - 3 * sheet.style.frame
    sheet.line(desk.words(count), x, y, (size, size), size * 1.1, "main", "right-to-left")
    fill(desk, leaf)
    return sheet


def boxed(desk: Desk) -> Sheet:
    """Headings of a few characters in boxes, or white on black."""
    leaf = blank(desk)
    sheet, firsts = leaf.sheet, fill(desk, leaf)
    for first in firsts:
        if first < len(sheet.lines) and desk.rng.random() < 0.5:
            line = sheet.lines[first]
            stop = min(line.start + int(desk.rng.integers(1, 4)), line.stop)
            boxes = np.array(sheet.boxes[line.start : stop])
            grow = 0.04 * sheet.style.pitch
            x0, y0 = boxes[:, :2].min(axis=0) - grow
            x1, y1 = boxes[:, 2:].max(axis=0) + grow
            corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
            if desk.rng.random() < 0.5:
                sheet.patches.append(Patch(corners))
                sheet.white[line.start : stop] = [True] * (stop - line.start)
            else:
                for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                    sheet.strokes.append(Stroke(a, b, sheet.style.rule * 1.3, "box"))
    return sheet


def marked(desk: Desk) -> Sheet:
    """Reading marks at the right foot of characters: rings or dots, printed or added in red."""
    leaf = blank(desk)
    fill(desk, leaf)
    sheet = leaf.sheet
    ring, red = bool(desk.rng.random() < 0.6), bool(desk.rng.random() < 0.5)
    for line in sheet.lines:
        k = line.start
        while (k := k + int(desk.rng.integers(3, 9))) < line.stop:
            _, y0, x1, y1 = sheet.boxes[k]
            radius = 0.1 * (y1 - y0)
            centre = (x1 + 0.4 * radius, y1 - 0.2 * radius)
            sheet.marks.append(Mark(centre, radius, "ring" if ring else "dot", red))
    return sheet


def _take(stream: Iterator[str], count: int) -> str:
    return "".join(islice(stream, count))


LAYOUTS: dict[str, Callable[[Desk], Sheet]] = {
    "half-leaf": half_leaf,
    "spread": spread,
    "tripitaka": tripitaka,
    "two-registers": lambda desk: _registers(desk, 2),
    "three-registers": lambda desk: _registers(desk, 3),
    "title": title,
    "table": table,
    "preface": preface,
    "commentary": commentary,
    "head-notes": head_notes,
    "raised": raised,
    "note-edges": note_edges,
    "boxed": boxed,
    "marked": marked,
    "horizontal": horizontal,
}
