"""Where on the page a token was read: from the decoder's attention and the dense head.

Attention says roughly where the decoder looked; the dense head, asked for that very character, says where its
middle is. All places are features, row by row; the answer is in features too, from the picture's top left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Point

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Locating:
    """How the two are combined."""

    dense: bool = True
    """Whether the dense head refines what attention says."""
    reach: float = 0.75
    """How far from attention's peak the dense head is asked, in characters."""


def locate(
    attention: Floats,
    here: Floats | None,
    grid: tuple[int, int],
    character: float,
    settings: Locating = Locating(),
) -> Point:
    """x and y of a character's centre; `grid` is rows and columns, `character` its size in features."""
    seen = attention.reshape(grid)
    row, column = divmod(int(seen.argmax()), grid[1])
    if here is None or not settings.dense:
        return _centroid(seen, row, column)
    radius = max(round(settings.reach * character), 1)
    top, left = max(row - radius, 0), max(column - radius, 0)
    window = here.reshape(grid)[top : row + radius + 1, left : column + radius + 1]
    y, x = divmod(int(window.argmax()), window.shape[1])
    return _centroid(np.exp(here.reshape(grid) - window.max()), y + top, x + left)


def _centroid(weights: Floats, row: int, column: int) -> Point:
    """The weighted middle of a peak and the places around it; a place's own middle is half a feature in."""
    top, left = max(row - 1, 0), max(column - 1, 0)
    part = np.minimum(
        weights[top : row + 2, left : column + 2].astype(np.float64), float(weights[row, column])
    )
    total = part.sum()
    if not total > 0:
        return (column + 0.5, row + 0.5)
    rows, columns = np.indices(part.shape)
    return (
        float((columns * part).sum() / total) + left + 0.5,
        float((rows * part).sum() / total) + top + 0.5,
    )
