"""Real lines on a device: their ink, pasted onto blocks, and for training swayed.

In: line images, and groups of places for them or for pieces of them. Out: their ink on a canvas. The same few
lines are seen a hundred times in a training run; swayed, each time a little differently, they are strokes to
be read and not pictures to be remembered. Places move by a few hundredths of a character at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import tau

import numpy as np
import torch
from torch import Tensor

from tongguocr.training.synth.gpu.pack import Group
from tongguocr.training.synth.gpu.shapes import pieces, stamp
from tongguocr.training.synth.real_ink import Lines

WHOLE, PIECE, WAVES = 5, 7, 9
"""Numbers of a line's place, of a piece's, and of its sway behind them."""
SWAY = (0.05, 0.07, 0.05)
"""How far ink may sway, in widths of its line: to the sides, changing along the line; up and down, changing
across it; and along it, so that some of a character is taller and some less."""
SWAY_OFTEN = (0.35, 1.1)
"""Waves in one width of the line: fewest and most."""
_SALT = 0x51A7
"""Sway, forms and degradation start from one seed, and must not draw the same numbers."""


def sway_lines(group: Group, strength: float, seed: int) -> Group:
    """Give every line or piece of the group three waves; the same seed gives the same ones."""
    values = group.values
    generator = torch.Generator(values.device).manual_seed(seed ^ _SALT)
    drawn = torch.rand(3, len(values), 3, generator=generator, device=values.device)
    most = values.new_tensor(SWAY) * strength
    low, high = SWAY_OFTEN
    waves = torch.cat([drawn[0] * most, low + drawn[1] * (high - low), drawn[2]], 1)
    if values.shape[1] == WHOLE:
        # A whole line shows all of its rows; it is told so when it is painted.
        values = torch.cat([values, torch.full_like(values[:, :2], -1)], 1)
    return replace(group, values=torch.cat([values, waves], 1))


@dataclass(frozen=True, slots=True)
class LineStore:
    """All lines' ink on a device."""

    ink: Tensor
    starts: Tensor
    sizes: Tensor

    @staticmethod
    def load(lines: Lines, device: torch.device | str) -> LineStore:
        arrays = (lines.ink, lines.starts, lines.sizes.astype(np.int64))
        return LineStore(*(torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in arrays))

    def paint(self, canvas: Tensor, group: Group) -> None:
        """Paste the group's lines, or the rows of them that it names, each scaled to its box."""
        for span, values, block in pieces(group):
            number = values[:, 0].long()
            x0, y0, x1, y1 = (v[:, None, None] for v in values[:, 1:5].unbind(1))
            left, top = x0.floor().long(), y0.floor().long()
            columns = left + torch.arange(span.columns, device=canvas.device)
            rows = top + torch.arange(span.rows, device=canvas.device)[:, None]
            width, height = (self.sizes[number, k][:, None, None] for k in (0, 1))
            first, last = (v[:, None, None] for v in self._shown(values))
            u = (columns + 0.5 - x0) / (x1 - x0) * width - 0.5
            v = (rows + 0.5 - y0) / (y1 - y0) * (last - first) + first - 0.5
            inside = (u > -0.5) & (u < width - 0.5) & (v > first - 0.5) & (v < last - 0.5)
            if values.shape[1] > PIECE:
                u, v = _swayed(u, v, values[:, PIECE:], width)
                # A piece has a neighbour beyond its cut, whose ink is not its own.
                u, v = u.clamp(min=0).minimum(width - 1.0), v.maximum(first).minimum(last - 1)
            ink = self._between(number, u, v, width, height) * inside
            stamp(canvas, block, rows, columns, ink)

    def _shown(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The first and the last row that each box shows: all, unless they are named."""
        height = self.sizes[values[:, 0].long(), 1].to(values.dtype)
        if values.shape[1] == WHOLE:
            return torch.zeros_like(height), height
        first, last = values[:, 5], values[:, 6]
        return first.clamp(min=0), torch.where(last < 0, height, last)

    def _between(self, number: Tensor, u: Tensor, v: Tensor, width: Tensor, height: Tensor) -> Tensor:
        """Bilinear samples of the lines' ink, 0 to 1."""
        start = self.starts[number][:, None, None]
        u, v = u.clamp(min=0), v.clamp(min=0)
        across, down = u.floor(), v.floor()
        near_x = torch.minimum(across.long(), width - 1)
        near_y = torch.minimum(down.long(), height - 1)
        far_x, far_y = torch.minimum(near_x + 1, width - 1), torch.minimum(near_y + 1, height - 1)
        upper = torch.lerp(
            self._at(start + near_y * width + near_x), self._at(start + near_y * width + far_x), u - across
        )
        lower = torch.lerp(
            self._at(start + far_y * width + near_x), self._at(start + far_y * width + far_x), u - across
        )
        return torch.lerp(upper, lower, v - down) / 255

    def _at(self, places: Tensor) -> Tensor:
        return self.ink[places].float()


def _swayed(u: Tensor, v: Tensor, waves: Tensor, width: Tensor) -> tuple[Tensor, Tensor]:
    """Which points of a line's image are seen at points `u`, `v` of it, in its pixels."""
    much, often, start = (part[:, :, None, None].unbind(1) for part in waves.reshape(-1, 3, 3).unbind(1))
    across, along = u / width, v / width
    aside = much[0] * torch.sin(tau * (often[0] * along + start[0]))
    up = much[1] * torch.sin(tau * (often[1] * across + start[1]))
    stretch = much[2] * torch.sin(tau * (often[2] * along + start[2]))
    return u + aside * width, v + (up + stretch) * width
