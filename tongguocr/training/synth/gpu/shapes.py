"""Strokes, polygons, rings and dots of a whole batch of blocks as coverage from 0 to 1, in torch operations.

A `Group` and a canvas (blocks x height x width) come in; the canvas is painted in place and keeps the larger
ink at each pixel. The formulas are those of the CPU painter, so that both paint the same composition.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tongguocr.training.synth.gpu.pack import Group, Span

CHUNK = 1 << 24
"""Pixels painted at once: more would only cost memory."""


def pieces(group: Group, limit: int = CHUNK) -> Iterator[tuple[Span, Tensor, Tensor]]:
    """The group's spans, cut so that none has over CHUNK pixels or `limit` things: span, values, blocks."""
    for span in group.spans:
        step = min(max(CHUNK // (span.rows * span.columns), 1), limit)
        for start in range(span.start, span.stop, step):
            part = slice(start, min(start + step, span.stop))
            yield span, group.values[part], group.block[part]


def stamp(canvas: Tensor, block: Tensor, rows: Tensor, columns: Tensor, ink: Tensor) -> None:
    """Keep the larger of canvas and ink (n x a x b) at pixels `rows`, `columns` (they broadcast to that)."""
    height, width = canvas.shape[-2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    place = (block[:, None, None] * height + rows.clamp(0, height - 1)) * width + columns.clamp(0, width - 1)
    ink = torch.where(inside, ink, torch.zeros((), dtype=ink.dtype, device=ink.device)).to(canvas.dtype)
    canvas.view(-1).scatter_reduce_(0, place.reshape(-1), ink.reshape(-1), "amax", include_self=True)


def patch_pixels(centre: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Row and column numbers (n x rows x 1, n x 1 x columns) of patches about these points (n x 2)."""
    left = (centre[:, 0] - columns / 2 + 0.5).floor().long()
    top = (centre[:, 1] - rows / 2 + 0.5).floor().long()
    across = left[:, None] + torch.arange(columns, device=centre.device)
    down = top[:, None] + torch.arange(rows, device=centre.device)
    return down[:, :, None], across[:, None, :]


def paint_strokes(canvas: Tensor, group: Group, waver: Tensor | None = None) -> None:
    """Straight strokes with smooth edges; `waver` (blocks): how far they wander, in pixels."""
    for span, values, block in pieces(group):
        a0, b0, a1, b1, width, upright = values.unbind(1)
        first = (a0 - width).clamp(min=0).floor().long()
        along = first[:, None] + torch.arange(span.rows, device=canvas.device)
        middle = b0[:, None] + (b1 - b0)[:, None] * _share(along, a0, a1)
        if waver is not None:
            middle = middle + _wander(along, values) * waver[block][:, None]
        start = (middle - span.columns / 2 + 0.5).floor().long()
        across = start[:, :, None] + torch.arange(span.columns, device=canvas.device)
        half = (width / 2 * torch.hypot(a1 - a0, b1 - b0) / (a1 - a0).clamp(min=1e-3))[:, None, None]
        nearer = half + 0.5 - (across + 0.5 - middle[:, :, None]).abs()
        level = torch.minimum(along + 1.0, a1[:, None]) - torch.maximum(along + 0.0, a0[:, None])
        ink = torch.minimum(nearer.clamp(0, 1), width[:, None, None]) * level.clamp(0, 1)[:, :, None]
        steep = (upright > 0.5)[:, None, None]
        rows = torch.where(steep, along[:, :, None], across)
        stamp(canvas, block, rows, torch.where(steep, across, along[:, :, None]), ink)


def _share(along: Tensor, a0: Tensor, a1: Tensor) -> Tensor:
    return ((along + 0.5 - a0[:, None]) / (a1 - a0).clamp(min=1e-3)[:, None]).clamp(0, 1)


def _wander(along: Tensor, values: Tensor) -> Tensor:
    """Slow waves along each stroke between -1 and 1, each with phases of its own."""
    phase = (values[:, 1] * 0.731 + values[:, 0] * 0.317)[:, None]
    slow, quick = torch.sin(along * 0.013 + phase), torch.sin(along * 0.057 + 2.3 * phase)
    return 0.65 * slow + 0.35 * quick


def paint_patches(canvas: Tensor, group: Group) -> None:
    """Filled polygons: inside by counting crossed edges, smooth by the distance to the nearest one."""
    for span, corners, block in pieces(group):
        low, high = corners.amin(1), corners.amax(1)
        rows, columns = patch_pixels((low + high) / 2, span.rows, span.columns)
        x, y = columns + 0.5, rows + 0.5
        crossed = torch.zeros_like(x + y, dtype=torch.bool)
        nearest = torch.full_like(x + y, 1e9)
        for k in range(corners.shape[1]):
            p, q = (corners[:, j % corners.shape[1], :, None, None] for j in (k, k + 1))
            (px, py), (qx, qy) = p.unbind(1), q.unbind(1)
            dx, dy = qx - px, qy - py
            t = (((x - px) * dx + (y - py) * dy) / (dx * dx + dy * dy).clamp(min=1e-9)).clamp(0, 1)
            away = torch.hypot(x - px - t * dx, y - py - t * dy)
            nearest = torch.minimum(nearest, away)
            beside = x < px + dx * (y - py) / torch.where(dy == 0, torch.ones_like(dy), dy)
            crossed = crossed ^ (((py > y) != (qy > y)) & beside)
        ink = torch.where(crossed, 0.5 + nearest, 0.5 - nearest).clamp(0, 1)
        stamp(canvas, block, rows, columns, ink)


def paint_marks(canvas: Tensor, group: Group) -> None:
    """Rings and dots."""
    for span, values, block in pieces(group):
        rows, columns = patch_pixels(values[:, :2], span.rows, span.columns)
        x, y, radius, ring = (v[:, None, None] for v in values.unbind(1))
        away = torch.hypot(columns + 0.5 - x, rows + 0.5 - y)
        ink = (radius + 0.5 - away).clamp(0, 1)
        hole = radius - (0.28 * radius).clamp(min=1)
        ink = torch.where(ring > 0.5, torch.minimum(ink, (away - hole + 0.5).clamp(0, 1)), ink)
        stamp(canvas, block, rows, columns, ink)
