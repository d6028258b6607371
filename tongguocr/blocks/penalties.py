"""The three groups of penalties (paper 3.1.2, supplement S1.4 to S1.6): block, adjacent blocks, page.

In: candidate intervals. Out: p_blk for each candidate, p_adj for each pair of neighbours, p_page(K). The
paper names the terms and leaves their shapes and constants open; each is chosen here with its reason. Every
term lies in [0, 1] and most are ramps: 0 up to a tolerated value, 1 from a hopeless one on, linear between.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from tongguocr.blocks.candidates import Candidates
from tongguocr.blocks.features import Features, Floats
from tongguocr.page import CANVAS_PADDING


@dataclass(frozen=True, slots=True)
class BlockPenalty:
    """Weights (omega) and thresholds of the eight block terms."""

    weight_n: float = 1.0
    weight_a: float = 1.0
    weight_f: float = 0.5
    weight_r: float = 0.5
    weight_s: float = 0.5
    weight_g: float = 2.0
    weight_o: float = 2.0
    """These two tell regions apart and outweigh what a lone column costs by n, r and s together (1.75): a
    centre fold or a head note stands alone rather than in a block with text from across the page."""
    weight_delta: float = 0.5

    few_columns: int = 4
    """Fewer lose the context that a block exists for."""
    many_columns: int = 10
    """More is beyond a half-leaf; a decoder that must keep its place in more columns loses it."""
    too_many_columns: int = 16

    large_area: float = 0.45
    """About a half-leaf of a spread; from here the block is on its way to being the page."""
    full_area: float = 0.9
    canvas: float = 1024.0
    """The longest side a recogniser takes (paper, stages 2 and 3)."""
    padding: float = CANVAS_PADDING
    """The crop's alpha: what the canvas is larger than the block."""
    legible: float = 32.0
    """Pixels of height under which rare characters of twenty strokes run together."""

    full_fill: float = 0.5
    """Columns with a column's width of paper between them, or half of them short, still reach this."""
    empty_fill: float = 0.1

    long_aspect: float = 4.0
    """Four columns of 21 characters at a pitch of 1.4 are about this long and must stay free."""
    hopeless_aspect: float = 12.0
    strip_aspect: float = 8.0
    """Two such columns: from here seven eighths of a square canvas are padding."""
    hopeless_strip: float = 16.0

    free_gap: float = 0.02
    """Of the page's width: the paper between columns of an unruled page."""
    free_gap_characters: float = 2.5
    """A gap of this many characters is free too: an empty cell of a table, the spacing of a title page."""
    wide_gap: float = 0.08
    """Of the page's width beyond what is free: at the latest, a centre fold with its margins."""

    whole_overlap: float = 0.5
    """Columns of one region share most of their height however they are indented or short; of two regions,
    none."""

    free_waste: float = 0.25
    """A short column beside a full one leaves this much."""
    full_waste: float = 0.75
    free_shift: float = 0.1
    """Two raised characters on a column of twenty."""
    full_shift: float = 0.5


@dataclass(frozen=True, slots=True)
class AdjacentPenalty:
    """Weights (gamma) and thresholds of the four terms between neighbouring blocks."""

    weight_overlap: float = 1.0
    weight_containment: float = 1.0
    weight_tiny: float = 0.5
    weight_split: float = 0.5

    free_overlap: float = 0.05
    """Intersection over union: slanting columns make neighbouring boxes overlap by about this much."""
    full_overlap: float = 0.5
    free_containment: float = 0.3
    """Intersection over the smaller box: a short block in the corner that longer neighbours left."""
    full_containment: float = 0.9
    tiny_ratio: float = 0.15
    """Of the neighbour's area: a heading of one column beside six."""
    attached: float = 2.0
    """Characters of distance within which a tiny block hangs on its neighbour."""
    sibling_split: float = 0.5
    """Cost of parting two columns of one region, against 1 for cutting a column in two."""


@dataclass(frozen=True, slots=True)
class PagePenalty:
    """Weights (rho) of the page term, and the preferred number of blocks from the page's columns."""

    weight_range: float = 1.0
    weight_cap: float = 1.0
    weight_single: float = 0.6
    """Less than the line-count cost of cutting five columns in two, more than a cut of eight costs."""
    fewest_columns: int = 4
    most_columns: int = 10
    soft_cap: float = 2.0
    """K_soft in units of K_max."""

    def preferred(self, columns: int) -> tuple[int, int, int]:
        """(K_min, K_max, K_soft): pages of 5 and of 150 columns cannot share one range."""
        k_min = ceil(columns / self.most_columns)
        k_max = max(k_min, ceil(columns / self.fewest_columns))
        return k_min, k_max, max(k_max + 1, round(self.soft_cap * k_max))


def ramp(value: Floats, free: float | Floats, full: float | Floats) -> Floats:
    """0 up to `free`, 1 from `full` on, linear between; `full` may be the smaller."""
    return np.asarray(np.minimum(np.maximum((value - free) / (full - free), 0.0), 1.0))


def block_terms(c: Candidates, p: BlockPenalty = BlockPenalty()) -> dict[str, Floats]:
    """P_n, P_a, P_f, P_r, P_s, P_g, P_o and P_delta of every candidate."""
    w, h = c.width, c.height
    aspect = np.maximum(w, h) / np.minimum(w, h)
    few = (p.few_columns - c.columns) / p.few_columns
    many = (c.columns - p.many_columns) / (p.too_many_columns - p.many_columns)
    return {
        "n": np.clip(np.maximum(few, many), 0.0, 1.0),
        "a": np.maximum(ramp(c.area, p.large_area, p.full_area), _shrinkage(c, p)),
        "f": ramp(c.fill, p.full_fill, p.empty_fill),
        "r": ramp(aspect, p.long_aspect, p.hopeless_aspect),
        "s": ramp(aspect, p.strip_aspect, p.hopeless_strip),
        "g": _apart(c.gap, c.size, c.features.page_width, p),
        "o": ramp(c.overlap, p.whole_overlap, 0.0),
        "delta": np.maximum(
            ramp(c.waste, p.free_waste, p.full_waste), ramp(c.band_shift, p.free_shift, p.full_shift)
        ),
    }


def _apart(gap: Floats, size: Floats, page_width: float, p: BlockPenalty) -> Floats:
    """How far a horizontal gap is beyond what columns of this character size leave between them."""
    free = np.maximum(p.free_gap, p.free_gap_characters * size / page_width)
    return ramp(gap, free, free + p.wide_gap)


def _shrinkage(c: Candidates, p: BlockPenalty) -> Floats:
    """The hard part of P_a: how far grouping alone pushes characters under the legible height.

    A column longer than 29 of its characters is too small on a square canvas even by itself; only what the
    other lines add is held against the block, or long columns would ask for ever larger blocks.
    """
    room = p.canvas * c.size / p.padding
    together = np.clip(1.0 - room / np.maximum(c.width, c.height) / p.legible, 0.0, 1.0)
    alone = np.clip(1.0 - room / c.longest / p.legible, 0.0, 1.0)
    return np.clip(2.0 * (together - alone), 0.0, 1.0)


def block_penalty(c: Candidates, p: BlockPenalty = BlockPenalty()) -> Floats:
    """p_blk(B) of every candidate."""
    terms = block_terms(c, p)
    return np.asarray(sum(getattr(p, f"weight_{name}") * term for name, term in terms.items()))


def adjacent_terms(
    before: Floats, after: Floats, split: Floats, size: Floats, p: AdjacentPenalty = AdjacentPenalty()
) -> dict[str, Floats]:
    """P_ov, P_con, P_tiny and P_split of pairs of neighbouring boxes (4 x ..., broadcast together).

    `split` says how related the two lines at the boundary are, `size` how high their characters stand.
    """
    across = np.minimum(before[2], after[2]) - np.maximum(before[0], after[0])
    along = np.minimum(before[3], after[3]) - np.maximum(before[1], after[1])
    common = np.maximum(across, 0.0) * np.maximum(along, 0.0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (before, after)]
    smaller, larger = np.minimum(*areas), np.maximum(*areas)
    distance = np.maximum(-np.minimum(across, along), 0.0)
    return {
        "overlap": ramp(common / (smaller + larger - common), p.free_overlap, p.full_overlap),
        "containment": ramp(common / smaller, p.free_containment, p.full_containment),
        "tiny": ramp(smaller / larger, p.tiny_ratio, 0.0) * ramp(distance, p.attached * size, 0.0),
        "split": split,
    }


def adjacent_penalty(
    before: Floats, after: Floats, split: Floats, size: Floats, p: AdjacentPenalty = AdjacentPenalty()
) -> Floats:
    """p_adj(B, B')."""
    terms = adjacent_terms(before, after, split, size, p)
    return np.asarray(sum(getattr(p, f"weight_{name}") * term for name, term in terms.items()))


def split_cost(features: Features, block: BlockPenalty, p: AdjacentPenalty = AdjacentPenalty()) -> Floats:
    """P_split for a boundary before each line: 1 inside a column; between columns, how alike and near.

    Columns of one region that start and end together are siblings; a cut beside a short column or an
    indented one, where a paragraph ends, separates less.
    """
    inside = np.diff(features.column, prepend=-1) == 0
    top, bottom = features.column_boxes[:, 1], features.column_boxes[:, 3]
    starts = np.searchsorted(features.column, features.column)
    first = starts[np.maximum(starts - 1, 0)]
    old_top, old_bottom = top[first], bottom[first]
    shared = np.minimum(bottom, old_bottom) - np.maximum(top, old_top)
    alike = np.maximum(shared, 0.0) / (np.maximum(bottom, old_bottom) - np.minimum(top, old_top))
    near = 1.0 - _apart(features.gap, features.size, features.page_width, block)
    return np.where(inside, 1.0, p.sibling_split * alike * near)


def page_penalty(count: int, columns: int, p: PagePenalty = PagePenalty()) -> float:
    """p_page(K) = rho_range q_range(K) + rho_cap q_cap(K) + rho_single [K = 1]."""
    k_min, k_max, k_soft = p.preferred(columns)
    q_range = 0.0
    if count < k_min:
        q_range = ((k_min - count) / k_min) ** 2
    elif count > k_max:
        q_range = ((count - k_max) / k_max) ** 2
    q_cap = (max(count - k_soft, 0) / k_soft) ** 2
    return p.weight_range * q_range + p.weight_cap * q_cap + p.weight_single * (count == 1)
