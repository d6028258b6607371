"""Blocks of a few glyphs for the GPU painters, and a font to paint them from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from tiny_fonts import make_font

from tongguocr.training.synth.composition import ComposedLine, Composition
from tongguocr.training.synth.fonts import FontBook, load_fonts

SIZE = 128
HIGH, WIDE = 160, 96
"""A tall canvas; turned over, a broad one."""
CHARS = "一丨田口十乚"


def tiny_book(folder: Path) -> FontBook:
    make_font(folder / "tiny.ttf")
    return load_fonts(folder)


def compose(boxes: list[tuple[float, float, float, float]], text: str = "", **more: object) -> Composition:
    count = len(boxes)
    text = text or "".join(CHARS[k % len(CHARS)] for k in range(count))
    block = Composition(
        kind="test",
        width=SIZE,
        height=SIZE,
        seed=1,
        text=tuple(text),
        faces=np.zeros(count, np.int16),
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        angles=np.zeros(count, np.float32),
        white=np.zeros(count, np.bool_),
        lines=(ComposedLine(0, count),) if count else (),
    )
    return replace(block, **more)  # type: ignore[arg-type]


def column(em: float = 20.0, count: int = 6) -> Composition:
    return compose([(50.3, 2 + k * em, 50.3 + em, 2 + (k + 1) * em) for k in range(count)])


def ink_box(ink: np.ndarray) -> np.ndarray:
    """Where ink begins and ends, between pixels: whole ones would tell half a pixel as two."""
    (left, right), (top, bottom) = (_ends(ink.max(axis=axis)) for axis in (0, 1))
    return np.array([left, top, right, bottom])


def _ends(profile: np.ndarray, level: float = 0.3) -> tuple[float, float]:
    def first(values: np.ndarray) -> float:
        k = int(np.flatnonzero(values > level)[0])
        before = values[k - 1] if k else 0.0
        return k - float((values[k] - level) / (values[k] - before))

    return first(profile), len(profile) - first(profile[::-1])
