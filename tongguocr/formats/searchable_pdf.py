"""A searchable PDF: pages and their images in, a file out whose invisible text lies on the ink.

Every line is written in reading order along its own direction: the text of a column runs down the page, so
that programs follow it as one line. Each character has a code of its own in the page's font, whose width is
the character's own height in the column: characters touch, nothing takes the gaps between them for spaces,
and the mark over a selected character covers its ink. A line ends with the code of a line feed, so that the
lines of a double-row note, or of one column, do not run together.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import BinaryIO

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.page_json import check_page
from tongguocr.formats.pdf_file import MAX_CODES, PdfFile, add_font, add_shared_font
from tongguocr.formats.pdf_image import Picture, add_picture, picture_of_file, picture_of_pixels
from tongguocr.geometry import Box, Point, clip
from tongguocr.page import Direction, Line, Page

DPI = 300
"""Pixels an inch: image files seldom tell it truly, and only the size on paper hangs on it."""
_POINTS = 72
_MAX_SIDE = 14_400.0
"""Points: no page may be larger by the PDF specification."""
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
        return _on_page(self.direction, self.reaches[0][0], self.base)

    @property
    def stop(self) -> Point:
        return _on_page(self.direction, self.reaches[-1][1], self.base)

    @property
    def longest(self) -> float:
        return max(stop - start for start, stop in self.reaches)


def render_searchable_pdf(page: Page, path: Path) -> bytes:
    """One page as a PDF file; its image lies beside `path`, or is in the page's pixels."""
    file = io.BytesIO()
    _write([page], path, file)
    return file.getvalue()


def write_searchable_pdf(pages: Iterable[Page], path: Path, images: Path | None = None) -> None:
    """A PDF of all the pages, whole or not at all, each written before the next is asked for.

    A page's image is looked for in the folder `images`, or else beside the PDF, under the name that the page
    gives; without it the page's pixels are stored.
    """
    with open_whole(path) as file:
        _write(pages, path, file, images)


def _write(pages: Iterable[Page], path: Path, file: BinaryIO, images: Path | None = None) -> None:
    pdf = PdfFile(file)
    tree, shared, kids = pdf.reserve(), add_shared_font(pdf), list[int]()
    for page in pages:
        check_page(page, path)
        picture = _picture(page, path, images)
        kids.append(_add_page(pdf, page, picture, shared, tree, path))
    if not kids:
        raise InputError(f"{path}: a PDF needs at least one page.")
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    pdf.add(f"<< /Type /Pages /Count {len(kids)} /Kids [{listed}] >>", tree)
    root = pdf.add(f"<< /Type /Catalog /Pages {tree} 0 R /Lang (zh) >>")
    pdf.finish(root, pdf.add("<< /Producer (TongGuOCR) >>"))


def _picture(page: Page, path: Path, images: Path | None) -> Picture:
    folder = images or path.parent
    image = folder / Path(page.image).name
    if page.image and image.is_file():
        picture = picture_of_file(image)
    elif page.pixels is not None:
        picture = picture_of_pixels(page.pixels)
    else:
        raise InputError(f"{path}: the page's image {page.image!r} does not lie in {folder}.")
    if (picture.width, picture.height) != (page.width, page.height):
        raise InputError(
            f"{path}: the image {page.image!r} has {picture.width} x {picture.height} pixels,"
            f" and the page has {page.width} x {page.height}."
        )
    return picture


def _add_page(pdf: PdfFile, page: Page, picture: Picture, shared: str, tree: int, path: Path) -> int:
    scale = min(_POINTS / DPI, _MAX_SIDE / max(page.width, page.height))
    width, height = scale * page.width, scale * page.height
    content, texts, widths = page_content(page, scale)
    if len(texts) > MAX_CODES:
        raise InputError(f"{path}: the page has more than {MAX_CODES} characters and line ends.")
    turn = _numbers(v * side for v, side in zip(picture.turn, (width, height) * 3, strict=True))
    data = f"q {turn} cm /Image Do Q\n{content}".encode("ascii")
    font = f"/Font << /Text {add_font(pdf, shared, texts, widths)} 0 R >>" if texts else ""
    image = f"/XObject << /Image {add_picture(pdf, picture)} 0 R >>"
    return pdf.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {_numbers((width, height))}]"
        f" /Resources << {font} {image} >> /Contents {pdf.add_stream(data)} 0 R >>"
    )


def page_content(page: Page, scale: float) -> tuple[str, list[str], list[float]]:
    """The operators of the page's text, and the text and width in ems of the codes that they use."""
    rows, texts, widths = list[str](), list[str](), list[float]()
    runs = [line_run(line.direction, cells) for line in page.lines if (cells := line_cells(line, page))]
    for run, following in zip_longest(runs, runs[1:]):
        ends = [(a[1] - b[0]) / run.em for a, b in pairwise(run.reaches)]
        matrix = _matrix(run, run.start, scale, page.height)
        rows.append(f"{_numbers(matrix)} Tm {_shown([0.0, *ends], len(texts))} TJ")
        texts += run.texts
        widths += [(stop - start) / run.em for start, stop in run.reaches]
        matrix = _matrix(run, _line_end(run, following), scale, page.height)
        rows.append(f"{_numbers(matrix)} Tm {_shown([0.0], len(texts))} TJ")
        texts.append(_LINE_END)
        widths.append(_LINE_END_WIDTH)
    return "\n".join(("BT 3 Tr /Text 1 Tf", *rows, "ET")) if rows else "", texts, widths


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


def characters(text: str) -> list[str]:
    """The text's characters, each with the variation selectors and marks that follow it."""
    found: list[str] = []
    for c in text:
        if found and unicodedata.category(c) in ("Mn", "Me", "Mc"):
            found[-1] += c
        else:
            found.append(c)
    return found


def line_run(direction: Direction, cells: Sequence[Cell]) -> Run:
    """The line as one operation, on one baseline: poppler begins a new line wherever the baseline moves.

    The em therefore reaches over the whole breadth of a column that slants.
    """
    low, high = min(cell.across[0] for cell in cells), max(cell.across[1] for cell in cells)
    em = max(1.0, high - low)
    return Run(direction, em, tuple(cell.text for cell in cells), _reaches(cells, em), low)


def _line_end(run: Run, following: Run | None) -> Point:
    """Where the line's end goes: at its foot, or a little away if that is where a line begins.

    PDFium sorts neighbouring operations that begin at one height from left to right, and so would read
    columns that begin at one height from the left. An end at another height between them keeps the order.
    """
    starts = [run.start[1]] + ([following.start[1]] if following else [])
    clear = max(run.longest, following.longest if following else 0.0)
    x, foot = run.stop
    heights = (foot, foot + clear, run.start[1] - clear, max(starts) + clear)
    return x, next(y for y in heights if min(abs(y - start) for start in starts) > 0.7 * clear)


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


def _matrix(run: Run, start: Point, scale: float, page_height: float) -> list[float]:
    """The text matrix of text in the run's direction that begins at a point of the page."""
    turn = [scale * run.em * value for value in _ROTATION[run.direction]]
    return [*turn, scale * start[0], scale * (page_height - start[1])]


def _shown(backs: Sequence[float], first: int) -> str:
    """The operand of TJ: codes from `first + 1` on, and the steps back between them in thousandths."""
    parts = [
        (f"{1000 * back:.1f}" if back else "", f"{first + n:04X}") for n, back in enumerate(backs, start=1)
    ]
    operand = "".join(f">{back}<{code}" if back else code for back, code in parts)
    return f"[<{operand}>]"


def _numbers(values: Iterable[float]) -> str:
    """Numbers as PDF writes them: a few decimals, no exponent, no zeros at the end."""
    return " ".join(re.sub(r"\.?0+$", "", f"{value:.4f}") for value in values)
