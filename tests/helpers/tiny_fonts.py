"""A TrueType font small enough to build in a test: a few ideographs as simple shapes in an em of 1000.

The machine that runs the tests need not have any Chinese font. The em box runs from 120 below the baseline to
880 above it, as in real fonts. Besides the glyphs asked for, the font can have the things that make a real
font's character map say too much: empty outlines, and code points that show another's glyph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

Rectangle: TypeAlias = tuple[int, int, int, int]
"""Left, bottom, right, top, from the em box's own lower left corner."""
Shape: TypeAlias = Literal["bar", "stem", "square", "frame", "cross", "L", "notdef"] | tuple[Rectangle, ...]
"""Lying stroke, standing one, filled, hollow, crossed, left and lower edge, the look of .notdef."""

EM = 1000
DESCENT = -120
DEFAULT: dict[str, Shape] = {
    "一": "bar", "丨": "stem", "田": "square", "口": "frame", "十": "cross", "乚": "L",
}  # fmt: skip

_RECTANGLES: dict[str, tuple[Rectangle, ...]] = {
    "bar": ((100, 450, 900, 550),),
    "stem": ((450, 100, 550, 900),),
    "square": ((100, 100, 900, 900),),
    "frame": ((150, 150, 850, 250), (150, 750, 850, 850), (150, 250, 250, 750), (750, 250, 850, 750)),
    "cross": ((100, 450, 900, 550), (450, 100, 550, 900)),
    "L": ((100, 100, 200, 900), (100, 100, 900, 200)),
    "notdef": ((400, 300, 600, 700),),
}


def many(chars: Iterable[str]) -> dict[str, Shape]:
    """A block for every character, each of another width and height, as no two real glyphs are the same."""
    return {
        char: ((100, 100, 900 - k % 50 * 4, 900 - k // 50 * 4),)
        for k, char in enumerate(dict.fromkeys(chars))
    }


def make_font(
    path: Path,
    glyphs: Mapping[str, Shape] = DEFAULT,
    *,
    empty: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
    built_from: Mapping[str, str] | None = None,
    rise: int = 0,
    family: str = "Tiny",
) -> Path:
    """Write the font to `path` and return it.

    `empty` are characters that the map has but whose outline is empty; `same` maps a further character to the
    one of `glyphs` whose glyph it shares, `built_from` to the one that its own glyph consists of. `rise`
    lifts all outlines, but not the metrics.
    """
    build_font(glyphs, empty, same or {}, built_from or {}, rise, family).save(path)
    return path


def build_font(
    glyphs: Mapping[str, Shape],
    empty: Sequence[str] = (),
    same: Mapping[str, str] = MappingProxyType({}),
    built_from: Mapping[str, str] = MappingProxyType({}),
    rise: int = 0,
    family: str = "Tiny",
) -> FontBuilder:
    names = {char: f"u{ord(char):04X}" for char in (*glyphs, *empty, *built_from)}
    outlines = {".notdef": _outline("notdef", rise)}
    outlines |= {names[char]: _outline(shape, rise) for char, shape in glyphs.items()}
    outlines |= {names[char]: TTGlyphPen(None).glyph() for char in empty}
    for char, part in built_from.items():
        pen = TTGlyphPen(outlines)
        pen.addComponent(names[part], (1, 0, 0, 1, 0, 0))
        outlines[names[char]] = pen.glyph()
    points = {ord(char): name for char, name in names.items()}
    points |= {ord(char): names[twin] for char, twin in same.items()}

    font = FontBuilder(EM, isTTF=True)
    font.setupGlyphOrder(list(outlines))
    font.setupCharacterMap(points)
    font.setupGlyf(outlines)
    font.setupHorizontalMetrics({name: (EM, getattr(glyph, "xMin", 0)) for name, glyph in outlines.items()})
    font.setupHorizontalHeader(ascent=EM + DESCENT, descent=DESCENT)
    font.setupOS2(sTypoAscender=EM + DESCENT, sTypoDescender=DESCENT, usWinAscent=EM, usWinDescent=-DESCENT)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupPost()
    return font


def _outline(shape: Shape, rise: int) -> object:
    pen = TTGlyphPen(None)
    bottom = DESCENT + rise
    for x0, y0, x1, y1 in _RECTANGLES[shape] if isinstance(shape, str) else shape:
        pen.moveTo((x0, y0 + bottom))
        for x, y in ((x0, y1), (x1, y1), (x1, y0)):
            pen.lineTo((x, y + bottom))
        pen.closePath()
    return pen.glyph()


def write_sources(root: Path, chars: str) -> tuple[str | Path, ...]:
    """Two faces, one of them held out, text and counts: what `train-data` takes, as its options."""
    (root / "fonts").mkdir()
    make_font(root / "fonts" / "one.ttf", many(chars))
    make_font(root / "fonts" / "cwming.ttf", many(chars))
    (root / "text.txt").write_text(chars * 60, encoding="utf-8")
    rows = "".join(f"{char}\t{100 - k}\n" for k, char in enumerate(chars))
    (root / "counts.tsv").write_text("char\ttotal\n" + rows, encoding="utf-8")
    return "--fonts", root / "fonts", "--text", root / "text.txt", "--counts", root / "counts.tsv"
