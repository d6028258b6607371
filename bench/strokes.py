"""Hands that are no fonts: characters drawn with a brush along the centre lines of stroke data.

In: KanjiVG (the wheel of the package kanjivg, or a folder with its kanji/*.svg) and a hand, which is a set of
numbers out of a seed. Out: the hand as a TrueType font. Each stroke is a ribbon whose width follows the
stroke's type, with the nib's print at both ends and at its corners; where contours overlap they unite. A
character's strokes are bent, turned and moved a little, always alike in one hand, unlike in any other.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.characters import is_ideograph
from tongguocr.errors import InputError

Points: TypeAlias = NDArray[np.float64]
"""Places in a row, x and y, in the em: 0 to 1, y upwards."""

SIDE = 109
"""The side of KanjiVG's squares."""
EM, DESCENT = 1000, -120
STEP = 0.012
"""Centre lines are sampled about this densely."""
CORNER = math.radians(50)
"""A centre line that turns by more within two steps has a corner."""
HOOKED = "㇚㇆㇇㇈㇉㇋㇖㇙㇟㇂㇃㇁㇡㇠㇅"
REACH = 0.3
"""A hand joins strokes whose ends are not further apart."""

OTHER_FORMS = "吞呉搜渇煕稟遅遥"
"""What the data draws as another variant, as 搜 like 捜; to the eye."""

_FILE = re.compile(r"(?:^|/)kanji/([0-9a-f]{5})(-Kaisho)?\.svg$")
_PATH = re.compile(r'<path [^>]*kvg:type="([^"]*)"[^>]* d="([^"]+)"')


@dataclass(frozen=True, slots=True)
class PenStroke:
    """One stroke's centre line, and its type as a character of Unicode's block of strokes."""

    kind: str
    line: Points


@dataclass(frozen=True, slots=True)
class Hand:
    """How one copyist writes; lengths as shares of the em, angles in radians."""

    seed: int
    weight: float
    """The brush's width on a plain upright."""
    contrast: float
    """How much the width changes along a stroke; 1 is the usual regular script."""
    thinness: float
    """A level stroke's width over an upright's."""
    slant: float
    rise: float
    """How far level strokes climb to the right."""
    shake: float
    """How unsteady the strokes are; 1 is a practised hand."""
    aspect: float
    """A character's width over its height, against the data's."""
    fill: float
    """How much of the em a character takes, against the data's."""
    join: float
    """How often a stroke is tied to the next."""


def draw_hand(seed: int) -> Hand:
    """The hand of this seed."""
    rng = np.random.default_rng([1797, seed])
    return Hand(
        seed,
        weight=float(np.exp(rng.uniform(math.log(0.045), math.log(0.075)))),
        contrast=rng.uniform(0.7, 1.2),
        thinness=rng.uniform(0.6, 0.85),
        slant=rng.normal(0.0, 0.04),
        rise=rng.uniform(0.0, 0.07),
        shake=rng.uniform(0.6, 1.6),
        aspect=rng.uniform(0.9, 1.1),
        fill=rng.uniform(0.96, 1.06),
        join=rng.uniform(0.0, 0.25),
    )


def load_strokes(source: Path) -> dict[str, tuple[PenStroke, ...]]:
    """The strokes of every ideograph of the data, in the form of regular script where there is one.

    Characters whose strokes are the same are left out: nobody can tell which of them is written.
    """
    paths: dict[str, Sequence[tuple[str, str]]] = {}
    for name, text in sorted(_read_files(source)):
        found = _FILE.search(name)
        char = chr(int(found[1], 16)) if found else ""
        # The plain file is sorted behind the one of regular script.
        if found and is_ideograph(char) and char not in OTHER_FORMS and char not in paths:
            paths[char] = tuple(_PATH.findall(text))
    owners: dict[Sequence[tuple[str, str]], list[str]] = {}
    for char, drawn in paths.items():
        owners.setdefault(drawn, []).append(char)
    alone = {chars[0]: drawn for drawn, chars in owners.items() if drawn and len(chars) == 1}
    if not alone:
        raise InputError(f"{source}: this is neither the wheel of kanjivg nor a folder with its kanji/*.svg.")
    return {char: tuple(PenStroke(kind[:1], _sample(d)) for kind, d in alone[char]) for char in sorted(alone)}


def _read_files(source: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of the data's files."""
    try:
        if source.is_dir():
            for path in source.rglob("*.svg"):
                yield path.as_posix(), path.read_text(encoding="utf-8")
        else:
            with zipfile.ZipFile(source) as wheel:
                for name in wheel.namelist():
                    if _FILE.search(name):
                        yield name, wheel.read(name).decode()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{source}: the stroke data cannot be read ({error}).") from None


def _sample(path: str) -> Points:
    """An SVG path as points at even distances."""
    from fontTools.pens.recordingPen import RecordingPen
    from fontTools.svgLib.path import parse_path

    pen = RecordingPen()
    parse_path(path, pen)
    t = np.linspace(0, 1, 17)[1:, None]
    parts = [np.zeros((0, 2))]
    for operator, points in pen.value:
        if operator == "moveTo" and not any(len(part) for part in parts):
            parts.append(np.array(points, np.float64))
        elif operator == "curveTo":
            a, (b, c, d) = parts[-1][-1], np.array(points, np.float64)
            parts.append((1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d)
        elif operator == "lineTo":
            parts.append(parts[-1][-1] + t * (np.array(points[0]) - parts[-1][-1]))
    return _even(np.concatenate(parts) / SIDE * (1, -1) + (0, 1))


def _even(line: Points) -> Points:
    """The line with points at even distances of about a step."""
    along = _along(line)
    if len(line) < 2 or along[-1] == 0:
        return np.repeat(line[:1], 3, axis=0) + np.array([[-1e-3, 1e-3], [0, 0], [1e-3, -1e-3]])
    at = np.linspace(0, along[-1], max(round(along[-1] / STEP), 4) + 1)
    return np.stack([np.interp(at, along, line[:, k]) for k in (0, 1)], axis=1)


def _along(line: Points) -> NDArray[np.float64]:
    """How far along the line each of its points lies."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def brush_width(kind: str, t: NDArray[np.float64], hook: float) -> NDArray[np.float64]:
    """How wide the brush is along a stroke of this type, against a plain upright's middle.

    It swells where it is set down and where it stops, runs out in a point where it is lifted; a hook begins
    at `hook`.
    """
    head, tail = np.exp(-(((t - 0.04) / 0.12) ** 2)), np.exp(-(((t - 0.95) / 0.12) ** 2))
    if kind in "㇐":
        return 0.85 + 0.30 * head + 0.50 * tail
    if kind in "㇒㇓㇀":
        return 1.15 - 0.9 * t**1.3 + 0.25 * head
    if kind in "㇏":
        return np.where(t < 0.8, 0.4 + 1.1 * (t / 0.8) ** 1.5, 1.5 - 6.0 * (t - 0.8))
    if kind in "㇔":
        return 0.4 + 1.0 * t
    end = 1 + 0.2 * tail
    if kind in HOOKED:
        end = np.where(t > hook, 1 - 0.65 * (t - hook) / max(1 - hook, 0.01), 1.0)
    return (1.0 + 0.3 * head) * end


def write_font(hand: Hand, strokes: Mapping[str, Sequence[PenStroke]], path: Path) -> None:
    """The hand as a TrueType font."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    glyphs: dict[str, Any] = {".notdef": TTGlyphPen(None).glyph()}
    for char, parts in strokes.items():
        pen = TTGlyphPen(None)
        for contour in contours(hand, char, parts):
            start, *rest = np.rint(contour * EM + (0, DESCENT)).astype(int).tolist()
            pen.moveTo(start)
            for point in rest:
                pen.lineTo(point)
            pen.closePath()
        glyphs[f"u{ord(char):05X}"] = pen.glyph()
    font = FontBuilder(EM, isTTF=True)
    font.setupGlyphOrder(list(glyphs))
    font.setupCharacterMap({ord(char): f"u{ord(char):05X}" for char in strokes})
    font.setupGlyf(glyphs)
    font.setupHorizontalMetrics({name: (EM, getattr(g, "xMin", 0)) for name, g in glyphs.items()})
    font.setupHorizontalHeader(ascent=EM + DESCENT, descent=DESCENT)
    font.setupOS2(sTypoAscender=EM + DESCENT, sTypoDescender=DESCENT, usWinAscent=EM, usWinDescent=-DESCENT)
    font.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    font.setupPost(keepGlyphNames=False)
    font.save(path)


def contours(hand: Hand, char: str, strokes: Sequence[PenStroke]) -> Iterator[Points]:
    """The character's ink as outlines in the em, all of them clockwise."""
    rng = np.random.default_rng([hand.seed, ord(char)])
    waves = rng.normal(0.0, 0.006 * hand.shake, (2, 3)), rng.uniform(0, 2 * math.pi, (2, 3))
    # Where there is little room the brush is held higher.
    weight = hand.weight * min(1.0, (13 / max(len(strokes), 1)) ** 0.25) * rng.normal(1.0, 0.04)
    last: Points | None = None
    for stroke in strokes:
        line = _written(hand, stroke.line, waves, rng)
        if last is not None and rng.random() < hand.join and math.dist(last, line[0]) < REACH:
            yield from _tie(last, line[0], weight)
        hook = max((k for k in _corners(line) if k > 0.6 * len(line)), default=None)
        if stroke.kind in HOOKED and hook is not None:
            line = _with_hook(line, hook, 2.4 * weight)
        t = np.linspace(0, 1, len(line))
        width = 1 + hand.contrast * (brush_width(stroke.kind, t, t[hook] if hook else 0.88) - 1)
        yield from _ribbons(line, np.maximum(weight * width * rng.normal(1, 0.06), 0.01), hand.thinness)
        last = line[-1]


def _written(hand: Hand, line: Points, waves: tuple[Points, Points], rng: np.random.Generator) -> Points:
    """A stroke's line as this hand writes it: bent with the whole character, then moved by itself."""
    heights, phases = waves
    k = 2 * math.pi * np.array([0.5, 0.9, 1.4])
    bent = line + np.stack(
        [
            (heights[axis] * np.sin(k * line[:, 1 - axis : 2 - axis] + phases[axis])).sum(axis=1)
            for axis in (0, 1)
        ],
        axis=1,
    )
    middle, turn = bent.mean(axis=0), rng.normal(0.0, 0.018 * hand.shake)
    spin = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    moved = (bent - middle) @ spin * rng.normal(1.0, 0.025 * hand.shake, 2) + middle
    moved += rng.normal(0.0, 0.005 * hand.shake, 2) - 0.5
    # A bow of its own, none at the ends.
    chord = moved[-1] - moved[0]
    bow = rng.normal(0.0, 0.012 * hand.shake) * np.sin(np.linspace(0, math.pi, len(moved)))
    moved += bow[:, None] * np.array([-chord[1], chord[0]])
    lean = np.array([[hand.aspect, hand.rise], [hand.slant, 1.0]])
    return moved @ lean * hand.fill + 0.5


def _with_hook(line: Points, start: int, least: float) -> Points:
    """The line with a hook that shows: a broad brush would hide a short one."""
    hook = line[start:] - line[start]
    longer = max(1.0, least / max(float(np.hypot(*hook[-1])), 1e-6))
    return np.concatenate([line[:start], line[start] + hook * min(longer, 3.0)])


def _tie(start: Points, end: Points, weight: float) -> Iterator[Points]:
    """The thread of ink that a brush draws to the next stroke when it is hardly lifted."""
    t = np.linspace(0, 1, 9)[:, None]
    away = np.array([end[1] - start[1], start[0] - end[0]]) * 0.1
    line = start + t * (end - start) + np.sin(math.pi * t) * away
    yield _ribbon(line, weight * (0.18 + 0.5 * np.abs(t[:, 0] - 0.5)))


def _ribbons(line: Points, width: NDArray[np.float64], thinness: float) -> Iterator[Points]:
    """One stroke: a ribbon from corner to corner, and the nib's print at its ends and corners."""
    way = np.gradient(line, axis=0)
    level = np.abs(way[:, 0]) / np.maximum(np.hypot(*way.T), 1e-9)
    width = width * (1 - (1 - thinness) * level**2)
    cuts = _corners(line)
    for start, stop in zip([0, *cuts], [*cuts, len(line) - 1], strict=True):
        yield _ribbon(line[start : stop + 1], width[start : stop + 1])
    for k in (0, *cuts, len(line) - 1):
        yield _nib(line[k], width[k] * (1.15 if k in cuts else 1.0))


def _corners(line: Points) -> list[int]:
    """The points at which the line turns sharply."""
    way = np.unwrap(np.arctan2(*np.diff(line, axis=0).T[::-1]))
    turns = np.abs(way[2:] - way[:-2])
    sharp = [
        int(k) + 1 + int(abs(way[k + 1] - way[k]) < abs(way[k + 2] - way[k + 1]))
        for k in np.flatnonzero(turns > CORNER)
    ]
    return [k for i, k in enumerate(sharp) if (i == 0 or k - sharp[i - 1] > 2) and 0 < k < len(line) - 1]


def _ribbon(line: Points, width: NDArray[np.float64]) -> Points:
    """The outline of a line of changing width: its left side there, its right side back."""
    way = np.gradient(line, axis=0)
    aside = way[:, ::-1] * (-1, 1) / np.maximum(np.hypot(*way.T), 1e-9)[:, None]
    half = aside * width[:, None] / 2
    return np.concatenate([line + half, (line - half)[::-1]])


def _nib(middle: Points, width: float) -> Points:
    """The oval that a brush leaves where it is set down, its long axis from the upper left."""
    turn = -np.linspace(0, 2 * math.pi, 14, endpoint=False)
    oval = np.stack([np.cos(turn), 0.72 * np.sin(turn)], axis=1) * width / 2
    c = math.sqrt(0.5)
    return middle + oval @ np.array([[c, -c], [c, c]])
