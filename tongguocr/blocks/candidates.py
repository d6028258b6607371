"""Candidate blocks: every interval of consecutive lines that may become a block (paper 3.1.1, S1.2).

In: the features of a page. Out: for each candidate B_{i,j} its bounding box and the sums and maxima that the
penalties need, as arrays indexed [start, number of lines - 1]. Single lines are never pruned, so every page
has at least one segmentation, whatever its geometry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tongguocr.blocks.features import Features, Floats, Ints


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which intervals are clearly unsuitable and are never scored."""

    enabled: bool = True
    max_lines: int = 64
    """Ten columns of dense commentary, each cut into main text and note rows, are about sixty lines."""
    max_columns: int = 16
    """Sixteen columns side by side are wider than a half-leaf of 21 characters is high: past the preferred
    ten by so much that no other term could win them back."""
    max_area: float = 0.9
    """Of the page: a larger block is the page itself, which blocks exist to avoid."""
    small_page_columns: int = 10
    """A page with no more columns than this, as many as one block likes, may be one block."""
    max_aspect: float = 25.0
    """A strip thinner than this leaves its characters a few pixels high on a square canvas."""
    min_fill: float = 0.05
    """Text on a twentieth of the box: lines from opposite corners of the page."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """All intervals of up to `max_lines` lines; entry [i, m - 1] is the block of m lines from line i."""

    features: Features
    valid: NDArray[np.bool_]
    """False where the interval runs past the page's end or was pruned."""
    boxes: Floats
    """start x length x 4: the MBR of the interval's lines."""
    columns: Ints
    fill: Floats
    """Sum of line areas over the MBR's area."""
    size: Floats
    """Mean height of a character, lines weighted by their length."""
    longest: Floats
    """The longest line's length: the part of a block's size that no grouping can change."""
    gap: Floats
    """Largest horizontal gap between neighbouring columns, in page widths."""
    overlap: Floats
    """Least vertical overlap between neighbouring columns."""
    waste: Floats
    """Largest share of the box, as a column joined, that was in neither the old box nor the column."""
    band_shift: Floats
    """Largest share of the height, as a column joined, by which the band outgrew both old box and column."""

    @property
    def width(self) -> Floats:
        return np.asarray(self.boxes[..., 2] - self.boxes[..., 0])

    @property
    def height(self) -> Floats:
        return np.asarray(self.boxes[..., 3] - self.boxes[..., 1])

    @property
    def area(self) -> Floats:
        """A(B): relative to the page."""
        return np.asarray(self.width * self.height / self.features.page_area)


def enumerate_candidates(features: Features, pruning: Pruning = Pruning()) -> Candidates:
    """Grow every interval line by line, all starts at once, then prune."""
    n = len(features.boxes)
    longest_interval = min(n, pruning.max_lines) if pruning.enabled else n
    candidates = _grow(features, longest_interval)
    return _prune(candidates, pruning) if pruning.enabled else candidates


def _grow(features: Features, longest: int) -> Candidates:
    n = len(features.boxes)
    shape = (n, longest)
    boxes = np.tile(np.array([0.0, 0.0, 1.0, 1.0]), (*shape, 1))
    columns = np.ones(shape, np.int64)
    ink, extent, weighted = np.ones(shape), np.ones(shape), np.ones(shape)
    longest_line, gap, overlap = np.ones(shape), np.zeros(shape), np.ones(shape)
    waste, band_shift = np.zeros(shape), np.zeros(shape)
    line_ink = _area(features.boxes)
    for m in range(longest):
        first, last = slice(0, n - m), slice(m, n)
        if m == 0:
            boxes[:, 0] = features.boxes
            ink[:, 0], extent[:, 0], longest_line[:, 0] = line_ink, features.length, features.length
            weighted[:, 0] = features.length * features.size
            continue
        old = boxes[first, m - 1]
        boxes[first, m] = _union(old, features.boxes[last])
        columns[first, m] = features.column[last] - features.column[first] + 1
        ink[first, m] = ink[first, m - 1] + line_ink[last]
        extent[first, m] = extent[first, m - 1] + features.length[last]
        weighted[first, m] = weighted[first, m - 1] + features.length[last] * features.size[last]
        longest_line[first, m] = np.maximum(longest_line[first, m - 1], features.length[last])
        gap[first, m] = np.maximum(gap[first, m - 1], features.gap[last])
        overlap[first, m] = np.minimum(overlap[first, m - 1], features.overlap[last])
        joins = features.column[last] != features.column[m - 1 : n - 1]
        new_waste, new_shift = _growth(old, features.column_boxes[last])
        waste[first, m] = np.maximum(waste[first, m - 1], np.where(joins, new_waste, 0.0))
        band_shift[first, m] = np.maximum(band_shift[first, m - 1], np.where(joins, new_shift, 0.0))
    return Candidates(
        features=features,
        valid=np.arange(n)[:, None] + np.arange(longest) < n,
        boxes=boxes,
        columns=columns,
        fill=ink / np.maximum(_area(boxes), 1.0),
        size=weighted / extent,
        longest=longest_line,
        gap=gap,
        overlap=overlap,
        waste=waste,
        band_shift=band_shift,
    )


def _growth(old: Floats, column: Floats) -> tuple[Floats, Floats]:
    """What appending a column does to a block: new area that is not the column's, and band outgrown."""
    new = _union(old, column)
    waste = (_area(new) - _area(old) - _area(column)) / _area(new)
    heights = [box[:, 3] - box[:, 1] for box in (new, old, column)]
    shift = (heights[0] - np.maximum(heights[1], heights[2])) / heights[0]
    return np.maximum(waste, 0.0), shift


def _prune(candidates: Candidates, pruning: Pruning) -> Candidates:
    """Drop the intervals that are clearly unsuitable for reading; a single line always stays."""
    w, h = candidates.width, candidates.height
    aspect = np.maximum(w, h) / np.maximum(np.minimum(w, h), 1.0)
    small_page = candidates.features.columns <= pruning.small_page_columns
    keep = (
        (candidates.columns <= pruning.max_columns)
        & ((candidates.area <= pruning.max_area) | small_page)
        & (aspect <= pruning.max_aspect)
        & (candidates.fill >= pruning.min_fill)
    )
    keep[:, 0] = True
    valid = candidates.valid & keep
    used = int(np.flatnonzero(valid.any(axis=0))[-1]) + 1
    arrays = {
        name: getattr(candidates, name)[:, :used]
        for name in Candidates.__dataclass_fields__
        if name not in ("features", "valid")
    }
    return Candidates(features=candidates.features, valid=valid[:, :used], **arrays)


def _union(a: Floats, b: Floats) -> Floats:
    low, high = np.minimum(a[..., :2], b[..., :2]), np.maximum(a[..., 2:], b[..., 2:])
    return np.concatenate([low, high], axis=-1)


def _area(boxes: Floats) -> Floats:
    return np.asarray((boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]))
