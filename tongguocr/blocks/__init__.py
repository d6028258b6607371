"""Ordered lines -> recognition blocks (paper 3.1, supplement S1): `cut_blocks`.

features    what the penalties look at
candidates  the intervals that may become blocks
penalties   how unfit a block, a pair of neighbours, a number of blocks is
segment     the least unfit segmentation
merge       tiny blocks that are left join a neighbour
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from tongguocr.blocks.candidates import Pruning, enumerate_candidates
from tongguocr.blocks.features import measure_features
from tongguocr.blocks.merge import Merging, merge_tiny
from tongguocr.blocks.segment import Objective, segment, spell_out
from tongguocr.geometry import union
from tongguocr.page import Block, Page

__all__ = ["BlockSettings", "cut_blocks"]


@dataclass(frozen=True, slots=True)
class BlockSettings:
    """All constants of block construction, each documented where it is defined."""

    pruning: Pruning = field(default_factory=Pruning)
    objective: Objective = field(default_factory=Objective)
    merging: Merging = field(default_factory=Merging)


def cut_blocks(page: Page, settings: BlockSettings = BlockSettings()) -> tuple[Block, ...]:
    """The page's recognition blocks in reading order; every line is in exactly one."""
    if not page.lines:
        return ()
    candidates = enumerate_candidates(measure_features(page), settings.pruning)
    costs = spell_out(candidates, settings.objective)
    boundaries, _ = segment(costs)
    boundaries = merge_tiny(boundaries, candidates, costs, settings.merging)
    return tuple(
        Block(start, stop, union(line.box for line in page.lines[start:stop]))
        for start, stop in pairwise(boundaries)
    )
