"""Images of single lines, drawn as dark squares, for tests of real ink."""

from __future__ import annotations

from functools import cache

import numpy as np

from tongguocr.training.synth.real_ink import Lines, gather, make_line

TEXT = "春夏秋冬東南西北"


def draw_line(count: int, width: int = 24, cell: int = 24, gap: int = 6, paper: int = 200) -> np.ndarray:
    """A column of dark squares with a gap between them, on uneven, noisy paper."""
    rng = np.random.default_rng(count)
    grey = np.full((count * cell, width), float(paper)) + rng.normal(0, 5, (count * cell, width))
    grey += np.linspace(-25, 25, count * cell)[:, None]
    for k in range(count):
        grey[k * cell + gap // 2 : (k + 1) * cell - gap // 2, 4:-4] = 45
    return grey.clip(0, 255).astype(np.uint8)


@cache
def many(count: int = 40, book: str = "Book__page", narrow: int = 0) -> Lines:
    lines = [
        make_line(f"{book}{k // 8}_{k % 8}.webp", TEXT[: 3 + k % 5], draw_line(3 + k % 5))
        for k in range(count)
    ]
    lines += [
        make_line(f"{book}{k}_99.webp", TEXT[:4], draw_line(4, width=12, cell=14, gap=4))
        for k in range(narrow)
    ]
    return gather(lines)
