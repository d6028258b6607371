"""Page, Line, Char, Block, Crop: the only types that the parts of the project share.

Data flows one way: page -> lines -> blocks -> crops -> tokens -> text. Everything here is frozen; a step
that learns something new makes a new object with `dataclasses.replace`. Coordinates are pixels of the page
image, top left first. Text is kept as it was read: nothing is normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Box, Point, height, width

Kind: TypeAlias = Literal["main", "note", "margin", "fold"]
"""main text; one row of a double-row note; head notes and other margins; the centre fold's running title."""

Direction: TypeAlias = Literal["top-to-bottom", "left-to-right", "right-to-left", "bottom-to-top"]
"""How the characters of one line follow each other."""

KINDS: tuple[Kind, ...] = get_args(Kind)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

Pixels: TypeAlias = NDArray[np.uint8]
"""Height x width grey, or height x width x 3 RGB."""


@dataclass(frozen=True, slots=True)
class Char:
    """One character as read: `text` may be a base character with a variation selector."""

    text: str
    box: Box
    confidence: float | None = None
    candidates: tuple[tuple[str, float], ...] = ()
    """Other readings with their confidence, best first, without `text` itself."""


@dataclass(frozen=True, slots=True)
class Line:
    """One text line: a column, a stretch of one between notes, one row of a note, or a horizontal line."""

    id: str
    box: Box
    text: str = ""
    kind: Kind = "main"
    direction: Direction = "top-to-bottom"
    confidence: float | None = None
    polygon: tuple[Point, ...] | None = None
    chars: tuple[Char, ...] = ()
    """As read; of a line that was found and not read yet, where the detector saw characters, without text."""
    column: int | None = field(default=None, compare=False)
    """Which column of the page it belongs to, counted from 0 as they are read; `layout.columns` tells."""
    row: int | None = field(default=None, compare=False)
    """0, but 1 for the second row of a double-row note. No file holds these two, so they do not compare."""

    @property
    def is_vertical(self) -> bool:
        return self.direction in ("top-to-bottom", "bottom-to-top")

    def without_text(self) -> Line:
        """The line as it was found: characters that were read go; those only detected, without text, stay."""
        found = () if any(char.text for char in self.chars) else self.chars
        return replace(self, text="", chars=found, confidence=None)


@dataclass(frozen=True, slots=True)
class Page:
    """A page image and its lines in reading order."""

    image: str
    """The image's file name, as the annotation gives it; empty where there is none."""
    width: int
    height: int
    lines: tuple[Line, ...] = ()
    pixels: Pixels | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The transcription in reading order, one line of the page a line."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class Block:
    """A recognition block: the consecutive lines `page.lines[start:stop]` (the paper's B_{i,j})."""

    start: int
    stop: int
    box: Box

    def lines(self, page: Page) -> tuple[Line, ...]:
        return page.lines[self.start : self.stop]


CANVAS_PADDING = 1.05
"""The paper's alpha: a crop's canvas is this many times the longer side of its region: enough to keep
edge characters off the border; more would only shrink them."""


@dataclass(frozen=True, slots=True)
class Crop:
    """The image of one block on its square canvas, at the page's own resolution."""

    block: Block
    pixels: Pixels
    region: Box
    """The expanded block on the page, clipped to it (the paper's Omega_t): whole pixels."""
    offset: Point
    """Where the canvas's top-left pixel lies on the page; it may lie outside."""
    background: tuple[int, ...]
    """The colour of the padding and of masked lines, one value a channel."""

    def to_canvas(self, box: Box) -> Box:
        """A box of the page in canvas pixels."""
        dx, dy = self.offset
        return (box[0] - dx, box[1] - dy, box[2] - dx, box[3] - dy)

    def to_page(self, box: Box) -> Box:
        """A box of the canvas in page pixels."""
        dx, dy = self.offset
        return (box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy)


def bare_page(image: str, pixels: Pixels) -> Page:
    """A page of which nothing is known yet but its pixels."""
    return Page(image, pixels.shape[1], pixels.shape[0], pixels=pixels)


def guess_direction(box: Box, text: str = "") -> Direction:
    """The direction of a line whose source does not say: its long side; upright where there is none.

    Columns are the rule in these books, so only a box that is clearly wide, with more than one character
    in it, counts as horizontal. Which way a horizontal line runs cannot be told from its box.
    """
    if len(text) != 1 and width(box) > 1.5 * height(box):
        return "left-to-right"
    return "top-to-bottom"
