"""What a font file really draws: the file and the index of a face in, code points and em box out.

A font's character map says too much. A code point counts here only if it is an ideograph or one of MARKS, and
if its outline is not empty, is not that of .notdef, and is no other code point's. Where a compatibility
ideograph shares the outline of one unified ideograph, the unified one stays. Where two unified ideographs
share an outline (Oradano draws 來 and 来 alike), nobody can tell which of them is drawn, so neither counts:
another face will have them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from tongguocr.characters import ideograph_block
from tongguocr.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

MARKS = "〇○◯●□■△々〻"
"""What old books print in a character's cell besides ideographs: zero, rings, lacunas, repetition marks."""

CENTRING_SAMPLE = 256
"""So many ideographs tell where a face's characters sit as a class; with fewer its metrics are believed."""

CodePoints: TypeAlias = NDArray[np.uint32]

_ENDCHAR = 14
_COMPONENT_SCALES = 0x0008 | 0x0040 | 0x0080
_MORE_COMPONENTS = 0x0020


def read_face(path: Path, index: int) -> tuple[CodePoints, float]:
    """The code points that the face draws, in order, and how far below the em box's top its baseline is.

    The second is a share of the em.
    """
    try:
        from fontTools.ttLib import TTFont
    except ImportError:
        raise MissingExtraError("Reading fonts", "synth") from None
    # What is odd in a font but does no harm is no news for the user.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        with path.open("rb") as file, TTFont(file, fontNumber=index, lazy=True) as font:
            points = _drawn(font)
            return points, _baseline(font, path, index, points)
    except Exception as error:
        # A damaged font can make fontTools raise nearly anything: struct.error, AttributeError, OSError ...
        raise InputError(f"{path}: the font cannot be read ({_first_words(error)}).") from None


def _first_words(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words[:80]


def _drawn(font: TTFont) -> CodePoints:
    # Glyph names are of no use here and slow to read: numbers stand in for them.
    font.setGlyphOrder([str(k) for k in range(font["maxp"].numGlyphs)])
    outline = _outlines(font)
    sharers: dict[bytes, list[int]] = {}
    for point, glyph in (font.getBestCmap() or {}).items():
        if chr(point) in MARKS or ideograph_block(chr(point)):
            sharers.setdefault(outline(int(glyph)), []).append(point)
    for nothing in (b"", outline(0)):
        sharers.pop(nothing, None)
    kept = [point for points in sharers.values() if (point := _owner(points)) is not None]
    return np.array(sorted(kept), np.uint32)


def _owner(points: Iterable[int]) -> int | None:
    """Of the code points with one outline, the one that the outline is sure to show."""
    points = list(points)
    unified = [p for p in points if not (ideograph_block(chr(p)) or "").startswith("Compatibility")]
    candidates = unified or points
    return candidates[0] if len(candidates) == 1 else None


def _outlines(font: TTFont) -> Callable[[int], bytes]:
    """Glyph number -> its outline's bytes, empty where it draws nothing."""
    if "glyf" in font:
        return _truetype_outlines(font)
    table = "CFF " if "CFF " in font else "CFF2"
    if table not in font:
        raise ValueError("it has no outlines")
    strings: Any = font[table].cff[0].CharStrings.charStringsIndex

    def outline(glyph: int) -> bytes:
        start, stop = strings.offsets[glyph : glyph + 2]
        strings.file.seek(start + strings.offsetBase)
        data: bytes = strings.file.read(stop - start)
        return b"" if _first_operator(data) in (None, _ENDCHAR) else data

    return outline


def _first_operator(charstring: bytes) -> int | None:
    """A Type 2 charstring whose first operator ends it draws nothing: numbers before it are a width."""
    at = 0
    while at < len(charstring):
        byte = charstring[at]
        if byte < 32 and byte != 28:
            return byte
        at += 3 if byte == 28 else 5 if byte == 255 else 2 if byte >= 247 else 1
    return None


def _truetype_outlines(font: TTFont) -> Callable[[int], bytes]:
    places, data = font["loca"].locations, font.reader["glyf"]

    def outline(glyph: int, depth: int = 0) -> bytes:
        found: bytes = data[places[glyph] : places[glyph + 1]]
        if len(found) < 10 or found[:2] == b"\0\0":
            return b""
        if found[:2] == b"\xff\xff" and depth < 8:
            flags, part = unpack_from(">HH", found, 10)
            # A glyph made of one other as it is, is that other.
            if not flags & (_MORE_COMPONENTS | _COMPONENT_SCALES):
                return outline(part, depth + 1)
        return found

    return outline


def _baseline(font: TTFont, path: Path, index: int, points: CodePoints) -> float:
    """The em box is as high as the em; in the vertical it is centred on the face's ideographs as a class.

    Metrics alone put some faces up to a twentieth of the em too high or low. A face of few ideographs is
    placed by its metrics, centred if ascent and descent do not make one em.
    """
    ideographs = [p for p in points.tolist() if ideograph_block(chr(p))]
    if len(ideographs) >= CENTRING_SAMPLE:
        middle = _middle(path, index, ideographs[:: len(ideographs) // CENTRING_SAMPLE])
    else:
        hhea, os2 = font["hhea"], font.get("OS/2")
        ascent, descent = (os2.sTypoAscender, os2.sTypoDescender) if os2 else (0, 0)
        if ascent == descent:
            ascent, descent = hhea.ascent, hhea.descent
        middle = (ascent + descent) / 2 / font["head"].unitsPerEm
    return 0.5 + middle


def _middle(path: Path, index: int, points: Iterable[int]) -> float:
    """How high above the baseline the middle of the characters' ink is: the median, a share of the em."""
    size = 128
    font = ImageFont.truetype(path, size, index, layout_engine=ImageFont.Layout.BASIC)
    middles = []
    for point in points:
        # Not the font's own getbbox, which takes in the baseline.
        image = Image.new("L", (3 * size, 3 * size))
        ImageDraw.Draw(image).text((size, 2 * size), chr(point), fill=255, font=font, anchor="ls")
        _, top, _, bottom = image.getbbox() or (0, 2 * size, 0, 2 * size)
        middles.append(2 - (top + bottom) / 2 / size)
    return float(np.median(middles))
