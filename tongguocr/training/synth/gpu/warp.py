"""The camera's geometry for a batch of blocks: the formulas of `warp.Warp`, one set of numbers a block.

A batch's degradation comes in; out go the ink seen through the lens and the places where points of the flat
blocks land. The bend is smooth, so it is worked out on a coarse grid and interpolated.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.synth.gpu.degradation import DegradationBatch
from tongguocr.training.synth.gpu.fields import enlarging
from tongguocr.training.synth.warp import GUTTER, STRIP

KNOTS = 64
"""Points of the coarse grid each way."""
ROUNDS = 8
"""A turn of three degrees shrinks the miss twentyfold a round."""

_NAMES = (
    "rotation", "tilt_x", "tilt_y", "curl", "waver", "phase0", "phase1", "phase2", "phase3",
)  # fmt: skip


def source(points: Tensor, numbers: Tensor, height: int, width: int) -> Tensor:
    """Where on the flat block output points (n ... x 2) are read; `numbers` (9 x n ...) are the warps'."""
    rotation, tilt_x, tilt_y, curl, waver, *phases = numbers.unbind(0)
    half_x, half_y = width / 2, height / 2
    x, y = points[..., 0] - half_x, points[..., 1] - half_y
    cos, sin = torch.cos(rotation), torch.sin(rotation)
    x, y = x * cos - y * sin, x * sin + y * cos
    depth = (1 + tilt_x * x / half_x + tilt_y * y / half_y).clamp(min=0.1)
    x, y = x / depth, y / depth
    u, v = x / half_x, y / half_y
    dx = waver * (torch.sin(2.3 * v + phases[0]) + 0.5 * torch.sin(5.1 * v + 1.7 * u + phases[1])) / 1.5
    dy = waver * (torch.sin(2.9 * u + phases[2]) + 0.5 * torch.sin(4.7 * u - 2.2 * v + phases[3])) / 1.5
    side = torch.sign(curl)
    rise = torch.exp(-(1 - side * u).clamp(-0.5, 2.0) / 2 / GUTTER) * curl.abs()
    x, y = x + dx + side * rise * min(height, STRIP * width) * 0.35, y + dy - rise * height * (0.6 * v - 0.4)
    return torch.stack([x + half_x, y + half_y], -1)


def target(
    points: Tensor, of_block: Tensor, degradation: DegradationBatch, height: int, width: int
) -> Tensor:
    """Where points (n x 2) of the flat blocks land on the output."""
    numbers = _numbers(degradation)[:, of_block]
    guess = points
    for _ in range(ROUNDS):
        guess = guess + points - source(guess, numbers, height, width)
    return guess


def source_points(points: Tensor, degradation: DegradationBatch, height: int, width: int) -> Tensor:
    """Which points of the flat blocks are seen at these of the output (blocks x rows x columns x 2)."""
    return source(points, _numbers(degradation)[:, :, None, None], height, width)


def warp_layers(layers: Tensor, degradation: DegradationBatch) -> Tensor:
    """Layers (blocks x k x height x width) as the camera sees them."""
    blocks, _, height, width = layers.shape
    device = layers.device
    x, y = _grid(KNOTS, KNOTS, device).unbind(-1)
    points = torch.stack([x * width, y * height], -1).expand(blocks, -1, -1, -1)
    shift = source_points(points, degradation, height, width) - points
    # The sampler counts both sides of the canvas from -1 to 1.
    shift = torch.stack([shift[..., 0] * (2 / width), shift[..., 1] * (2 / height)], 1)
    bent = (_spline(height, device) @ shift @ _spline(width, device).T).movedim(1, -1)
    grid = bent + (_grid(height, width, device) * 2 - 1)
    return F.grid_sample(layers.float(), grid, align_corners=False)


def _grid(rows: int, columns: int, device: torch.device) -> Tensor:
    """The middles of a canvas's cells (rows x columns x 2), x and y as shares of its sides."""
    down, across = ((torch.arange(n, device=device) + 0.5) / n for n in (rows, columns))
    return torch.stack(torch.meshgrid(across, down, indexing="xy"), -1)


@cache
def _spline(size: int, device: torch.device) -> Tensor:
    """Cubic interpolation from the knots; beyond the outermost knots the bend goes on straight."""
    matrix = enlarging(size, KNOTS, False, device, torch.float32).clone()
    cubic = enlarging(size, KNOTS, True, device, torch.float32)
    at = (torch.arange(size, device=device) + 0.5) * (KNOTS / size) - 0.5
    inner = ((at >= 1) & (at <= KNOTS - 2))[:, None]
    matrix = torch.where(inner, cubic, matrix)
    low, high = at < 0, at > KNOTS - 1
    matrix[:, 0] = torch.where(low, 1 - at, matrix[:, 0])
    matrix[:, 1] = torch.where(low, at, matrix[:, 1])
    over = at - (KNOTS - 1)
    matrix[:, -1] = torch.where(high, 1 + over, matrix[:, -1])
    matrix[:, -2] = torch.where(high, -over, matrix[:, -2])
    return matrix


def _numbers(degradation: DegradationBatch) -> Tensor:
    return torch.stack([degradation.flat(name) for name in _NAMES])
