"""The minimum-penalty segmentation of a page, by dynamic programming (paper 3.1.2, supplement S1.7).

In: candidate intervals. Out: the boundaries of the blocks whose total penalty
lambda_blk sum p_blk + lambda_adj sum p_adj + lambda_page p_page(K) is least among all segmentations into
candidates. The result is exact; tests hold it against brute force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tongguocr.blocks.candidates import Candidates
from tongguocr.blocks.features import Floats, Ints
from tongguocr.blocks.penalties import (
    AdjacentPenalty,
    BlockPenalty,
    PagePenalty,
    adjacent_penalty,
    block_penalty,
    page_penalty,
    split_cost,
)


@dataclass(frozen=True, slots=True)
class Objective:
    """The weights lambda (the paper's 2, 2, 1) and the three groups they weigh."""

    weight_block: float = 2.0
    weight_adjacent: float = 2.0
    weight_page: float = 1.0
    block: BlockPenalty = field(default_factory=BlockPenalty)
    adjacent: AdjacentPenalty = field(default_factory=AdjacentPenalty)
    page: PagePenalty = field(default_factory=PagePenalty)


@dataclass(frozen=True, slots=True)
class Costs:
    """The objective spelled out for one page."""

    block: Floats
    """[i, m - 1]: lambda_blk p_blk of the block of m lines from line i; infinite where not a candidate."""
    adjacent: Floats
    """[i, a - 1, b - 1]: lambda_adj p_adj of the block of a lines that ends before line i, and the block of
    b lines that starts there."""
    page: Callable[[int], float]
    """lambda_page p_page(K)."""


def spell_out(candidates: Candidates, objective: Objective = Objective()) -> Costs:
    """All costs of a page, each pair of neighbouring candidates once."""
    features = candidates.features
    n, longest = candidates.valid.shape
    split = split_cost(features, objective.block, objective.adjacent)
    boxes = np.moveaxis(candidates.boxes, -1, 0).copy()
    adjacent = np.full((n, longest, longest), np.inf)
    for i in range(1, n):
        a, b = np.arange(min(i, longest)), np.arange(min(n - i, longest))
        before, after = boxes[:, i - 1 - a, a][:, :, None], boxes[:, i, b][:, None]
        adjacent[i, : len(a), : len(b)] = objective.weight_adjacent * adjacent_penalty(
            before, after, split[i], features.size[i], objective.adjacent
        )
    block = objective.weight_block * block_penalty(candidates, objective.block)
    return Costs(
        block=np.where(candidates.valid, block, np.inf),
        adjacent=adjacent,
        page=lambda k: objective.weight_page * page_penalty(k, features.columns, objective.page),
    )


def segment(costs: Costs) -> tuple[list[int], float]:
    """The boundaries 0 = j_0 < j_1 < ... < j_K = n of the best segmentation, and its total penalty.

    D(B_{i,j}, k) is needed for every k only as far as p_page could prefer another count than the one that
    is best without it. Blocks and pairs cost at least that much at any count, so a count whose page penalty
    is no lower cannot win, and on most pages no other count is left to try.
    """
    free, back = _best_any_count(costs)
    n = len(costs.block)
    boundaries, cost = _trace(free, back, n)
    count = len(boundaries) - 1
    cheaper = [k for k in range(1, n + 1) if costs.page(k) < costs.page(count)]
    best = boundaries, cost + costs.page(count)
    if cheaper:
        by_count, back_by_count = _best_by_count(costs, max(cheaper))
        for k in cheaper:
            boundaries, cost = _trace(by_count[..., k], back_by_count, n, k)
            if cost + costs.page(k) < best[1]:
                best = boundaries, cost + costs.page(k)
    return best


def _predecessors(costs: Costs, i: int) -> tuple[Ints, Ints]:
    """Lengths (less one) of the candidates that end before line i, and of those that start there."""
    lengths = np.arange(min(i, costs.block.shape[1]))
    before = lengths[np.isfinite(costs.block[i - 1 - lengths, lengths])]
    return before, np.flatnonzero(np.isfinite(costs.block[i]))


def _best_any_count(costs: Costs) -> tuple[Floats, Ints]:
    """The recurrence without the block count: least cost up to each candidate, and the length before it."""
    cost = costs.block.copy()
    back = np.zeros(cost.shape, np.int64)
    for i in range(1, len(cost)):
        before, after = _predecessors(costs, i)
        total = cost[i - 1 - before, before][:, None] + costs.adjacent[i][np.ix_(before, after)]
        choice = total.argmin(axis=0)
        back[i, after] = before[choice] + 1
        cost[i, after] += total[choice, np.arange(len(after))]
    return cost, back


def _best_by_count(costs: Costs, most: int) -> tuple[Floats, Ints]:
    """The paper's recurrence: D(B_{i,j}, k) for k up to `most`, and the length of the block before."""
    shape = (*costs.block.shape, most + 1)
    cost, back = np.full(shape, np.inf), np.zeros(shape, np.int16)
    cost[0, :, 1] = costs.block[0]
    for i in range(1, len(costs.block)):
        before, after = _predecessors(costs, i)
        previous = cost[i - 1 - before, before, :-1]
        total = previous[:, None, :] + costs.adjacent[i][np.ix_(before, after)][:, :, None]
        choice = total.argmin(axis=0)
        back[i, after, 1:] = before[choice] + 1
        cost[i, after, 1:] = costs.block[i, after, None] + np.take_along_axis(total, choice[None], 0)[0]
    return cost, back


def _trace(cost: Floats, back: Ints, n: int, count: int | None = None) -> tuple[list[int], float]:
    """Back-track from the cheapest candidate that ends the page (with exactly `count` blocks, if given)."""
    lengths = np.arange(cost.shape[1])
    ends = cost[n - 1 - lengths, lengths]
    m = int(ends.argmin()) + 1
    total = float(ends[m - 1])
    if not np.isfinite(total):
        return [], total
    boundaries = [n]
    while boundaries[0] > 0:
        i = boundaries[0] - m
        boundaries.insert(0, i)
        if i > 0:
            m = int(back[i, m - 1] if count is None else back[i, m - 1, count])
            count = None if count is None else count - 1
    return boundaries, total
