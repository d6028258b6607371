"""Character heights from ink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recognise_pages import column

from tongguocr.engines.pitch import character_size
from tongguocr.page import Line, Pixels


def paint(pixels: Pixels, line: Line, pitch: float, seed: int = 0) -> None:
    """Characters as random strokes, a fifth of each cell free, each cell another pattern."""
    dice = np.random.default_rng(seed)
    x0, y0, x1, y1 = (int(v) for v in line.box)
    start, stop = (y0, y1) if line.is_vertical else (x0, x1)
    view = pixels[:, x0:x1] if line.is_vertical else pixels[y0:y1].T
    at = float(start)
    while at + pitch <= stop:
        rows = slice(round(at + 0.1 * pitch), round(at + 0.9 * pitch))
        view[rows] = dice.choice(np.array([20, 235], np.uint8), view[rows].shape)
        at += pitch


@pytest.mark.parametrize("pitch", [20, 26, 33, 40])
@pytest.mark.parametrize("turned", [False, True])
def test_the_pitch_of_flat_type_is_seen(pitch: int, turned: bool) -> None:
    pixels = np.full((500, 500), 235, np.uint8)
    lines = [column(f"l{k}", 60 * k, 10, 40, 400) for k in range(4)]
    if turned:
        boxes = [(10, 60 * k, 410, 60 * k + 40) for k in range(4)]
        lines = [
            replace(line, box=b, direction="left-to-right") for line, b in zip(lines, boxes, strict=True)
        ]
    for seed, line in enumerate(lines):
        paint(pixels, line, pitch, seed)
    assert character_size(pixels, lines) == pytest.approx(pitch, abs=1)


def test_loose_setting_makes_no_character_larger_than_its_line_is_thick() -> None:
    pixels = np.full((500, 100), 235, np.uint8)
    line = column("l", 10, 10, 40, 480)
    paint(pixels, line, 56)
    assert character_size(pixels, [line]) == 40


def test_most_characters_count() -> None:
    pixels = np.full((500, 300), 235, np.uint8)
    main, notes = column("m", 200, 0, 40, 160), [column(f"n{k}", 20 * k, 0, 20, 480) for k in range(2)]
    for line, pitch in ((main, 32), (notes[0], 16), (notes[1], 16)):
        paint(pixels, line, pitch)
    assert character_size(pixels, [main]) == pytest.approx(32, abs=1)
    assert character_size(pixels, [main, *notes]) == pytest.approx(16, abs=1)


@pytest.mark.parametrize("value", [0, 200])
def test_without_ink_the_thickness_has_to_do(value: int) -> None:
    pixels = np.full((300, 300), value, np.uint8)
    assert character_size(pixels, [column("l", 10, 10, 30, 250)]) == 30


def test_odd_lines() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (50, 50)).astype(np.uint8)
    assert character_size(pixels, []) is None
    assert character_size(pixels, [column("dot", 3, 3, 0, 0)]) == 1
    assert character_size(pixels, [column("off", 900, 900, 20, 300)]) == 20
    assert character_size(pixels, [column("hair", 10, 0, 0, 50)]) == 1
    assert character_size(pixels, [column("wide", 0, 0, 400, 50)]) == 400
