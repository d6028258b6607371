"""Forms: no two knives cut a character alike, and an outline font cuts it alike for ever.

In: groups of glyphs. Out: the same groups with each glyph's form behind its place, and what the painter of
glyphs does with it: bend, slant, stretch, other weights of upright and of lying strokes, strokes cut askew. A
block has a style, from which each of its glyphs strays. Ink keeps its middle, so places stay what they are.
For training only: it is off unless a strength is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import radians

import torch
from torch import Tensor

from tongguocr.training.synth.gpu.fields import cubic_weights
from tongguocr.training.synth.gpu.pack import Group

KNOTS = 4
"""A bend is given by so many points each way over the em box."""
PLACED = 6
"""Numbers of a glyph before those of its form."""
WIDEST_GAP = 4
"""Gaps and hairlines of so many bits of an atlas cell, or fewer, outlast a change of weight."""
HELD = 0.8
"""How much of them does, at the greatest change."""
# How far forms may go, in em unless it says otherwise. A block draws its own share of each.
BEND = 0.07
TURN = 3.0
"""Degrees."""
SHEAR = 0.07
STRETCH = 0.1
"""Wider or narrower, higher or lower, as a share."""
SLANT = 0.06
"""Shear of a whole block: leaning stems, and lying strokes that rise or fall."""
ASPECT = 0.08
"""Width over height of a whole block's glyphs, as a share."""
THINNER, THICKER = 0.015, 0.045
"""What a stroke loses or gains across."""
CUT = 0.25
"""Share of blocks whose strokes are cut askew, by the oblique edge of a knife of up to `NIB`."""
NIB = 0.05
_SALT = 0x0F0F
"""Forms and degradation start from one seed, and must not draw the same numbers."""


@dataclass(frozen=True, slots=True)
class Form:
    """The forms of n glyphs."""

    matrix: Tensor
    """n x 2 x 2: what becomes of a glyph about the middle of its ink."""
    bend: Tensor
    """n x 2 x KNOTS x KNOTS: shift in x and y, in em."""
    weight: Tensor
    """n x 2: what strokes gain across x and across y, in em."""
    nib: Tensor
    """n: length of the oblique edge, in em; negative if it falls to the left."""
    middle: Tensor
    """n x 2: the middle of the ink, in em from the middle of the box."""


def shape_glyphs(groups: Sequence[Group], blocks: int, strength: float, seed: int) -> list[Group]:
    """Give every glyph of these groups a form; the same seed gives the same forms."""
    device = groups[0].values.device
    generator = torch.Generator(device).manual_seed(seed ^ _SALT)

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=device) * 2 - 1

    style = _styles(draw(blocks, 2 * KNOTS**2), draw(blocks, 8)) * strength
    return [
        replace(group, values=torch.cat([group.values, _drawn(style[group.block], draw)], 1))
        for group in groups
    ]


def _styles(bend: Tensor, numbers: Tensor) -> Tensor:
    """blocks x ...: slant and rise, aspect, two weights, nib, how lively, how bent, and the common bend."""
    slant, rise, aspect, upright, lying, nib, lively, bent = numbers.unbind(1)
    lively, bent = (lively + 1) / 2, (bent + 1) / 2 * BEND
    # The share that is cut askew is the outermost part of the nib's range.
    length = ((nib.abs() - 1 + CUT) / CUT).clamp(min=0).sqrt() * NIB
    middle, reach = (THICKER - THINNER) / 2, (THICKER + THINNER) / 2
    # An oblique edge thickens all strokes but its own, so less is left for the weight.
    weights = [middle + reach * w - 0.35 * length for w in (upright, lying)]
    plain = (slant * SLANT, rise * SLANT, aspect * ASPECT, *weights, length * nib.sign())
    return torch.cat([torch.stack([*plain, lively, bent], 1), bend * (bent / 2)[:, None]], 1)


def _drawn(style: Tensor, draw: Callable[..., Tensor]) -> Tensor:
    """n x ...: each glyph's matrix, weights, nib and bend."""
    slant, rise, aspect, upright, lying, nib, lively, bent = style[:, :8].unbind(1)
    turn, shear, wide, high = (draw(len(style), 4) * lively[:, None]).unbind(1)
    turn, shear = turn * radians(TURN), slant + shear * SHEAR
    wide, high = (torch.exp(STRETCH * k + side * aspect / 2) for k, side in ((wide, 1), (high, -1)))
    cos, sin = torch.cos(turn), torch.sin(turn)
    upper = (cos * wide - sin * rise * wide, cos * shear * high - sin * high)
    lower = (sin * wide + cos * rise * wide, sin * shear * high + cos * high)
    own = draw(len(style), 2 * KNOTS**2) * (bent / 2)[:, None]
    return torch.cat([torch.stack([*upper, *lower, upright, lying, nib], 1), style[:, 8:] + own], 1)


def read_form(numbers: Tensor, cells: Tensor, em: int) -> Form:
    """The forms behind these glyphs' places; `cells` (n x side x side) tell where their ink is."""
    bend = numbers[:, 7:].reshape(-1, 2, KNOTS, KNOTS)
    at = _in_em(cells, em)
    total = cells.sum((1, 2), dtype=torch.float32).clamp(min=1)
    sums = torch.stack([cells.sum(axis, dtype=torch.float32) for axis in (1, 2)], 1)
    middle = sums @ at / total[:, None]
    bend = bend - bend.mean((2, 3), keepdim=True)
    # A dense glyph has no room for thicker strokes.
    room = ((0.5 - total / em**2) / 0.3).clamp(0, 1)[:, None]
    weight = torch.where(numbers[:, 4:6] > 0, numbers[:, 4:6] * room, numbers[:, 4:6])
    return Form(numbers[:, :4].reshape(-1, 2, 2), bend, weight, numbers[:, 6] * room[:, 0], middle)


def _in_em(cells: Tensor, em: int) -> Tensor:
    side = cells.shape[-1]
    return (torch.arange(side, device=cells.device, dtype=torch.float32) + 0.5 - side / 2) / em


def _basis(at: Tensor) -> Tensor:
    """How much each knot counts at these places (in em from the middle): ... x KNOTS."""
    along = (at.clamp(-0.5, 0.5) + 0.5) * (KNOTS - 1)
    near = cubic_weights((along[..., None] - torch.arange(KNOTS, device=at.device)).abs())
    return near / near.sum(-1, keepdim=True)


def form_bounds(bounds: Tensor, form: Form) -> Tensor:
    """The bounds (n x 4) of ink that has taken its form."""
    left, top, right, bottom = bounds.unbind(1)
    corners = torch.stack([left, right, left, right, top, top, bottom, bottom], 1).reshape(-1, 2, 4)
    middle = form.middle[:, :, None]
    moved = form.matrix @ (corners - middle) + middle
    grown = (form.weight / 2).clamp(min=0) + form.nib.abs()[:, None] * 0.35 + form.bend.abs().amax((2, 3))
    return torch.cat([moved.amin(2) - grown, moved.amax(2) + grown], 1)


def form_places(u: Tensor, v: Tensor, x: Tensor, y: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    """Which points of a glyph's em box are seen at points `u`, `v` of it (n x rows x columns), in em.

    `x` (n x 1 x columns) and `y` (n x rows x 1) are those points before the glyph's own small turn: they
    keep the bend a product of rows and columns.
    """
    shift = _basis(y[:, :, 0])[:, None] @ form.bend @ _basis(x[:, 0])[:, None].transpose(-1, -2)
    (a, b, c, d), middle = form.matrix.flatten(1).unbind(1), form.middle[:, :, None, None]
    det = a * d - b * c
    a, b, c, d = (k[:, None, None] for k in (a / det, b / det, c / det, d / det))
    u, v = u - middle[:, 0], v - middle[:, 1]
    return d * u - b * v + middle[:, 0] + shift[:, 0], a * v - c * u + middle[:, 1] + shift[:, 1]


def put_back(ink: Tensor, rows: Tensor, columns: Tensor, middle: Tensor) -> tuple[Tensor, Tensor]:
    """The rows and columns at which ink has its middle where it was (n x 2), to half a pixel."""
    total = ink.sum((1, 2), dtype=torch.float32).clamp(min=1e-3)
    moved = []
    for at, axis, wanted in ((rows, 2, middle[:, 1]), (columns, 1, middle[:, 0])):
        found = (ink.sum(axis, dtype=torch.float32) * (at.flatten(1) + 0.5)).sum(1) / total
        moved.append(at - torch.where(total > 1, found - wanted, 0.0).round().long()[:, None, None])
    return moved[0], moved[1]


def form_cells(cells: Tensor, form: Form, em: int) -> Tensor:
    """Cells (n x side x side of 0 and 1) whose strokes have taken their weights."""
    cells = _cut(cells, form.nib * (em / 2))
    for axis in (0, 1):
        cells = _weighed(cells, (form.weight[:, axis] * (em / 2)).to(cells.dtype), axis)
    return cells


def _weighed(cells: Tensor, reach: Tensor, axis: int) -> Tensor:
    """Strokes whose two edges move outwards by `reach` (n) bits along x or y, at most two; or inwards.

    What thins is the paper growing. Gaps too narrow for the growth stay, so counters and hairlines do.
    """
    thin = (reach < 0)[:, None, None].to(cells.dtype)
    far = reach.abs()[:, None, None]
    ink = (cells - thin).abs()
    one = _spread(ink, 1, axis)
    two = _spread(one, 1, axis)
    grown = ink + (one - ink) * far.clamp(max=1) + (two - one) * (far - 1).clamp(0, 1)
    gaps = 1 - _spread(1 - two, WIDEST_GAP // 2, axis) - ink
    grown = torch.minimum(grown, 1 - gaps * (far * 1.2).clamp(max=HELD))
    return (grown - thin).abs()


def _spread(ink: Tensor, reach: int, axis: int) -> Tensor:
    """The most ink within so many bits along x (0) or y (1)."""
    size, along = ink.shape[-1], 2 - axis
    for _ in range(reach):
        grown = ink.clone()
        for to, of in ((1, 0), (0, 1)):
            part = grown.narrow(along, to, size - 1)
            torch.maximum(part, ink.narrow(along, of, size - 1), out=part)
        ink = grown
    return ink


def _cut(cells: Tensor, reach: Tensor) -> Tensor:
    """Strokes as wide as an oblique edge of `reach` (n) bits to either side leaves them, at most two."""
    ink = cells.clone()
    for far, mirrored in ((reach, False), (-reach, True)):
        here, there = (t.flip(2) if mirrored else t for t in (ink, cells))
        for k in (1, 2):
            share = (far - (k - 1)).clamp(0, 1)[:, None, None].to(cells.dtype)
            torch.maximum(here[:, k:, :-k], there[:, :-k, k:] * share, out=here[:, k:, :-k])
            torch.maximum(here[:, :-k, k:], there[:, k:, :-k] * share, out=here[:, :-k, k:])
        ink = here.flip(2) if mirrored else here
    return ink
