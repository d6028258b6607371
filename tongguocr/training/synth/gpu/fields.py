"""Smooth noise, blur, resampling and JPEG for a batch of blocks, all as matrix products.

A GPU multiplies matrices far faster than it moves pixels. Enlarging, blurring and the cosine transform work
on rows and columns apart, so each is a matrix from the left and one from the right, and every block of a
batch can have its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import pi

import torch
from torch import Tensor

# The standard's example tables (ITU-T T.81, annex K), for quality 50.
_LUMA = """16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62
18 22 37 56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99"""
_CHROMA = """17 18 24 47 99 99 99 99 18 21 26 66 99 99 99 99 24 26 56 99 99 99 99 99 47 66 99 99 99 99 99 99
99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99"""


def working_type(device: torch.device) -> torch.dtype:
    """Half precision where the hardware is quick at it."""
    return torch.float16 if device.type == "cuda" else torch.float32


def cubic_weights(apart: Tensor) -> Tensor:
    """What samples so far away count in cubic interpolation."""
    inner, outer = 1.5 * apart**3 - 2.5 * apart**2 + 1, -0.5 * apart**3 + 2.5 * apart**2 - 4 * apart + 2
    return torch.where(apart < 1, inner, torch.where(apart < 2, outer, torch.zeros_like(apart)))


@cache
def enlarging(size: int, small: int, cubic: bool, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The matrix (size x small) that interpolates `small` samples to `size` pixels."""
    at = (torch.arange(size, device=device, dtype=torch.float32) + 0.5) * (small / size) - 0.5
    apart = (at[:, None] - torch.arange(small, device=device)).abs()
    near = (1 - apart).clamp(min=0)
    if cubic:
        near = cubic_weights(apart)
    # Rows at the border have lost a neighbour: the others make up for it.
    return (near / near.sum(1, keepdim=True)).to(dtype)


def enlarge(small: Tensor, height: int, width: int, cubic: bool = True) -> Tensor:
    """Interpolate the last two dimensions to height x width."""
    rows, columns = (
        enlarging(size, int(n), cubic, small.device, small.dtype)
        for size, n in zip((height, width), small.shape[-2:], strict=True)
    )
    return rows @ small @ columns.T


def smooth_noise(
    blocks: int, height: int, width: int, scale: float | tuple[float, float], generator: torch.Generator
) -> Tensor:
    """Normal noise with bumps about `scale` pixels across, or (high, wide): blocks x height x width."""
    high, wide = scale if isinstance(scale, tuple) else (scale, scale)
    shape = (blocks, max(round(height / high), 2), max(round(width / wide), 2))
    dtype = working_type(generator.device)
    small = torch.randn(shape, generator=generator, device=generator.device, dtype=dtype)
    return enlarge(small, height, width, cubic=min(high, wide) > 6)


def step(values: Tensor, low: Tensor | float, high: Tensor | float) -> Tensor:
    """0 below `low`, 1 above `high`, straight between."""
    return ((values - low) / (high - low)).clamp(0, 1)


def blurring(sigma: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Matrices (n x size x size) that blur by a Gaussian of each `sigma` (n) in pixels."""
    at = torch.arange(size, device=sigma.device, dtype=torch.float32)
    apart = at[:, None] - at[None, :]
    weights = torch.exp(-(apart**2) / (2 * sigma.clamp(min=0.05) ** 2)[:, None, None])
    return (weights / weights.sum(2, keepdim=True)).to(dtype)


def coarsening(share: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Matrices that shrink by each `share` (n, at most 1) by averaging and enlarge again."""
    at = torch.arange(size, device=share.device, dtype=torch.float32)
    f = share[:, None, None]
    count = (size * f).round()
    f = count / size
    cells = ((at[None, :, None] + 0.5) / f - at[None, None, :] - 0.5).abs()
    down = ((1 / f + 1) / 2 - cells).clamp(0, 1) * (at[None, :, None] < count)
    up = (1 - ((at[None, :, None] + 0.5) * f - 0.5 - at[None, None, :]).abs()).clamp(min=0)
    up = up * (at[None, None, :] < count)
    down = down / down.sum(2, keepdim=True).clamp(min=1e-3)
    return (up / up.sum(2, keepdim=True).clamp(min=1e-3)).to(dtype) @ down.to(dtype)


def along_axes(make: Callable[[int], Tensor], height: int, width: int) -> tuple[Tensor, Tensor]:
    """What `make` gives for each side of a canvas; on a square it is asked once."""
    down = make(height)
    return down, down if width == height else make(width)


def both_ways(down: Tensor, across: Tensor, image: Tensor) -> Tensor:
    """Apply n x height x height and n x width x width matrices to n (x channels) x height x width images."""
    if image.dim() == 4:
        down, across = down[:, None], across[:, None]
    return down @ image @ across.transpose(-1, -2)


def blur(image: Tensor, sigma: Tensor) -> Tensor:
    """Each block blurred by its `sigma` (n) in pixels."""
    height, width = image.shape[-2:]
    return both_ways(*along_axes(lambda size: blurring(sigma, size, image.dtype), height, width), image)


@cache
def _cosines(size: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The cosine transform of 8-pixel pieces as one size x size matrix."""
    k, n = torch.arange(8)[:, None], torch.arange(8)[None, :]
    eight = torch.cos(pi * (2 * n + 1) * k / 16) * 0.5
    eight[0] /= 2**0.5
    return torch.kron(torch.eye(size // 8), eight).to(device, dtype)


@cache
def _quanta(height: int, width: int, channels: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    tables = [torch.tensor([float(v) for v in t.split()]).view(8, 8) for t in (_LUMA, _CHROMA, _CHROMA)]
    return torch.stack([t.repeat(height // 8, width // 8) / 255 for t in tables[:channels]]).to(device, dtype)


def jpeg(image: Tensor, coarseness: Tensor) -> Tensor:
    """What JPEG loses: the cosine coefficients of 8 x 8 pixels rounded to multiples of its table.

    `image` is blocks x channels x height x width from 0 to 1, luma and two chromas or luma alone, its sides
    multiples of 8; `coarseness` (blocks) scales the table: 1 at quality 50, 0 for none.
    """
    channels, height, width = image.shape[1:]
    if height % 8 or width % 8:
        raise ValueError(f"JPEG needs sides of a multiple of 8 pixels, not {height} x {width}")
    down, across = (_cosines(side, image.device, image.dtype) for side in (height, width))
    quanta = _quanta(height, width, channels, image.device, image.dtype)
    quanta = (quanta * coarseness[:, None, None, None].to(image.dtype)).clamp(min=1e-3)
    coefficients = down @ (image - 0.5) @ across.T
    return down.T @ ((coefficients / quanta).round() * quanta) @ across + 0.5


def coarseness_of(quality: int) -> float:
    """The usual scale of the tables at a quality from 1 to 100; 0 means none."""
    if quality <= 0:
        return 0.0
    return (5000 / quality if quality < 50 else 200 - 2 * quality) / 100
