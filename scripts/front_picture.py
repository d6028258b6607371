"""The README's picture: `python scripts/front_picture.py PAGE.png FONT OUT.jpg`.

A page's image in; beside it, what the package reads there, set in columns where the lines stand.
Characters read with little confidence are tinted.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from tongguocr import read
from tongguocr.geometry import height, width
from tongguocr.page import Page

HEIGHT, GAP, QUALITY = 900, 24, 82
INK, DOUBT, PAPER = (32, 30, 28), (176, 42, 30), (250, 248, 243)
DOUBTFUL = 0.6


def set_text(page: Page, font: str) -> Image.Image:
    """The text alone, each character where it was read."""
    sheet = Image.new("RGB", (page.width, page.height), PAPER)
    draw = ImageDraw.Draw(sheet)
    for line in page.lines:
        for char in line.chars:
            size = max(round(0.92 * min(width(char.box), 1.2 * height(char.box))), 8)
            colour = DOUBT if (char.confidence or 0.0) < DOUBTFUL else INK
            middle = ((char.box[0] + char.box[2]) / 2, (char.box[1] + char.box[3]) / 2)
            draw.text(middle, char.text, font=ImageFont.truetype(font, size), fill=colour, anchor="mm")
    return sheet


def main(image: Path, font: str, out: Path) -> None:
    scan, page = Image.open(image).convert("RGB"), read(image)
    size = (round(scan.width * HEIGHT / scan.height), HEIGHT)
    both = Image.new("RGB", (2 * size[0] + GAP, HEIGHT), "white")
    both.paste(scan.resize(size, Image.Resampling.LANCZOS), (0, 0))
    both.paste(set_text(page, font).resize(size, Image.Resampling.LANCZOS), (size[0] + GAP, 0))
    both.save(out, quality=QUALITY)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
