"""The local merge after the segmentation: isolated tiny blocks join a neighbour (supplement S1.7).

In: the boundaries that the dynamic programme chose. Out: boundaries with fewer tiny blocks, the order and
coverage of lines unchanged. A merge is judged by the block and adjacent costs of the segmentation itself; as
that was optimal, only a slack makes a merge possible at all: the price of one stray column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tongguocr.blocks.candidates import Candidates
from tongguocr.blocks.segment import Costs


@dataclass(frozen=True, slots=True)
class Merging:
    """What counts as tiny, and what a merged block must still look like."""

    tiny_columns: int = 2
    tiny_ratio: float = 0.2
    """Of the neighbour's area."""
    slack: float = 0.5
    """How much dearer the page may become for one tiny block less."""
    min_fill: float = 0.3
    max_aspect: float = 8.0


def merge_tiny(
    boundaries: list[int], candidates: Candidates, costs: Costs, merging: Merging = Merging()
) -> list[int]:
    """Remove boundaries of tiny blocks, the cheapest removal first, until none is worth it."""
    while True:
        removals = [
            (_change(boundaries, at, costs), at)
            for at in range(1, len(boundaries) - 1)
            if _suitable(boundaries, at, candidates, merging)
        ]
        change, at = min(removals, default=(np.inf, 0))
        if change > merging.slack:
            return boundaries
        boundaries = boundaries[:at] + boundaries[at + 1 :]


def _suitable(boundaries: list[int], at: int, c: Candidates, merging: Merging) -> bool:
    """Whether one side of the boundary is tiny beside the other and both together make a fit block."""
    i, j, k = boundaries[at - 1 : at + 2]
    if k - i > c.valid.shape[1] or not c.valid[i, k - i - 1]:
        return False
    areas = float(c.area[i, j - i - 1]), float(c.area[j, k - j - 1])
    small = (i, j) if areas[0] <= areas[1] else (j, k)
    tiny = c.columns[small[0], small[1] - small[0] - 1] <= merging.tiny_columns
    tiny = tiny and min(areas) <= merging.tiny_ratio * max(areas)
    w, h = float(c.width[i, k - i - 1]), float(c.height[i, k - i - 1])
    fits = max(w, h) <= merging.max_aspect * min(w, h) and c.fill[i, k - i - 1] >= merging.min_fill
    return bool(tiny and fits)


def _change(boundaries: list[int], at: int, costs: Costs) -> float:
    """What removing a boundary adds to the block and adjacent costs around it."""
    around = boundaries[max(at - 2, 0) : at + 3]
    removed = boundaries[at]
    return _local(costs, [b for b in around if b != removed]) - _local(costs, around)


def _local(costs: Costs, boundaries: list[int]) -> float:
    """Block and adjacent costs of a run of blocks."""
    blocks = sum(costs.block[i, j - i - 1] for i, j in pairwise(boundaries))
    pairs = zip(boundaries, boundaries[1:], boundaries[2:], strict=False)
    return float(blocks + sum(costs.adjacent[j, j - i - 1, k - j - 1] for i, j, k in pairs))
