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

from tongguocr.geometry import Box, Point, height, turn_box, turn_point, width

Kind: TypeAlias = Literal["main", "note", "margin", "fold"]
"""main text; one row of a double-row note; head notes and other margins; the centre fold's running title."""

Direction: TypeAlias = Literal["top-to-bottom", "left-to-right", "right-to-left", "bottom-to-top"]
"""How the characters of one line follow each other."""

ANGLES = (0, 90, 180, 270)
"""Degrees clockwise by which a scan may have to be turned to stand upright."""
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
    picture: str | None = None
    """What the picture alone says, where the language model chose another of the candidates."""
    surprise: float | None = None
    """How unlikely the language model finds it after the text before it, in bits; only if that is a lot."""


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
    angle: int = 0
    """Degrees clockwise by which the scan was turned to be read upright: 0, 90, 180 or 270. Boxes, pixels,
    width and height are those of the upright picture, as they are where EXIF says how the scan lies."""
    skew: float = 0.0
    """Degrees clockwise by which the picture is turned further to be read. Boxes, pixels, width and height
    are those of the picture before that: what leans has an outline that leans (`straight`)."""
    inverted: bool = False
    """Whether the page is white on black, and is read with black and white exchanged; pixels are not."""
    warnings: tuple[str, ...] = ()
    """What is to be said of a page that was read, a sentence each: no text was found, or it is doubtful."""
    jpeg: bytes | None = field(default=None, compare=False, repr=False)
    """The JPEG file that the pixels were decoded from, if it was one: a PDF of the page holds it as it is."""

    @property
    def text(self) -> str:
        """The transcription in reading order, one line of the page a line, as a text file has it.

        Running titles and folio numbers on the fold are left out; `full_text` has them.
        """
        return "\n".join(line.text for line in self.lines if line.kind != "fold")

    @property
    def full_text(self) -> str:
        """All that is written on the page, the fold's running titles and folio numbers included."""
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


def bare_page(image: str, pixels: Pixels, jpeg: bytes | None = None) -> Page:
    """A page of which nothing is known yet but its pixels, and the JPEG that they came from."""
    return Page(image, pixels.shape[1], pixels.shape[0], pixels=pixels, jpeg=jpeg)


def turn_pixels(pixels: Pixels, degrees: int) -> Pixels:
    """The picture turned clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(pixels, -degrees // 90)) if degrees else pixels


def turn_page(page: Page, degrees: int) -> Page:
    """The page turned clockwise by 0, 90, 180 or 270 degrees: its pixels, size and boxes, and its angle.

    The directions of lines stay: they are told of the upright page, however it lies.
    """
    if not degrees:
        return page
    size = page.width, page.height
    wide, high = size if degrees == 180 else size[::-1]
    pixels = None if page.pixels is None else turn_pixels(page.pixels, degrees)
    lines = tuple(turn_line(line, size, degrees) for line in page.lines)
    angle = (page.angle + degrees) % 360
    return replace(page, width=wide, height=high, lines=lines, pixels=pixels, angle=angle)


def as_it_lies(page: Page) -> Page:
    """The page's size and boxes in its scan, which was not turned for its file; without pixels."""
    return turn_page(replace(page, pixels=None, jpeg=None), -page.angle % 360)


def turn_line(line: Line, size: tuple[float, float], degrees: int) -> Line:
    """A line of a picture of this width and height once the picture is turned clockwise."""
    chars = tuple(replace(char, box=turn_box(char.box, size, degrees)) for char in line.chars)
    outline = line.polygon and tuple(turn_point(point, size, degrees) for point in line.polygon)
    return replace(line, box=turn_box(line.box, size, degrees), polygon=outline, chars=chars)


def guess_direction(box: Box, text: str = "") -> Direction:
    """The direction of a line whose source does not say: its long side; upright where there is none.

    Columns are the rule in these books, so only a box that is clearly wide, with more than one character
    in it, counts as horizontal. Which way a horizontal line runs cannot be told from its box.
    """
    if len(text) != 1 and width(box) > 1.5 * height(box):
        return "left-to-right"
    return "top-to-bottom"
