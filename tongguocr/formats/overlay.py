"""The overlay: a page with its pixels in, a picture of what was read, and where, out.

Two views of the page, side by side or one above the other. The first is the image with every line outlined in
the colour of its kind and numbered, an arrow from each line to the next, and every character outlined from
green (sure) to red; doubtful ones are filled, with their confidence in per cent. The second has the text that
was read, each character where it stands, over the faint image. A page with small characters is enlarged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tongguocr.errors import InputError
from tongguocr.formats.doubts import THRESHOLD
from tongguocr.formats.follow import follow_line
from tongguocr.formats.fonts import NO_FONT, Face, face_for, find_faces
from tongguocr.formats.picture import BETWEEN_BLOCKS, KIND_COLOURS, LONGEST_SIDE, Colour, Pen
from tongguocr.geometry import Box, Point, clip, height, intersection, width
from tongguocr.page import Char, Line, Page
from tongguocr.tokens.transitions import end_anchor, start_anchor

LEGIBLE = 40
"""Pixels: so large the smallest characters are drawn, if the picture does not become too large for that."""
ENLARGED = 4.0
"""No page is drawn more times as large."""
LARGEST_SIDE = 5000
"""Nor is an enlarged page larger than this, in pixels."""
WORTH = 1.4
"""By less than this times no page is enlarged: every enlargement blurs."""
SMALL = 5
"""The size of the smallest characters is this percentile: single boxes may be wrong."""
FAINT = 0.85
"""How far the image is faded below the text."""
UNKNOWN: Colour = (110, 110, 110)
"""A character without a confidence."""
INK: Colour = (20, 20, 20)
"""Characters that are not doubtful, in the second view."""
_TRIES = 3
"""A number stands no farther off its line's head or foot, in heights of its own."""
_CONFIDENCE_COLOURS: tuple[tuple[float, Colour], ...] = (
    (0.0, (200, 20, 20)),
    (0.5, (230, 120, 0)),
    (THRESHOLD, (200, 170, 0)),
    (1.0, (20, 150, 60)),
)
"""Confidences and their colours; those between are mixed."""
_LEGEND_STEPS = (0.2, 0.5, 0.7, THRESHOLD, 0.9, 1.0)
"""What the legend shows."""


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
    # To look at 256 colours are enough; without them a picture takes three times as long and as many bytes.
    colours = draw_overlay(page).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    colours.save(encoded, "PNG", compress_level=1)
    return encoded.getvalue()


def draw_overlay(page: Page) -> Image.Image:
    """Both views of a page that has its pixels, and a legend below."""
    scale = _scale(page)
    size = max(round(page.width * scale), 1), max(round(page.height * scale), 1)
    stroke = max(2, round(max(size) / 900))
    assert page.pixels is not None
    under = Image.fromarray(page.pixels).convert("RGB")
    if under.size != size:
        under = under.resize(size, Image.Resampling.LANCZOS)
    faces = find_faces()
    views = [_draw_places(under, page, scale, stroke)]
    if faces:
        views.append(_draw_text(under, page, scale, faces))
    return _with_legend(_joined(views, stroke), stroke, "" if faces else NO_FONT)


def _scale(page: Page) -> float:
    """How many times as large as the page it is drawn."""
    longest = max(page.width, page.height, 1)
    scale = min(1.0, LONGEST_SIDE / longest)
    sizes = [min(width(char.box), height(char.box)) for line in page.lines for char in _cells(line)]
    small = float(np.percentile(sizes, SMALL)) if sizes else 0.0
    if small > 0 and LEGIBLE / small > scale * WORTH:
        scale = max(scale, min(LEGIBLE / small, ENLARGED, LARGEST_SIDE / longest))
    return scale


def _cells(line: Line) -> tuple[Char, ...]:
    """The line's characters; where they are not known, its text shares its box."""
    whole = line.chars or (Char("", line.box),)
    return tuple(char for char in follow_line(replace(line, chars=whole)).chars if char.text.strip())


def _joined(views: list[Image.Image], gap: int) -> Image.Image:
    """The views side by side; one above the other where the page is wider than high."""
    wide, high = views[0].size
    across, down = (1, len(views)) if wide > high else (len(views), 1)
    whole = Image.new("RGB", (across * (wide + gap) - gap, down * (high + gap) - gap), BETWEEN_BLOCKS)
    for n, view in enumerate(views):
        whole.paste(view, (n % across * (wide + gap), n // across * (high + gap)))
    return whole


# The first view


def _draw_places(under: Image.Image, page: Page, scale: float, stroke: int) -> Image.Image:
    """The image with lines, their order and numbers, and characters coloured by confidence."""
    tint = Image.new("RGBA", under.size)
    pen = Pen(ImageDraw.Draw(tint), scale, stroke)
    for line in page.lines:
        _draw_line(pen, line, page)
    for before, after in pairwise(page.lines):
        pen.arrow(_inside(end_anchor(before), page), _inside(start_anchor(after), page), BETWEEN_BLOCKS)
    _draw_numbers(pen, page)
    drawn = under.copy()
    drawn.paste(tint.convert("RGB"), mask=tint.getchannel("A"))
    return drawn


def _draw_line(pen: Pen, line: Line, page: Page) -> None:
    colour = KIND_COLOURS[line.kind]
    corners = [_inside(point, page) for point in line.polygon or ()]
    x0, y0, x1, y1 = pen.box(clip(line.box, page.width, page.height))
    outline = [(x * pen.scale, y * pen.scale) for x, y in corners] or [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for char in line.chars:
        _draw_char(pen, char, page)
    pen.draw.polygon(outline, outline=(*colour, 220), width=pen.stroke)


def _draw_char(pen: Pen, char: Char, page: Page) -> None:
    colour, box = confidence_colour(char.confidence), pen.box(clip(char.box, page.width, page.height))
    doubtful = char.confidence is not None and char.confidence < THRESHOLD
    fill = (*colour, 90) if doubtful else None
    pen.draw.rectangle(box, fill=fill, outline=(*colour, 255 if doubtful else 150))
    if doubtful and char.confidence is not None:
        _write_percent(pen, char.confidence, box, colour)


def _write_percent(pen: Pen, confidence: float, box: Box, colour: Colour) -> None:
    """A confidence in per cent, white on colour, in the lower right corner of a character's box."""
    size = max(round(0.32 * min(width(box), height(box))), 7)
    font, text = ImageFont.load_default(size=size), f"{100 * confidence:.0f}"
    x0, y0, x1, y1 = pen.draw.textbbox((box[2], box[3]), text, font=font, anchor="rb")
    pen.draw.rectangle((x0 - 1, y0 - 1, x1, y1), fill=(*colour, 255))
    pen.draw.text((box[2], box[3]), text, font=font, anchor="rb", fill="white")


def _draw_numbers(pen: Pen, page: Page) -> None:
    """Each line's number at its head, small where lines are narrow."""
    breadths = [min(width(line.box), height(line.box)) * pen.scale for line in page.lines]
    usual = float(np.median(breadths)) if breadths else 0.0
    font = ImageFont.load_default(size=min(max(round(0.5 * usual), 9), 10 * pen.stroke))
    texts = [str(number) for number in range(1, len(page.lines) + 1)]
    extents = [pen.draw.textbbox((0, 0), text, font=font) for text in texts]
    for line, text, tag in zip(page.lines, texts, number_places(pen, page, extents), strict=True):
        pen.draw.rectangle(tag, fill=(*KIND_COLOURS[line.kind], 235))
        middle = (tag[0] + tag[2]) / 2, (tag[1] + tag[3]) / 2
        pen.draw.text(middle, text, font=font, anchor="mm", fill="white")


def number_places(pen: Pen, page: Page, extents: Sequence[Box]) -> list[Box]:
    """Where the lines' numbers stand in the picture, none on another; `extents` are those of their texts."""
    taken: list[Box] = []
    for line, text in zip(page.lines, extents, strict=True):
        taken.append(_free_place(pen.box(clip(line.box, page.width, page.height)), text, pen, page, taken))
    return taken


def _free_place(box: Box, text: Box, pen: Pen, page: Page, taken: list[Box]) -> Box:
    """A place for a line's number: above its right end, else higher, or below it, else along the line."""
    wide, high = width(text) + 2 * pen.stroke, height(text) + 2 * pen.stroke
    right, bottom = page.width * pen.scale, page.height * pen.scale
    x = max(min(box[2], right) - wide, 0.0)
    heads = [box[1] - (n + 1) * high for n in range(_TRIES)]
    feet = [box[3] + n * high for n in range(_TRIES)]
    # Each number that stands already is in the way of two of these at most.
    along = [box[1] + n * high for n in range(2 * len(taken) + 1)]
    for y in (*heads, *feet, *along):
        place = (x, y, x + wide, y + high)
        if 0 <= y <= bottom - high and not any(intersection(place, other) for other in taken):
            return place
    y = max(min(box[1], bottom - high), 0.0)
    return (x, y, x + wide, y + high)


# The second view


def _draw_text(under: Image.Image, page: Page, scale: float, faces: tuple[Face, ...]) -> Image.Image:
    """What was read, each character where it stands, over the faint image."""
    view = Image.blend(under, Image.new("RGB", under.size, "white"), FAINT)
    draw = ImageDraw.Draw(view)
    for line in page.lines:
        x0, y0, x1, y1 = (value * scale for value in clip(line.box, page.width, page.height))
        draw.rectangle((x0, y0, x1, y1), outline=KIND_COLOURS[line.kind])
        for char in _cells(line):
            _write_char(draw, char, scale, faces)
    return view


def _write_char(draw: ImageDraw.ImageDraw, char: Char, scale: float, faces: tuple[Face, ...]) -> None:
    x0, y0, x1, y1 = (value * scale for value in char.box)
    # Breadths are those of columns, heights those of characters: the smaller one is what a character has.
    size = min(max(round(0.95 * min(x1 - x0, y1 - y0)), 6), LARGEST_SIDE)
    doubtful = char.confidence is not None and char.confidence < THRESHOLD
    colour = _darker(confidence_colour(char.confidence)) if doubtful else INK
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    face = face_for(char.text, faces)
    if face is not None:
        draw.text(middle, char.text, font=face.at(size), anchor="mm", fill=colour)
    else:
        # No font has it: its number tells which one it is.
        number = ImageFont.load_default(size=max(size // 4, 6))
        draw.rectangle((x0, y0, x1, y1), outline=colour)
        draw.text(middle, f"{ord(char.text[0]):X}", font=number, anchor="mm", fill=colour)


def _darker(colour: Colour) -> Colour:
    """A colour for strokes on white."""
    red, green, blue = (round(0.8 * value) for value in colour)
    return red, green, blue


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


def _with_legend(picture: Image.Image, stroke: int, note: str) -> Image.Image:
    """The picture above a row of all colours with their meaning, on as many rows as its breadth asks for."""
    font = ImageFont.load_default(size=8 * stroke)
    entries: list[tuple[str, Colour | None]] = [(str(kind), colour) for kind, colour in KIND_COLOURS.items()]
    entries += [(f"{100 * step:.0f} %", confidence_colour(step)) for step in _LEGEND_STEPS]
    entries += [("not known", UNKNOWN), *([(note, None)] if note else [])]
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
        if colour is not None:
            draw.rectangle((x, top, x + row - margin, top + row - margin), fill=colour)
        draw.text((x + row, top), text, font=font, fill="black")
    return whole


def _inside(point: Point, page: Page) -> Point:
    """The point, moved onto the page: no picture shows what lies off it."""
    return min(max(point[0], 0), page.width), min(max(point[1], 0), page.height)
