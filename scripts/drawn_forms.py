"""Which characters a font draws in another form's shape: `python scripts/drawn_forms.py FONT ...`.

Fonts cut after old prints often have one shape for two code points, 為 drawn as 爲, and teach the wrong form.
Every character that has other forms is set in the font on plain pages and read by the shipped weights; those
that are read as another form of themselves are printed. Look at them (simplified forms are misread, not drawn
wrongly) and list what is, under `exclude` in tongguocr/training/synth/faces.json or in NAME.exclude.txt
beside a font of your own (docs/fonts.md).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from fontTools.ttLib import TTFont
from PIL import Image, ImageDraw, ImageFont

from tongguocr.characters import is_ideograph
from tongguocr.engines import open_engine
from tongguocr.engines.calibration import same_word
from tongguocr.engines.rescore import main_form
from tongguocr.page import Line, Page
from tongguocr.reader import Reader
from tongguocr.tokens.codec import load_codec
from tongguocr.variants import fold
from tongguocr.weights import SHIPPED

PITCH, EM, ROWS, COLUMNS = 60, 44, 12, 10


def parts(chars: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (chars[k : k + size] for k in range(0, len(chars), size))


def with_forms(font: Path) -> list[str]:
    """The font's characters of which the weights know other forms."""
    known = load_codec(SHIPPED / "codec.json").characters
    words = Counter(fold(main_form(char)) for char in known)
    drawn = {chr(code) for code in TTFont(font, fontNumber=0).getBestCmap()}
    return [c for c in known if c in drawn and is_ideograph(c) and words[fold(main_form(c))] > 1]


def set_page(font: Path, chars: Sequence[str]) -> Page:
    """Columns from the right, each a line with its text."""
    wide, high = PITCH * (COLUMNS + 2), PITCH * (ROWS + 1)
    face, sheet = ImageFont.truetype(font, EM), Image.new("L", (wide, high), 235)
    draw, lines = ImageDraw.Draw(sheet), list[Line]()
    for number, column in enumerate(parts(chars, ROWS)):
        x = wide - PITCH * (number + 2)
        for row, char in enumerate(column):
            draw.text((x, PITCH * row + PITCH // 3), char, font=face, fill=20)
        box = (x - 4, PITCH // 4, x + EM + 8, PITCH // 3 + PITCH * len(column))
        lines.append(Line(f"l{number}", box, text="".join(column)))
    return Page(font.name, wide, high, tuple(lines), np.asarray(sheet))


def drawn_otherwise(font: Path, reader: Reader) -> Iterator[tuple[str, str]]:
    """Characters, and the form of the same word as which each is read."""
    for chars in parts(with_forms(font), ROWS * COLUMNS):
        page = set_page(font, chars)
        for asked, found in zip(page.lines, reader.read(page).lines, strict=True):
            if len(asked.text) == len(found.chars):
                pairs = zip(asked.text, (char.text for char in found.chars), strict=True)
                yield from ((a, b) for a, b in pairs if a != b and same_word(a, b))


if __name__ == "__main__":
    shared = Reader(open_engine("tongguocr"))
    for name in sys.argv[1:]:
        found = list(drawn_otherwise(Path(name), shared))
        print(name, " ".join(f"{char}>{form}" for char, form in found))
        print("exclude:", "".join(char for char, _ in found))
