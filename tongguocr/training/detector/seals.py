"""Owners' seals, which are no text: masks made once, and their red ink on painted windows and real pages.

A seal has one to nine characters of any face in a border, printed or left white, and is square, tall or oval.
`make_seals` draws them on the host as tables are drawn (pictures.py); `press_seals` darkens images on the
device. The renderer's own seals (synth/gpu/degradation.py) show whatever text is near: enough for a
recogniser that reads on beneath them, too little for a detector that must leave them alone.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image, ImageDraw
from torch import Tensor

from tongguocr.page import Pixels
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.fields import smooth_noise
from tongguocr.training.synth.gpu.shapes import patch_pixels, stamp

SIDE = 96
"""Pixels of a mask."""
SIDES = (20.0, 190.0)
"""Pixels of a seal's longer side on a window."""
STRENGTHS = (0.25, 0.72)
"""How much light the ink takes: cinnabar is bright, and what is as dark as print may be a title in a box."""
GRIDS = ((1, 1), (2, 1), (2, 1), (3, 1), (4, 1), (2, 2), (2, 2), (3, 2), (4, 2), (3, 3), (1, 2))
"""Rows and columns of characters, those that are seen most several times."""


def make_seals(count: int, seed: int, atlas: Atlas) -> Pixels:
    """count x SIDE x SIDE: how much red ink each seal has where, a tall one with nothing at its sides."""
    rng = np.random.default_rng([seed, 6])
    return np.stack([_seal(atlas, rng) for _ in range(count)])


def _seal(atlas: Atlas, rng: np.random.Generator) -> Pixels:
    rows, columns = GRIDS[int(rng.integers(len(GRIDS)))]
    # Characters are as wide as high, give or take a quarter.
    shape = columns / rows * float(rng.uniform(0.8, 1.25))
    wide, high = (SIDE * min(shape, 1.0), SIDE / max(shape, 1.0))
    oval = rng.random() < (0.3 if columns == 1 and rows > 1 else 0.06)
    intaglio = rng.random() < 0.4
    mask = Image.new("L", (SIDE, SIDE))
    draw = ImageDraw.Draw(mask)
    left, top = (SIDE - wide) / 2, (SIDE - high) / 2
    outline = draw.ellipse if oval else draw.rectangle
    rim = round(SIDE * float(rng.uniform(0.012, 0.075)))
    place = (left, top, left + wide - 1, top + high - 1)
    outline(place, fill=255 if intaglio else 0, outline=255, width=max(rim, 1))
    if not intaglio and min(wide, high) > 8 * rim and rng.random() < 0.2:
        inner = (place[0] + 2 * rim, place[1] + 2 * rim, place[2] - 2 * rim, place[3] - 2 * rim)
        outline(inner, outline=255, width=1)
    inset = rim + SIDE * float(rng.uniform(0.0, 0.05)) + (0.1 * min(wide, high) if oval else 0.0)
    across, down = (wide - 2 * inset) / columns, (high - 2 * inset) / rows
    for k in range(rows * columns):
        glyph = Image.fromarray(any_glyph(atlas, rng)).resize((max(round(across), 3), max(round(down), 3)))
        at = (round(left + inset + across * (k // rows)), round(top + inset + down * (k % rows)))
        mask.paste(0 if intaglio else 255, at, glyph)
    return _blotched(np.asarray(mask), rng)


def _blotched(mask: Pixels, rng: np.random.Generator) -> Pixels:
    """The same, pressed unevenly."""
    uneven = 1 + 0.25 * smooth_noise(rng, (SIDE, SIDE), 12.0) + 0.15 * smooth_noise(rng, (SIDE, SIDE), 1.5)
    return (mask * np.clip(uneven, 0.1, 1.0)).astype(np.uint8)


def any_glyph(atlas: Atlas, rng: np.random.Generator) -> Pixels:
    """A character of the atlas, white on black."""
    return atlas.mask_of(int(rng.integers(len(atlas.bits)))) * np.uint8(255)


def draw_places(windows: int, share: float, kinds: int, side: int, rng: np.random.Generator) -> Tensor:
    """n x 7: window, number of the seal, x and y of its middle, longer side, turn, strength."""
    rows = []
    for window in range(windows):
        for _ in range(int(rng.integers(1, 4)) if rng.random() < share else 0):
            long = float(np.exp(rng.uniform(*np.log(SIDES))))
            x, y = rng.uniform(0, side, 2)
            turn, strength = float(rng.normal(0, 0.05)), float(rng.uniform(*STRENGTHS))
            rows.append((window, int(rng.integers(kinds)), x, y, long, turn, strength))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 7))


def press_seals(images: Tensor, masks: Tensor, places: Tensor) -> Tensor:
    """The images (n x 1 x height x width, 0 to 1) with these seals on them."""
    if not len(places):
        return images
    window, number, _, _, side, turn, strength = (v[:, None, None] for v in places.unbind(1))
    reach = int(1.1 * SIDES[1])
    rows, columns = patch_pixels(places[:, 2:4], reach, reach)
    across, down = columns + 0.5 - places[:, 2, None, None], rows + 0.5 - places[:, 3, None, None]
    grid = torch.stack([across - turn * down, down + turn * across], -1) * 2 / side[..., None]
    shown = F.grid_sample(masks[number.flatten().long()][:, None].float() / 255, grid, align_corners=False)
    red = torch.zeros_like(images[:, 0])
    stamp(red, window.flatten().long(), rows, columns, shown[:, 0] * strength)
    return images * (1 - red[:, None])
