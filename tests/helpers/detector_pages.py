"""For tests of the detector: pages of dark squares, a network that finds them, characters by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tongguocr.layout.detect import Network
from tongguocr.layout.peaks import (
    CHANNELS,
    FIRST,
    HEAT,
    KIND,
    LAST,
    NEXT,
    SHIFT,
    SIZE,
    STRIDE,
    TYPICAL,
    Characters,
    Floats,
)
from tongguocr.page import KINDS, Kind, Pixels


def column(
    x: float,
    y: float,
    count: int,
    size: float = 30.0,
    pitch: float = 34.0,
    slant: float = 0.0,
    across: float = 0.0,
) -> list[tuple[float, float, float, float]]:
    """Boxes down from (x, y), the middle of the first one; `slant` to the right a pixel down."""
    half = (across or size) / 2
    middles = [(x + slant * k * pitch, y + k * pitch) for k in range(count)]
    return [(cx - half, cy - size / 2, cx + half, cy + size / 2) for cx, cy in middles]


def characters(
    lines: Sequence[Sequence[tuple[float, float, float, float]]],
    kinds: Sequence[Kind] | None = None,
    score: float = 0.9,
) -> Characters:
    """What a perfect network says of these lines."""
    boxes, following, kind = list[Floats](), list[Floats](), list[Floats]()
    last, first = list[float](), list[float]()
    for number, line in enumerate(lines):
        array = np.array(line, np.float32)
        centres = (array[:, :2] + array[:, 2:]) / 2
        boxes.append(array)
        following.append(
            np.concatenate([centres[1:], centres[-1:] + np.array([0, array[-1, 3] - array[-1, 1]])])
        )
        last += [0.05] * (len(line) - 1) + [0.95]
        first += [0.95] + [0.05] * (len(line) - 1)
        name: Kind = kinds[number] if kinds else "main"
        kind += [np.eye(4, dtype=np.float32)[KINDS.index(name)] * 0.8 + 0.05] * len(line)
    return Characters(
        np.concatenate(boxes),
        np.full(len(last), score, np.float32),
        np.concatenate(following).astype(np.float32),
        np.array(last, np.float32),
        np.array(kind, np.float32),
        np.array(first, np.float32),
        np.tile(np.float32([0.97, 0.01, 0.01, 0.01]), (len(last), 1)),
    )


def paint(lines: Sequence[Sequence[tuple[float, float, float, float]]], width: int, height: int) -> Pixels:
    """Each box as a dark square a little smaller than itself, on light paper."""
    page = np.full((height, width), 230, np.uint8)
    for x0, y0, x1, y1 in (box for line in lines for box in line):
        gap = 0.12 * (x1 - x0)
        page[round(y0 + gap) : round(y1 - gap), round(x0 + gap) : round(x1 - gap)] = 40
    return page


def square_network(
    smallest: float = 6.0, largest: float = 90.0, calls: list[tuple[int, ...]] | None = None
) -> Network:
    """A network by hand: every dark patch whose sides lie between these bounds is a character."""

    def network(image: Floats) -> Floats:
        if calls is not None:
            calls.append(image.shape)
        dark = image[0, 0] < 0.5
        maps = np.zeros((CHANNELS, image.shape[2] // STRIDE, image.shape[3] // STRIDE), np.float32)
        maps[HEAT], maps[LAST], maps[FIRST] = -9.0, -4.0, -4.0
        for x0, y0, x1, y1 in _patches(dark):
            side = np.array([x1 - x0, y1 - y0]) / 0.76
            if not smallest <= side.max() <= largest or side.min() < 0.5 * side.max():
                continue
            centre = np.array([x0 + x1, y0 + y1]) / 2 / STRIDE
            c, r = (int(v) for v in centre)
            maps[HEAT, r, c] = 3.0
            maps[SIZE, r, c] = np.log(side / TYPICAL)
            maps[SHIFT, r, c] = centre - (c + 0.5, r + 0.5)
            maps[NEXT, r, c] = (0.0, 34 / 30)
            maps[KIND, r, c] = (3.0, 0.0, 0.0, 0.0)
        return maps

    return network


def _patches(dark: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Bounds of the patches that hang together."""
    from scipy.ndimage import find_objects, label

    return [(x.start, y.start, x.stop, y.stop) for y, x in find_objects(label(dark)[0])]


def write_char_pages(folder: Path, count: int = 6) -> Path:
    """Pages of three columns of dark squares, with the box of each."""
    folder.mkdir()
    entries = []
    for k in range(count):
        lines = [column(x, 40, 8, size=24, pitch=28) for x in (230, 180, 130 - k)]
        Image.fromarray(paint(lines, 280, 320)).save(folder / f"p{k}.png")
        chars = [{"box": list(box), "ch": None} for line in lines for box in line]
        entries.append({"image": f"p{k}.png", "size": [280, 320], "chars": chars})
    (folder / "pages.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder
