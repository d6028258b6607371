"""Seals pressed on a batch of images on the device, each turned and scaled in its place.

`press_masks` presses seals that were cut on the host (synth/seals.py), for the detector: small ones, and a
library's as large as half of the window; whole, or torn to fragments and speckle as bitonal scans leave them.
`press_ink` makes them of what is there, for the recogniser's blocks: a border, and in it the ink of another
block. Where they go is drawn on the host, by `draw_places` and by `stack_degradations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.fields import smooth_noise
from tongguocr.training.synth.gpu.shapes import patch_pixels, stamp
from tongguocr.training.synth.seals import library_share

SIDES = (20.0, 190.0)
"""Pixels of the longer side of most seals on the detector's windows."""
STRENGTHS = (0.25, 0.72)
"""How much light such a seal takes: cinnabar is bright; what is as dark as print may be a title in a box."""
LARGE = (0.25, 0.5)
"""The longer side of a library's seal, in shares of the window's."""
LARGE_SHARE = 0.15
"""Share of the seals that are a library's."""
LARGE_STRENGTHS = (0.15, 1.0)
"""From faint to as dark as print: none of that size is a title."""
TORN_SHARE = 0.35
"""Share of the seals of which only fragments are left; they may be as dark as print."""
LOST = (0.3, 0.85)
"""How much of a torn seal is lost."""
TILE = 128
"""Seals are pressed in squares of so many pixels, so that small ones cost little beside large ones."""
LIBRARY_EMS = (3.5, 10.0)
"""The side of a library's seal on the recogniser's blocks, in characters of their text."""
LIBRARY_STRENGTHS = (0.2, 0.85)
COLUMNS = 13
"""Numbers of a place of `draw_places`."""


def _patches(
    places: Tensor, reach: int, shift: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Patches of pixels about seals (n x 4: x, y, side, turn), and where on the seal each pixel lies.

    `shift` (n x 2) moves the patch away from its seal's middle. Out: rows and columns of the pixels; across
    and down on the seal, -1 to 1 over its side, its turn undone.
    """
    x, y, side, turn = (v[:, None, None] for v in places.unbind(1))
    rows, columns = patch_pixels(places[:, :2] if shift is None else places[:, :2] + shift, reach, reach)
    across, down = columns + 0.5 - x, rows + 0.5 - y
    return rows, columns, (across - turn * down) * 2 / side, (down + turn * across) * 2 / side


def draw_places(windows: int, share: float, kinds: int, side: int, rng: np.random.Generator) -> Tensor:
    """Where masks are pressed, one to three on a `share` of the windows of this side.

    n x COLUMNS, one row for each tile of a seal: window, number of the mask (of so many kinds), x and y of
    the seal's middle, longer side, turn, strength, share lost (0: whole), size of the fragments, where their
    pattern is cut out (2), x and y of the tile's middle from the seal's.
    """
    rows = list[tuple[float, ...]]()
    for window in range(windows):
        for _ in range(int(rng.integers(1, 4)) if rng.random() < share else 0):
            x, y = rng.uniform(0, side, 2).tolist()
            seal = (window, *_draw_seal(kinds, (x, y), side, rng))
            rows += ((*seal, *tile) for tile in _tiles(x, y, seal[4], side))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, COLUMNS))


def _draw_seal(
    kinds: int, middle: tuple[float, float], side: int, rng: np.random.Generator
) -> tuple[float, ...]:
    """A seal about this point: number, x, y, longer side, turn, strength, and how it is torn (4)."""
    large, torn = rng.random() < LARGE_SHARE, rng.random() < TORN_SHARE
    first = kinds - max(library_share(kinds), 1) if large else 0
    low, high = (side * LARGE[0], side * LARGE[1]) if large else SIDES
    long = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    strength = rng.uniform(*(LARGE_STRENGTHS if large or torn else STRENGTHS))
    lost = rng.uniform(*LOST) if torn else 0.0
    grain = np.exp(rng.uniform(np.log(0.5), np.log(2.5)))
    return (
        int(rng.integers(first, kinds)),
        *middle,
        long,
        rng.normal(0, 0.05),
        strength,
        lost,
        grain,
        *rng.random(2),
    )


def _tiles(x: float, y: float, long: float, side: int) -> list[tuple[float, float]]:
    """The tiles that a seal takes, turned as it may be: those that meet the window."""
    each = ceil(1.1 * long / TILE)
    at = [(k - (each - 1) / 2) * TILE for k in range(each)]
    half = TILE / 2 + 1
    columns, rows = ([v for v in at if -half < v + middle < side + half] for middle in (x, y))
    return [(across, down) for across in columns for down in rows]


def press_masks(images: Tensor, masks: Tensor, places: Tensor) -> Tensor:
    """The images (n x 1 x height x width, 0 to 1) with seals of these masks in these places on them.

    What is printed below shows through: a full face, white on dark, is never quite black.
    """
    if not len(places):
        return images
    pressed = masks[places[:, 1].long()].float() / 255
    strength = places[:, 6, None, None] * (1 - 0.3 * pressed.mean((1, 2), keepdim=True))
    rows, columns, u, v = _patches(places[:, 2:6], TILE, places[:, 11:13])
    shown = F.grid_sample(pressed[:, None], torch.stack([u, v], -1), align_corners=False)[:, 0]
    red = torch.zeros_like(images[:, 0])
    stamp(red, places[:, 0].long(), rows, columns, shown * strength * _kept(places, rows, columns))
    return images * (1 - red[:, None])


def _kept(places: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """How much of the seal is left at these pixels: all of it, or what is above a level of the pattern."""
    x, y, lost, grain, right, down = (places[:, k, None, None] for k in (2, 3, 7, 8, 9, 10))
    blotches = _blotches(places.device)
    across = (columns - x) / grain / len(blotches) + right
    below = (rows - y) / grain / len(blotches) + down
    at = torch.stack([across.expand(-1, TILE, -1), below.expand(-1, -1, TILE)], -1)
    pattern = blotches.expand(len(places), 1, -1, -1)
    level = F.grid_sample(pattern, at * 2 - 1, padding_mode="reflection", align_corners=False)[:, 0]
    return torch.where(lost > 0, ((level - lost) * 6 + 0.5).clamp(0, 1), torch.ones_like(level))


@cache
def _blotches(device: torch.device, side: int = 512) -> Tensor:
    """A pattern of blotches of all sizes down to specks, evenly spread from 0 to 1: side x side."""
    rng = np.random.default_rng(8)
    scales = ((1.0, 0.6), (2.5, 0.8), (7.0, 0.7), (25.0, 0.6), (90.0, 0.6))
    total = sum(weight * smooth_noise(rng, (side, side), scale) for scale, weight in scales)
    ranks = np.argsort(np.argsort(np.asarray(total).ravel())).astype(np.float32)
    return torch.from_numpy(ranks.reshape(side, side) / ranks.size).to(device)


def draw_ink_seals(
    degradations: Sequence[Degradation],
    ems: Sequence[float],
    extent: tuple[int, int],
    rng: np.random.Generator,
) -> Tensor:
    """Seals of blocks on canvases of this width and height, at most one small and one large a block: a page's
    three are seldom in one place.

    n x 10: block, x, y, side, turn, oval, intaglio, which character it shows (0 to 1), strength, and by how
    much what it shows is enlarged.
    """
    rows = list[tuple[float, ...]]()
    for k, (degradation, em) in enumerate(zip(degradations, ems, strict=True)):
        if degradation.seals:
            oval = rng.random() < 0.25
            intaglio = not oval and rng.random() < 0.45
            chance, turn = rng.random(), float(rng.normal(0, 0.05))
            x, y = rng.uniform(0.1, 0.9, 2) * extent
            side = float(np.clip(em * rng.uniform(1.3, 3.2), 16, 0.45 * min(extent)))
            rows.append((k, x, y, side, turn, oval, intaglio, chance, rng.uniform(0.45, 0.85), 1.0))
        if degradation.large_seals:
            rows.append((k, *_large_ink_seal(em, extent, rng)))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 10))


def _large_ink_seal(em: float, extent: tuple[int, int], rng: np.random.Generator) -> tuple[float, ...]:
    """A library's seal, without the block's number: two to four characters across, in red, black or faint."""
    oval, intaglio = rng.random() < 0.15, rng.random() < 0.4
    chance, turn = rng.random(), float(rng.normal(0, 0.04))
    x, y = rng.uniform(0.1, 0.9, 2) * extent
    side = float(np.clip(em * np.exp(rng.uniform(*np.log(LIBRARY_EMS))), 24, max(extent)))
    zoom = max(side / em / rng.uniform(2.0, 4.0), 1.0)
    return x, y, side, turn, oval, intaglio, chance, rng.uniform(*LIBRARY_STRENGTHS), zoom


def press_ink(red: Tensor, seals: Tensor, density: Tensor, middles: Tensor, of_block: Tensor) -> Tensor:
    """Red ink (blocks x height x width) with these seals: characters of some block, in red or left white.

    `density` is the blocks' printed ink, `middles` (n x 2) where their characters are, `of_block` (n) whose.
    """
    red, (height, width) = red.clone(), red.shape[-2:]
    x, y, side, _, oval, intaglio, _, strength, zoom = (v[:, None, None] for v in seals[:, 1:].unbind(1))
    reach = min(ceil(1.1 * float(seals[:, 3].max())), 2 * max(height, width))
    rows, columns, u, v = _patches(seals[:, 1:5], reach)
    away = torch.where(oval > 0.5, torch.hypot(u / 0.7, v), torch.maximum(u.abs(), v.abs()))
    inside = ((1 - away) * side / 2 + 0.5).clamp(0, 1)
    border = torch.minimum(inside, ((away - 0.86) * side / 2 + 0.5).clamp(0, 1))
    glyph = (seals[:, 7] * len(middles)).long().clamp(max=len(middles) - 1)
    from_x, from_y = (middles[glyph, k].long()[:, None, None] for k in (0, 1))
    shown_rows = (((rows - y.floor()) / zoom).floor().long() + from_y).clamp(0, height - 1)
    shown_columns = (((columns - x.floor()) / zoom).floor().long() + from_x).clamp(0, width - 1)
    place = (of_block[glyph][:, None, None] * height + shown_rows) * width + shown_columns
    shown = density.reshape(-1)[place].float() * (away < 0.8)
    pressed = torch.where(intaglio > 0.5, inside * (1 - shown), torch.maximum(border, shown * inside))
    stamp(red, seals[:, 0].long(), rows, columns, pressed * strength)
    return red
