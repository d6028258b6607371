"""Draw the example page: a half-leaf of Zhu Xi's Great Learning with double-row notes, in any font given.

    python scripts/draw_example.py FONT.ttf examples/

writes page.jpg and page.json, the page with its lines and characters in reading order. The text is in the
public domain and the drawing is ours, so both may be shown anywhere.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tongguocr.formats import write_page
from tongguocr.geometry import union
from tongguocr.page import Char, Kind, Line, Page

TEXT = """\
大學之道在明明德在親民在止於至善（程子曰親當作新○大學者大人之學也明明之也明德者人之所得乎天而虛靈不昧
以具眾理而應萬事者也但爲氣稟所拘人欲所蔽則有時而昏然其本體之明則有未嘗息者故學者當因其所發而遂明之以復其初也新者
革其舊之謂也言旣自明其明德又當推以及人使之亦有以去其舊染之污也止者必至於是而不遷之意至善則事理當然之極也言明
明德新民皆當止於至善之地而不遷此三者大學之綱領也）知止而后有定定而后能靜靜而后能安安而后能慮慮而后能得（后與
後同後放此○止者所當止之地卽至善之所在也知之則志有定向靜謂心不妄動安謂所處而安慮謂處事精詳得謂得其所止）物有
本末事有終始知所先後則近道矣（明德爲本新民爲末知止爲始能得爲終本始所先末終所後此結上文兩節之意）古之欲明明德於
天下者先治其國欲治其國者先齊其家欲齊其家者先脩其身欲脩其身者先正其心欲正其心者先誠其意欲誠其意者先致其知致知
在格物""".replace("\n", "")

COLUMNS, ROWS, CELL, PITCH = 9, 17, 56, 88
LEFT, TOP = 90, 120
NOTES_PER_ROW = 1.4
"""Note characters stand this much closer than main ones."""


@dataclass
class Sheet:
    """The pen's place on the page, and what it has written."""

    font: str
    column: int = 0
    row: int = 0
    lines: list[Line] = field(default_factory=list)
    image: Image.Image = field(default_factory=lambda: Image.new("L", (980, 1200), 255))

    def write(self, text: str, kind: Kind, middle: float, top: float, width: float, step: float) -> None:
        """One line of characters downwards, each in its own cell."""
        draw, face = ImageDraw.Draw(self.image), ImageFont.truetype(self.font, round(width))
        chars = []
        for k, char in enumerate(text):
            y = top + k * step
            draw.text((middle, y + step / 2), char, font=face, anchor="mm", fill=25)
            chars.append(
                Char(char, (round(middle - width / 2), round(y), round(middle + width / 2), round(y + step)))
            )
        box = union(char.box for char in chars)
        self.lines.append(Line(f"l{len(self.lines) + 1}", box, text, kind, chars=tuple(chars)))

    def place(self) -> tuple[float, float]:
        """The middle of the column and the top of the next cell; a full column gives way to the next."""
        if self.row >= ROWS:
            self.column, self.row = self.column + 1, 0
        return LEFT + (COLUMNS - self.column - 0.5) * PITCH, TOP + self.row * CELL


def set_main(sheet: Sheet, text: str) -> None:
    while text and sheet.column < COLUMNS:
        middle, top = sheet.place()
        run = text[: ROWS - sheet.row]
        if sheet.column < COLUMNS:
            sheet.write(run, "main", middle, top, CELL - 4, CELL)
        text, sheet.row = text[len(run) :], sheet.row + len(run)


def set_note(sheet: Sheet, text: str) -> None:
    """Right row then left row, balanced, down to the column's end and on in the next one."""
    while text and sheet.column < COLUMNS:
        middle, top = sheet.place()
        if sheet.column >= COLUMNS:
            return
        per_row = min(int((ROWS - sheet.row) * NOTES_PER_ROW), -(-len(text) // 2))
        step = CELL / NOTES_PER_ROW
        for side, run in ((0.25, text[:per_row]), (-0.25, text[per_row : 2 * per_row])):
            if run:
                sheet.write(run, "note", middle + side * PITCH * 0.8, top, 32, step)
        text, sheet.row = text[2 * per_row :], sheet.row + int(-(-per_row * step // CELL))


def age(sheet: Sheet) -> Image.Image:
    """Rules, paper and a little wear."""
    draw, rng = ImageDraw.Draw(sheet.image), np.random.default_rng(1)
    bottom = TOP + ROWS * CELL + 14
    for c in range(COLUMNS + 1):
        x = LEFT + c * PITCH
        draw.line((x, TOP - 14, x, bottom), fill=70, width=2)
    draw.rectangle((LEFT - 12, TOP - 20, LEFT + COLUMNS * PITCH + 12, bottom + 6), outline=30, width=6)
    ink = 1 - np.asarray(sheet.image.filter(ImageFilter.GaussianBlur(0.8)), np.float64)[..., None] / 255
    grain = rng.normal(0, 1, (75, 62))
    clouds = np.asarray(Image.fromarray(grain).resize(sheet.image.size, Image.Resampling.BICUBIC))[..., None]
    paper = np.array([236, 224, 196]) + 5 * clouds + rng.normal(0, 3, ink.shape)
    worn = np.clip(ink * (0.93 + 0.06 * clouds), 0, 1)
    return Image.fromarray(np.clip(paper * (1 - worn) + 40 * worn, 0, 255).astype(np.uint8))


def main(font: str, folder: Path) -> None:
    sheet = Sheet(font)
    for part in TEXT.replace("）", "（").split("（"):
        (set_note if sheet.lines and sheet.lines[-1].kind == "main" else set_main)(sheet, part)
    age(sheet).save(folder / "page.jpg", quality=85)
    write_page(Page("page.jpg", *sheet.image.size, tuple(sheet.lines)), folder / "page.json")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
