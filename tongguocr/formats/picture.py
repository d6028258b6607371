"""Pictures of a page to look at: its lines or its blocks; what was read where is the format `overlay`.

Lines are outlined in the colour of their kind or block and numbered in reading order, with an arrow from each
to the next. The page's own image lies underneath, or blank paper where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from itertools import cycle, pairwise
from math import atan2, cos, sin
from pathlib import Path
from typing import TypeAlias

from PIL import Image, ImageDraw, ImageFont

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.geometry import Box, Point
from tongguocr.page import KINDS, Block, Kind, Page
from tongguocr.tokens.transitions import end_anchor, start_anchor

Colour: TypeAlias = tuple[int, int, int]
COLOURS: tuple[Colour, ...] = (
    (200, 60, 40),
    (30, 110, 190),
    (40, 140, 70),
    (150, 80, 180),
    (210, 130, 20),
    (20, 140, 150),
)
KIND_COLOURS: dict[Kind, Colour] = dict(zip(KINDS, COLOURS, strict=False))
BETWEEN_BLOCKS: Colour = (40, 40, 40)
LONGEST_SIDE = 2400
"""Pictures are for the eye: a larger page is drawn smaller."""


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws in page coordinates onto a picture of another scale."""

    draw: ImageDraw.ImageDraw
    scale: float
    stroke: int

    def box(self, box: Box) -> Box:
        """A box of the page in the picture."""
        x0, y0, x1, y1 = (v * self.scale for v in box)
        return (x0, y0, max(x1, x0), max(y1, y0))

    def arrow(self, start: Point, end: Point, colour: Colour) -> None:
        """A line from one point of the page to another, with a head at its end."""
        (x0, y0), (x1, y1) = ((x * self.scale, y * self.scale) for x, y in (start, end))
        self.draw.line((x0, y0, x1, y1), fill=(*colour, 200), width=self.stroke)
        angle, head = atan2(y1 - y0, x1 - x0), 5 * self.stroke
        wings = [(x1 - head * cos(angle + turn), y1 - head * sin(angle + turn)) for turn in (-0.45, 0.45)]
        self.draw.polygon([(x1, y1), *wings], fill=(*colour, 230))

    def label(self, text: str, at: Point, colour: Colour) -> None:
        """A text in white on colour, up and left from a point of the page."""
        x, y = (v * self.scale for v in at)
        font = ImageFont.load_default(size=10 * self.stroke)
        x0, y0, x1, y1 = self.draw.textbbox((x, y), text, font=font, anchor="rb")
        s = self.stroke
        self.draw.rectangle((x0 - s, y0 - s, x1 + s, y1 + s), fill=(*colour, 230))
        self.draw.text((x, y), text, font=font, anchor="rb", fill="white")


def draw_blocks(page: Page, blocks: tuple[Block, ...]) -> Image.Image:
    """The page with each block's lines, box and number in one colour, and the way the text runs."""
    tint, pen = _layer(page, 600)
    coloured = list(zip(blocks, cycle(COLOURS), strict=False))
    for block, colour in coloured:
        for line in block.lines(page):
            pen.draw.rectangle(pen.box(line.box), fill=(*colour, 40), outline=(*colour, 120))
        pen.draw.rectangle(pen.box(block.box), outline=(*colour, 255), width=pen.stroke)
    for number, (block, colour) in enumerate(coloured, start=1):
        for line, following in pairwise(block.lines(page)):
            pen.arrow(end_anchor(line), start_anchor(following), colour)
        pen.label(str(number), (block.box[2], block.box[1]), colour)
    for before, after in pairwise(blocks):
        start = end_anchor(page.lines[before.stop - 1])
        pen.arrow(start, start_anchor(page.lines[after.start]), BETWEEN_BLOCKS)
    return _over_page(tint, page)


def draw_lines(page: Page) -> Image.Image:
    """The page with each line outlined in its kind's colour and numbered, and the way the text runs."""
    tint, pen = _layer(page, 600)
    for line in page.lines:
        x0, y0, x1, y1 = pen.box(line.box)
        corners = [(x * pen.scale, y * pen.scale) for x, y in line.polygon or ()]
        outline = corners or [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        colour = KIND_COLOURS[line.kind]
        pen.draw.polygon(outline, fill=(*colour, 40), outline=(*colour, 200), width=pen.stroke)
    for before, after in pairwise(page.lines):
        pen.arrow(end_anchor(before), start_anchor(after), BETWEEN_BLOCKS)
    for number, line in enumerate(page.lines, start=1):
        pen.label(str(number), (line.box[2], line.box[1]), KIND_COLOURS[line.kind])
    return _over_page(tint, page)


def _layer(page: Page, strokes: int) -> tuple[Image.Image, Pen]:
    """A clear layer of the picture's size, and a pen whose stroke is a part of its longer side."""
    scale = min(1.0, LONGEST_SIDE / max(page.width, page.height, 1))
    size = max(round(page.width * scale), 1), max(round(page.height * scale), 1)
    layer = Image.new("RGBA", size)
    return layer, Pen(ImageDraw.Draw(layer), scale, max(2, round(max(size) / strokes)))


def _over_page(layer: Image.Image, page: Page) -> Image.Image:
    """The layer on the page's image, or on blank paper."""
    if page.pixels is None:
        under = Image.new("RGBA", layer.size, (250, 247, 238, 255))
    else:
        under = Image.fromarray(page.pixels).convert("RGBA").resize(layer.size, Image.Resampling.LANCZOS)
    return Image.alpha_composite(under, layer).convert("RGB")


def save_picture(picture: Image.Image, path: Path) -> None:
    """Write the picture in the format that the file's name asks for."""
    encoded = BytesIO()
    try:
        picture.save(encoded, Image.registered_extensions()[path.suffix.lower()])
    except (KeyError, OSError, ValueError):
        raise InputError(f"{path}: pictures are written as .png, .jpg or another image type.") from None
    write_bytes(encoded.getvalue(), path)
