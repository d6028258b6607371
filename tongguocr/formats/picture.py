"""Pictures of a page to look at: its lines, its blocks, or what was read where (the format `overlay`).

Lines are outlined in the colour of their kind or block and numbered in reading order, with an arrow from each
to the next. The overlay outlines characters too, from green (sure) to red (doubtful); those below the
threshold of the table of doubtful characters are filled, with their confidence in per cent beside them. The
page's own image lies underneath; lines and blocks are drawn on blank paper where there is none.
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
from tongguocr.formats.doubts import THRESHOLD
from tongguocr.geometry import Box, Point, clip
from tongguocr.page import KINDS, Block, Char, Kind, Line, Page
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
UNKNOWN: Colour = (110, 110, 110)
"""A character without a confidence."""
_CONFIDENCE_COLOURS: tuple[tuple[float, Colour], ...] = (
    (0.0, (200, 20, 20)),
    (0.5, (230, 120, 0)),
    (THRESHOLD, (200, 170, 0)),
    (1.0, (20, 150, 60)),
)
"""Confidences and their colours; those between are mixed."""
_LEGEND_STEPS = (0.2, 0.5, 0.7, THRESHOLD, 0.9, 1.0)
"""What the legend shows."""


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


def render_overlay(page: Page, path: Path) -> bytes:
    """The overlay as a PNG file; the page must have its pixels."""
    if page.pixels is None:
        raise InputError(f"{path}: an overlay is drawn on the page's image, and the page has none.")
    if page.pixels.shape[:2] != (page.height, page.width):
        size = f"{page.pixels.shape[1]} x {page.pixels.shape[0]}"
        raise InputError(
            f"{path}: the image has {size} pixels, and the page has {page.width} x {page.height}."
        )
    encoded = BytesIO()
    draw_overlay(page).save(encoded, "PNG")
    return encoded.getvalue()


def draw_overlay(page: Page) -> Image.Image:
    """The page with lines, their order and characters coloured by confidence, and a legend below."""
    tint, pen = _layer(page, 900)
    for line in page.lines:
        _draw_line(pen, line, page)
    for before, after in pairwise(page.lines):
        pen.arrow(_inside(end_anchor(before), page), _inside(start_anchor(after), page), BETWEEN_BLOCKS)
    for number, line in enumerate(page.lines, start=1):
        pen.label(str(number), _inside((line.box[2], line.box[1]), page), KIND_COLOURS[line.kind])
    return _with_legend(_over_page(tint, page), pen.stroke)


def _draw_line(pen: Pen, line: Line, page: Page) -> None:
    colour = KIND_COLOURS[line.kind]
    corners = [_inside(point, page) for point in line.polygon or ()]
    x0, y0, x1, y1 = pen.box(clip(line.box, page.width, page.height))
    outline = [(x * pen.scale, y * pen.scale) for x, y in corners] or [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for char in line.chars:
        _draw_char(pen, char, page)
    pen.draw.polygon(outline, outline=(*colour, 220), width=pen.stroke)


def _draw_char(pen: Pen, char: Char, page: Page) -> None:
    colour, box = confidence_colour(char.confidence), clip(char.box, page.width, page.height)
    doubtful = char.confidence is not None and char.confidence < THRESHOLD
    fill = (*colour, 90) if doubtful else None
    pen.draw.rectangle(pen.box(box), fill=fill, outline=(*colour, 255 if doubtful else 150))
    if doubtful and char.confidence is not None:
        _write_percent(pen, char.confidence, (box[2], box[3]), colour)


def _write_percent(pen: Pen, confidence: float, corner: Point, colour: Colour) -> None:
    """A confidence in per cent, white on colour, in the lower right corner of a character."""
    x, y = corner[0] * pen.scale, corner[1] * pen.scale
    font, text = ImageFont.load_default(size=6 * pen.stroke), f"{100 * confidence:.0f}"
    x0, y0, _, _ = pen.draw.textbbox((x, y), text, font=font, anchor="rb")
    pen.draw.rectangle((x0 - pen.stroke, y0 - pen.stroke, x + pen.stroke, y), fill=(*colour, 255))
    pen.draw.text((x, y), text, font=font, anchor="rb", fill="white")


def confidence_colour(confidence: float | None) -> Colour:
    """Green for a sure character, red for a doubtful one, grey where nothing is known."""
    if confidence is None:
        return UNKNOWN
    for (low, start), (high, stop) in pairwise(_CONFIDENCE_COLOURS):
        if confidence <= high:
            part = (confidence - low) / (high - low)
            red, green, blue = (round(a + part * (b - a)) for a, b in zip(start, stop, strict=True))
            return red, green, blue
    return _CONFIDENCE_COLOURS[-1][1]


def _with_legend(picture: Image.Image, stroke: int) -> Image.Image:
    """The picture above a row of all colours with their meaning, on as many rows as its breadth asks for."""
    font = ImageFont.load_default(size=8 * stroke)
    entries = [(str(kind), colour) for kind, colour in KIND_COLOURS.items()]
    entries += [(f"{100 * step:.0f} %", confidence_colour(step)) for step in _LEGEND_STEPS] + [
        ("not known", UNKNOWN)
    ]
    row, margin = 12 * stroke, 4 * stroke
    places: list[tuple[float, int]] = []
    x, y = float(margin), 0
    for text, _ in entries:
        breadth = font.getlength(text) + row + 2 * margin
        if x > margin and x + breadth > picture.width:
            x, y = float(margin), y + row
        places.append((x, y))
        x += breadth
    whole = Image.new("RGB", (picture.width, picture.height + y + row + margin), "white")
    whole.paste(picture)
    draw = ImageDraw.Draw(whole)
    for (text, colour), (x, y) in zip(entries, places, strict=True):
        top = picture.height + y + margin
        draw.rectangle((x, top, x + row - margin, top + row - margin), fill=colour)
        draw.text((x + row, top), text, font=font, fill="black")
    return whole


def _inside(point: Point, page: Page) -> Point:
    """The point, moved onto the page: no picture shows what lies off it."""
    return min(max(point[0], 0), page.width), min(max(point[1], 0), page.height)
