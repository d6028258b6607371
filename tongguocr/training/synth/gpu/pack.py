"""Compositions -> one `Batch` of flat arrays: what the GPU painters read. Cheap enough for worker processes.

Blocks hold any number of glyphs, strokes, patches and marks, so each kind of thing lies in one array with the
number of its block beside it. Things of about the same size lie together (a span), because a GPU paints equal
patches at once; all sizes are decided here, so that the device is never asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongguocr.geometry import Point
from tongguocr.training.synth.composition import OVERHANG, Composition, Mark, Stroke

Numbers: TypeAlias = NDArray[Any]

SIDES = np.array([16, 24, 32, 40, 48, 64, 96, 160, 256, 512, 1024, 2048, 4096])
"""The sides that patches come in: few enough to paint together, close enough to waste little."""
WASTE = 3_000_000
"""Pixels painted in vain that are cheaper than another span: a GPU paints so many in the time that the host
takes to start a span's kernels."""
STRAY = 32.0
"""Wavering rules stray by fewer pixels than this."""
MIN_EM = 8.0
"""Blocks without glyphs are degraded as if their characters were this high."""


@dataclass(frozen=True, slots=True)
class Span:
    """The things `start:stop` of a group, painted in patches of `rows` x `columns` pixels."""

    rows: int
    columns: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Group:
    """Things of one kind from all blocks, sorted by the size of their patches."""

    values: Tensor
    """n x k or n x k x 2: what the kind's painter needs."""
    block: Tensor
    """n: which block each belongs to."""
    spans: tuple[Span, ...] = ()

    def __len__(self) -> int:
        return len(self.block)


@dataclass(frozen=True, slots=True)
class Batch:
    """Blocks ready to be painted on canvases of one size, from glyphs, real lines, or both."""

    height: int
    width: int
    blocks: int
    glyphs: Group
    """cell, x0, y0, x1, y1, angle."""
    white: Group
    """The same, cut out of patches."""
    lines: Group
    """Real line images: number in the store, x0, y0, x1, y1, and perhaps the first and last row shown."""
    rules: Group
    """Start and end along and across the longer axis, width, 1 if that axis is y."""
    frames: Group
    """The same: frames and boxes, which seldom have gaps."""
    patches: Group
    """Corners, the last one repeated."""
    marks: Group
    """x, y, radius, 1 for a ring."""
    red: Group
    """Marks in red."""
    boxes: Tensor
    """n x 4: the em box of every character of every block, in reading order: where the labels are."""
    of_block: Tensor
    """n: the block of each character."""
    em: tuple[float, ...]
    """A typical character's height in each block; kept on the host, where degradation is decided."""

    def to(self, device: torch.device | str) -> Batch:
        return self._each(lambda t: t.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """In page-locked memory, from which copies to a GPU do not wait."""
        return self._each(lambda t: t.pin_memory() if t.numel() else t)

    def _each(self, move: Callable[[Tensor], Tensor]) -> Batch:
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Group):
                changed[field.name] = replace(value, values=move(value.values), block=move(value.block))
            elif isinstance(value, Tensor):
                changed[field.name] = move(value)
        return replace(self, **changed)


def pack(
    compositions: Sequence[Composition],
    cell_of: Callable[[NDArray[np.int16], Sequence[str]], NDArray[np.int64]],
) -> Batch:
    """Compositions of one size as a batch; `cell_of` tells each glyph's cell in the atlas, or -1.

    A glyph without a cell keeps its place among the labels but gets no ink.
    """
    height, width = _canvas(compositions)
    counts = [len(c) for c in compositions]
    block = np.repeat(np.arange(len(compositions)), counts)
    boxes = np.concatenate([c.boxes for c in compositions]).astype(np.float32).reshape(-1, 4)
    angles = np.concatenate([c.angles for c in compositions])
    white = np.concatenate([c.white for c in compositions])
    faces = np.concatenate([c.faces for c in compositions])
    cells = cell_of(faces, [char for c in compositions for char in c.text])
    values = np.concatenate([cells[:, None], boxes, angles[:, None]], axis=1, dtype=np.float32)
    drawn = (cells >= 0) & _on_canvas(boxes, height, width)
    strokes = [(k, s) for k, c in enumerate(compositions) for s in c.strokes]
    marks = [(k, m) for k, c in enumerate(compositions) for m in _marks_of(c)]
    return Batch(
        height,
        width,
        len(compositions),
        glyphs=glyph_group(values[drawn & ~white], block[drawn & ~white]),
        white=glyph_group(values[drawn & white], block[drawn & white]),
        lines=line_group(np.zeros((0, 5)), np.zeros(0, np.int64)),
        rules=stroke_group([s for s in strokes if s[1].role == "rule"], height, width),
        frames=stroke_group([s for s in strokes if s[1].role != "rule"], height, width),
        patches=patch_group([(k, p) for k, c in enumerate(compositions) for p in _patches_of(c)]),
        marks=mark_group([m for m in marks if not m[1].red]),
        red=mark_group([m for m in marks if m[1].red]),
        boxes=torch.from_numpy(boxes),
        of_block=torch.from_numpy(block),
        em=typical_height(boxes, block, len(compositions)),
    )


def _canvas(compositions: Sequence[Composition]) -> tuple[int, int]:
    """The height and width that all compositions share."""
    sizes = {(c.height, c.width) for c in compositions}
    if len(sizes) != 1:
        raise ValueError(f"the compositions of a batch need one height and width, not {sorted(sizes)}")
    return sizes.pop()


# A block cut out of its page keeps all of the page's marks and patches. Those off the canvas are left out:
# their pixels would all be written to the canvas's edge, where a GPU writes one after another.
def _marks_of(composition: Composition) -> Iterator[Mark]:
    width, height = composition.width, composition.height
    for mark in composition.marks:
        (x, y), r = mark.centre, mark.radius + 1
        if -r < x < width + r and -r < y < height + r:
            yield mark


def _patches_of(composition: Composition) -> Iterator[tuple[Point, ...]]:
    for patch in composition.patches:
        xs, ys = zip(*patch.points, strict=True)
        if (
            max(xs) > -1
            and max(ys) > -1
            and min(xs) < composition.width + 1
            and min(ys) < composition.height + 1
        ):
            yield patch.points


def glyph_group(values: Numbers, block: Numbers) -> Group:
    """Glyphs in patches that hold the turned em box with its overhang."""
    w, h = values[:, 3] - values[:, 1], values[:, 4] - values[:, 2]
    cos, sin = np.abs(np.cos(values[:, 5])), np.abs(np.sin(values[:, 5]))
    reach = (1 + 2 * OVERHANG) * np.maximum(w * cos + h * sin, w * sin + h * cos) + 2
    return _grouped(values, block, reach, reach)


def line_group(values: Numbers, block: Numbers) -> Group:
    return _grouped(values, block, values[:, 4] - values[:, 2] + 2, values[:, 3] - values[:, 1] + 2)


def stroke_group(strokes: Sequence[tuple[int, Stroke]], height: int, width: int) -> Group:
    """Strokes walked along their longer axis, each step a short row of pixels across it."""
    block = np.array([k for k, _ in strokes], np.int64)
    ends = np.array([(*s.start, *s.end) for _, s in strokes], np.float64).reshape(-1, 4)
    thick = np.array([s.width for _, s in strokes], np.float64)
    upright = np.abs(ends[:, 3] - ends[:, 1]) >= np.abs(ends[:, 2] - ends[:, 0])
    ends[upright] = ends[upright][:, [1, 0, 3, 2]]
    backwards = ends[:, 0] > ends[:, 2]
    ends[backwards] = ends[backwards][:, [2, 3, 0, 1]]
    limit, beside = np.where(upright, height, width), np.where(upright, width, height)
    low, high = np.sort(ends[:, [1, 3]], axis=1).T
    shown = (ends[:, 2] + thick > 0) & (ends[:, 0] - thick < limit)
    shown &= (high + thick + STRAY > 0) & (low - thick - STRAY < beside)
    length = np.minimum(ends[:, 2], limit) - np.maximum(ends[:, 0], 0) + 2 * thick + 3
    values = np.column_stack([ends, thick, upright])
    # The row across an oblique stroke is up to 1.42 widths; the rest is room for a rule that wavers.
    return _grouped(values[shown], block[shown], length[shown], 1.42 * thick[shown] + 6)


def patch_group(polygons: Sequence[tuple[int, Sequence[tuple[float, float]]]]) -> Group:
    block = np.array([k for k, _ in polygons], np.int64)
    corners = max((len(points) for _, points in polygons), default=3)
    values = np.array(
        [[*points, *[points[-1]] * (corners - len(points))] for _, points in polygons], np.float64
    ).reshape(-1, corners, 2)
    w, h = (np.ptp(values[..., k], axis=1) + 3 if len(values) else np.zeros(0) for k in (0, 1))
    return _grouped(values, block, h, w)


def mark_group(marks: Sequence[tuple[int, Mark]]) -> Group:
    block = np.array([k for k, _ in marks], np.int64)
    values = np.array([(*m.centre, m.radius, m.shape == "ring") for _, m in marks], np.float64).reshape(-1, 4)
    reach = 2.6 * values[:, 2] + 3
    return _grouped(values, block, reach, reach)


def _grouped(values: Numbers, block: Numbers, rows: Numbers, columns: Numbers) -> Group:
    """Sorted into spans of equal patches; a thing larger than the largest patch is cut off."""
    high, wide = (SIDES[np.minimum(np.searchsorted(SIDES, s), len(SIDES) - 1)] for s in (rows, columns))
    shapes, which, counts = np.unique(
        np.column_stack([high, wide]), axis=0, return_inverse=True, return_counts=True
    )
    spans, part = _merged(shapes.tolist(), counts.tolist())
    order = np.argsort(np.array(part, np.int64)[which.reshape(-1)], kind="stable")
    return Group(
        torch.from_numpy(np.ascontiguousarray(values[order], np.float32)),
        torch.from_numpy(block[order].astype(np.int64)),
        spans,
    )


def _merged(shapes: list[list[int]], counts: list[int]) -> tuple[tuple[Span, ...], list[int]]:
    """Few spans instead of many: two become one while the pixels that this wastes cost less than starting
    another dozen kernels. Returns the spans, and for each shape the span it went to."""
    parts = [([k], rows, columns) for k, (rows, columns) in enumerate(shapes)]

    def pixels(part: tuple[list[int], int, int]) -> int:
        return sum(counts[k] for k in part[0]) * part[1] * part[2]

    def joined(a: tuple[list[int], int, int], b: tuple[list[int], int, int]) -> tuple[list[int], int, int]:
        return (a[0] + b[0], max(a[1], b[1]), max(a[2], b[2]))

    while len(parts) > 1:
        pairs = [(a, b) for k, a in enumerate(parts) for b in parts[:k]]
        waste, a, b = min(
            ((pixels(joined(a, b)) - pixels(a) - pixels(b), a, b) for a, b in pairs), key=lambda t: t[0]
        )
        if waste > WASTE:
            break
        parts = [part for part in parts if part is not a and part is not b] + [joined(a, b)]
    spans, where, start = [], [0] * len(shapes), 0
    for number, (members, rows, columns) in enumerate(parts):
        stop = start + sum(counts[k] for k in members)
        spans.append(Span(rows, columns, start, stop))
        start = stop
        for k in members:
            where[k] = number
    return tuple(spans), where


def _on_canvas(boxes: Numbers, height: int, width: int) -> NDArray[np.bool_]:
    x0, y0, x1, y1 = boxes.T
    inside: NDArray[np.bool_] = (x1 > x0) & (y1 > y0) & (x1 > 0) & (y1 > 0) & (x0 < width) & (y0 < height)
    return inside


def typical_height(boxes: Numbers, block: Numbers, blocks: int) -> tuple[float, ...]:
    height = boxes[:, 3] - boxes[:, 1]
    edges = np.searchsorted(block, np.arange(blocks + 1))
    parts = [height[a:b] for a, b in pairwise(edges)]
    return tuple(max(float(np.median(p)), MIN_EM) if len(p) else MIN_EM for p in parts)
