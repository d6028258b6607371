"""Small printed pages with their labels, in files: what the training stages read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tiny_fonts import DEFAULT, make_font

from tongguocr.formats import write_page
from tongguocr.page import Char, Line, Page
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.labelled import LabelledPage
from tongguocr.training.recogniser.model import ModelSize

CHARS = "".join(DEFAULT)
CELL = 40
CODEC = Codec(tuple(CHARS))
SIZE = ModelSize(
    len(CODEC), width=64, heads=2, encoder_layers=1, decoder_layers=2, feed_forward=64, stem=(16, 32)
)
"""Of a network that learns such pages in a minute."""


def draw_page(font: Path, seed: int, columns: int = 3, length: int = 4, name: str = "page.png") -> Page:
    """Columns from the right of any of the characters, each in a cell of its own."""
    dice = np.random.default_rng(seed)
    wide, high = CELL * (2 * columns + 1), CELL * (length + 2)
    image = Image.new("L", (wide, high), 225)
    draw, face = ImageDraw.Draw(image), ImageFont.truetype(str(font), CELL - 4)
    lines = []
    for k in range(columns):
        x = wide - CELL * 2 * (k + 1)
        chars = []
        for row in range(length):
            char, y = CHARS[int(dice.integers(len(CHARS)))], CELL * (row + 1)
            draw.text((x + CELL / 2, y + CELL / 2), char, font=face, fill=20, anchor="mm")
            chars.append(Char(char, (x, y, x + CELL, y + CELL)))
        text = "".join(char.text for char in chars)
        lines.append(Line(f"l{k + 1}", (x, CELL, x + CELL, CELL * (length + 1)), text, chars=tuple(chars)))
    return Page(name, wide, high, tuple(lines), np.asarray(image))


def without_chars(page: Page) -> Page:
    return replace(page, lines=tuple(replace(line, chars=()) for line in page.lines))


def write_pages(folder: Path, count: int, **shape: int) -> list[Page]:
    """A folder of so many pages, images beside JSON files."""
    folder.mkdir(parents=True, exist_ok=True)
    font = make_font(folder.parent / "tiny.ttf")
    pages = [draw_page(font, seed, name=f"p{seed}.png", **shape) for seed in range(count)]
    for seed, page in enumerate(pages):
        assert page.pixels is not None
        Image.fromarray(page.pixels).save(folder / page.image)
        write_page(page, folder / f"p{seed}.json")
    return pages


def on_disk(page: Page, folder: Path) -> LabelledPage:
    """The page with its image in a file."""
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(folder / page.image)
    return LabelledPage(replace(page, pixels=None), folder / page.image)
