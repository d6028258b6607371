"""A contact sheet of synthetic pages for the documentation: six by four thumbnails, every kind at least once.

    python scripts/contact_sheet.py --fonts DIR --text FILE -o docs/contact_sheet.jpg

The same seed gives the same sheet on the same fonts and text.
"""

from __future__ import annotations

import argparse
import sys
from io import BytesIO
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.training.synth.fonts import FontBook, load_fonts
from tongguocr.training.synth.kinds import KINDS, compose_page, pick_kind
from tongguocr.training.synth.paint import render
from tongguocr.training.synth.text import TextSource, load_text

ACROSS, DOWN = 6, 4
CELL = (260, 335)
GAP = 10
MOST_BYTES = 400_000


def choose_kinds(seed: int) -> list[str]:
    """Every kind once, the rest by their shares, shuffled."""
    rng = np.random.default_rng(seed)
    kinds = [*KINDS, *(pick_kind(rng) for _ in range(max(ACROSS * DOWN - len(KINDS), 0)))]
    rng.shuffle(kinds)
    return list(islice(kinds, ACROSS * DOWN))


def make_sheet(text: TextSource, fonts: FontBook, seed: int) -> Image.Image:
    size = (ACROSS * (CELL[0] + GAP) + GAP, DOWN * (CELL[1] + GAP) + GAP)
    sheet = Image.new("RGB", size, (250, 250, 250))
    for k, kind in enumerate(choose_kinds(seed)):
        pixels, _ = render(compose_page(kind, text, fonts, seed * 1000 + k), fonts)
        page = Image.fromarray(pixels)
        page.thumbnail(CELL, Image.Resampling.LANCZOS)
        x = GAP + (k % ACROSS) * (CELL[0] + GAP) + (CELL[0] - page.width) // 2
        y = GAP + (k // ACROSS) * (CELL[1] + GAP) + (CELL[1] - page.height) // 2
        sheet.paste(page, (x, y))
    return sheet


def encode(sheet: Image.Image) -> bytes:
    """JPEG, as good as fits."""
    for quality in range(88, 30, -6):
        data = BytesIO()
        sheet.save(data, "JPEG", quality=quality, optimize=True)
        if data.tell() <= MOST_BYTES:
            break
    return data.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description="A contact sheet of synthetic pages.")
    parser.add_argument("--fonts", type=Path, required=True, metavar="DIR")
    parser.add_argument("--text", type=Path, metavar="FILE", help="default: the Thousand Characters")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="SHEET.jpg")
    args = parser.parse_args()
    try:
        sheet = make_sheet(load_text(args.text), load_fonts(args.fonts), args.seed)
        write_bytes(encode(sheet), args.output)
    except InputError as error:
        print(f"contact_sheet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
