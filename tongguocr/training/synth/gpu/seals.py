"""Seals pressed on a batch of images on the device, each turned and scaled in its place.

`press_masks` presses seals that were cut on the host (synth/seals.py), for the detector. `press_ink` makes
them of what is there, for the recogniser's blocks: a border, and in it the ink of another block. Where they
go is drawn on the host, by `draw_places` and by `stack_degradations`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.shapes import patch_pixels, stamp

SIDES = (20.0, 190.0)
"""Pixels of the longer side of a seal on the detector's windows."""
STRENGTHS = (0.25, 0.72)
"""How much light such a seal takes: cinnabar is bright; what is as dark as print may be a title in a box."""


def _patches(places: Tensor, reach: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Patches of pixels about seals (n x 4: x, y, side, turn), and where on the seal each pixel lies.

    Out: rows and columns of the pixels; across and down on the seal, -1 to 1 over its side, its turn undone.
    """
    x, y, side, turn = (v[:, None, None] for v in places.unbind(1))
    rows, columns = patch_pixels(places[:, :2], reach, reach)
    across, down = columns + 0.5 - x, rows + 0.5 - y
    return rows, columns, (across - turn * down) * 2 / side, (down + turn * across) * 2 / side


def draw_places(windows: int, share: float, kinds: int, side: int, rng: np.random.Generator) -> Tensor:
    """Where masks are pressed, one to three on a `share` of the windows of this side.

    n x 7: window, number of the mask (of so many kinds), x and y of its middle, longer side, turn, strength.
    """
    rows = []
    for window in range(windows):
        for _ in range(int(rng.integers(1, 4)) if rng.random() < share else 0):
            long = float(np.exp(rng.uniform(*np.log(SIDES))))
            x, y = rng.uniform(0, side, 2)
            turn, strength = float(rng.normal(0, 0.05)), float(rng.uniform(*STRENGTHS))
            rows.append((window, int(rng.integers(kinds)), x, y, long, turn, strength))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 7))


def press_masks(images: Tensor, masks: Tensor, places: Tensor) -> Tensor:
    """The images (n x 1 x height x width, 0 to 1) with seals of these masks in these places on them."""
    if not len(places):
        return images
    number, strength = places[:, 1].long(), places[:, 6, None, None]
    rows, columns, u, v = _patches(places[:, 2:6], int(1.1 * SIDES[1]))
    grid = torch.stack([u, v], -1)
    shown = F.grid_sample(masks[number][:, None].float() / 255, grid, align_corners=False)[:, 0]
    red = torch.zeros_like(images[:, 0])
    stamp(red, places[:, 0].long(), rows, columns, shown * strength)
    return images * (1 - red[:, None])


def draw_ink_seals(
    degradations: Sequence[Degradation],
    ems: Sequence[float],
    extent: tuple[int, int],
    rng: np.random.Generator,
) -> Tensor:
    """Seals of blocks on canvases of this width and height, at most one a block: a page's three are seldom in
    one place.

    n x 9: block, x, y, side, turn, oval, intaglio, which character it shows (0 to 1), strength.
    """
    rows = []
    for k, (degradation, em) in enumerate(zip(degradations, ems, strict=True)):
        if degradation.seals:
            oval = rng.random() < 0.25
            intaglio = not oval and rng.random() < 0.45
            chance, turn = rng.random(), float(rng.normal(0, 0.05))
            x, y = rng.uniform(0.1, 0.9, 2) * extent
            side = float(np.clip(em * rng.uniform(1.3, 3.2), 16, 0.45 * min(extent)))
            rows.append((k, x, y, side, turn, oval, intaglio, chance, rng.uniform(0.45, 0.85)))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 9))


def press_ink(red: Tensor, seals: Tensor, density: Tensor, middles: Tensor, of_block: Tensor) -> Tensor:
    """Red ink (blocks x height x width) with these seals: characters of some block, in red or left white.

    `density` is the blocks' printed ink, `middles` (n x 2) where their characters are, `of_block` (n) whose.
    """
    red, (height, width) = red.clone(), red.shape[-2:]
    x, y, _, _, oval, intaglio, _, strength = (v[:, None, None] for v in seals[:, 1:].unbind(1))
    side = seals[:, 3, None, None]
    rows, columns, u, v = _patches(seals[:, 1:5], min(height, width) // 2)
    away = torch.where(oval > 0.5, torch.hypot(u / 0.7, v), torch.maximum(u.abs(), v.abs()))
    inside = ((1 - away) * side / 2 + 0.5).clamp(0, 1)
    border = torch.minimum(inside, ((away - 0.86) * side / 2 + 0.5).clamp(0, 1))
    glyph = (seals[:, 7] * len(middles)).long().clamp(max=len(middles) - 1)
    from_x, from_y = (middles[glyph, k].long()[:, None, None] for k in (0, 1))
    shown_rows = (rows - y.long() + from_y).clamp(0, height - 1)
    shown_columns = (columns - x.long() + from_x).clamp(0, width - 1)
    place = (of_block[glyph][:, None, None] * height + shown_rows) * width + shown_columns
    shown = density.reshape(-1)[place].float() * (away < 0.8)
    pressed = torch.where(intaglio > 0.5, inside * (1 - shown), torch.maximum(border, shown * inside))
    stamp(red, seals[:, 0].long(), rows, columns, pressed * strength)
    return red
