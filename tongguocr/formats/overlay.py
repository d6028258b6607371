"""The overlay: a page with its image in, a picture out that shows what was read where.

Lines are outlined in the colour of their kind and numbered in reading order, with an arrow from each to the
next. Characters are outlined from green (sure) to red (doubtful); those below the threshold of the table of
doubtful characters are filled too, with their confidence in per cent beside them.
"""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from tongguocr.errors import InputError
from tongguocr.formats.doubts import THRESHOLD
from tongguocr.formats.picture import BETWEEN_BLOCKS, KIND_COLOURS, LONGEST_SIDE, Colour, Pen, paper
from tongguocr.geometry import Point, clip
from tongguocr.page import Char, Line, Page
from tongguocr.tokens.transitions import end_anchor, start_anchor

UNKNOWN: Colour = (110, 110, 110)
"""A character without a confidence."""
_SCALE: tuple[tuple[float, Colour], ...] = (
    (0.0, (200, 20, 20)),
    (0.5, (230, 120, 0)),
    (THRESHOLD, (200, 170, 0)),
    (1.0, (20, 150, 60)),
)
"""Confidences and their colours; those between are mixed."""
_STEPS = (0.2, 0.5, 0.7, THRESHOLD, 0.9, 1.0)
"""What the legend shows."""


def render_overlay(page: Page, path: Path) -> bytes:
    """The picture as a PNG file, with a legend below the page."""
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
    scale = min(1.0, LONGEST_SIDE / max(page.width, page.height))
    size = max(round(page.width * scale), 1), max(round(page.height * scale), 1)
    tint = Image.new("RGBA", size)
    pen = Pen(ImageDraw.Draw(tint), scale, max(2, round(max(size) / 900)))
    for line in page.lines:
        _draw_line(pen, line, page)
    for before, after in pairwise(page.lines):
        pen.arrow(_inside(end_anchor(before), page), _inside(start_anchor(after), page), BETWEEN_BLOCKS)
    for number, line in enumerate(page.lines, start=1):
        pen.label(str(number), _inside((line.box[2], line.box[1]), page), KIND_COLOURS[line.kind])
    return _with_legend(Image.alpha_composite(paper(page, size), tint).convert("RGB"), pen.stroke)


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
    """White on colour, in the lower right corner of a character."""
    x, y = corner[0] * pen.scale, corner[1] * pen.scale
    font, text = ImageFont.load_default(size=6 * pen.stroke), f"{100 * confidence:.0f}"
    x0, y0, _, _ = pen.draw.textbbox((x, y), text, font=font, anchor="rb")
    pen.draw.rectangle((x0 - pen.stroke, y0 - pen.stroke, x + pen.stroke, y), fill=(*colour, 255))
    pen.draw.text((x, y), text, font=font, anchor="rb", fill="white")


def confidence_colour(confidence: float | None) -> Colour:
    """Green for a sure character, red for a doubtful one, grey where nothing is known."""
    if confidence is None:
        return UNKNOWN
    for (low, start), (high, stop) in pairwise(_SCALE):
        if confidence <= high:
            part = (confidence - low) / (high - low)
            red, green, blue = (round(a + part * (b - a)) for a, b in zip(start, stop, strict=True))
            return red, green, blue
    return _SCALE[-1][1]


def _with_legend(picture: Image.Image, stroke: int) -> Image.Image:
    """The picture above a row of all colours with their meaning, on as many rows as its breadth asks for."""
    font = ImageFont.load_default(size=8 * stroke)
    entries = [(str(kind), colour) for kind, colour in KIND_COLOURS.items()]
    entries += [(f"{100 * step:.0f} %", confidence_colour(step)) for step in _STEPS] + [
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
