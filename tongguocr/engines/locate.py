"""Where on the page a token was read: the pointer's certainty at every place of a picture in, a point out.

Places are features, row by row; the answer is in features too, from the picture's top left. The pointer is
taught the four features around a character's centre, nearer ones more, so the middle of its peak is the
centre to a fraction of a feature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Point

Floats = NDArray[np.float32]


def find_peak(pointed: Floats, grid: tuple[int, int]) -> Point:
    """x and y of the middle of the highest place and those around it; `grid` is rows and columns."""
    weights = pointed.reshape(grid)
    row, column = divmod(int(pointed.argmax()), grid[1])
    top, left = max(row - 1, 0), max(column - 1, 0)
    part = weights[top : row + 2, left : column + 2].astype(np.float64)
    total = part.sum()
    if not total > 0:
        return (column + 0.5, row + 0.5)
    # A place's own middle is half a feature in.
    across = part.sum(0) @ np.arange(left, left + part.shape[1]) / total
    down = part.sum(1) @ np.arange(top, top + part.shape[0]) / total
    return (float(across) + 0.5, float(down) + 0.5)
