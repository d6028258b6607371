"""Training blocks by the thousand: a batch of packed compositions and a glyph atlas in, images out.

Every glyph is a small picture out of the atlas, stretched and turned into its em box; glyphs of about one
size are painted together. `paint` gives the ink alone, `render_batch` the degraded images and where each
character went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.degradation import DegradationBatch, stack_degradations
from tongguocr.training.synth.gpu.degrade import Ink, Rendered, degrade
from tongguocr.training.synth.gpu.fields import working_type
from tongguocr.training.synth.gpu.lines import LineStore, sway_lines
from tongguocr.training.synth.gpu.pack import Batch, Group
from tongguocr.training.synth.gpu.shapes import (
    paint_marks,
    paint_patches,
    paint_strokes,
    patch_pixels,
    pieces,
    stamp,
)
from tongguocr.training.synth.gpu.shaping import (
    PLACED,
    form_bounds,
    form_cells,
    form_places,
    put_back,
    read_form,
    shape_glyphs,
)

if TYPE_CHECKING:
    from tongguocr.training.synth.atlas import Atlas

SLACK = 1.0
"""Ink that would leave its em box by more than this many pixels is drawn smaller, as on the CPU."""
CELLS_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class GlyphAtlas:
    """All glyphs on a device, one bit a pixel."""

    bits: Tensor
    """cells x side x side / 8."""
    bounds: Tensor
    """cells x 4: each glyph's ink in em from the centre: left, top, right, bottom."""
    em: int

    @property
    def side(self) -> int:
        return int(self.bits.shape[1])

    @staticmethod
    def load(atlas: Atlas, device: torch.device | str) -> GlyphAtlas:
        bits = torch.from_numpy(np.ascontiguousarray(atlas.bits)).to(device)
        starts = range(0, max(len(bits), 1), CELLS_AT_ONCE)
        parts = [_ink_bounds(unpack_bits(bits[k : k + CELLS_AT_ONCE]), atlas.em) for k in starts]
        return GlyphAtlas(bits, torch.cat(parts), atlas.em)


def unpack_bits(bits: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """n x side x side / 8 bytes, first pixel in the highest bit -> n x side x side of 0 and 1."""
    shifts = torch.arange(7, -1, -1, device=bits.device, dtype=torch.uint8)
    return ((bits[..., None] >> shifts) & 1).flatten(2).to(dtype)


def _ink_bounds(cells: Tensor, em: int) -> Tensor:
    side = cells.shape[-1]
    at = torch.arange(side, device=cells.device, dtype=cells.dtype) - side / 2
    columns, rows = cells.amax(1) > 0, cells.amax(2) > 0
    low = [torch.where(part, at, side / 2).amin(1) for part in (columns, rows)]
    high = [torch.where(part, at + 1, -side / 2).amax(1) for part in (columns, rows)]
    return torch.stack([*low, *high], 1) / em


def paint(
    batch: Batch,
    atlas: GlyphAtlas | None,
    store: LineStore | None = None,
    waver: Tensor | None = None,
    shaping: float = 0.0,
    seed: int = 0,
) -> Ink:
    """The batch's ink before degradation; `waver` (blocks) lets rules wander by so many pixels.

    Glyphs and real lines keep their form unless `shaping` lets them stray, fully at 1, as `seed` decides.
    """
    device = batch.boxes.device
    half = working_type(device)
    black, rules, red = torch.zeros(3, batch.blocks, batch.height, batch.width, device=device).unbind(0)
    if len(batch.glyphs) + len(batch.white) and atlas is None:
        raise ValueError("a batch with glyphs needs an atlas")
    glyphs, white = batch.glyphs, batch.white
    if shaping:
        glyphs, white = shape_glyphs((glyphs, white), batch.blocks, shaping, seed)
    paint_patches(black, batch.patches)
    paint_strokes(rules, batch.rules, waver)
    paint_strokes(black, batch.frames, waver)
    if atlas is not None:
        paint_glyphs(black, glyphs, atlas, half)
    if len(batch.lines):
        if store is None:
            raise ValueError("a batch with real lines needs their store")
        store.paint(black, sway_lines(batch.lines, shaping, seed) if shaping else batch.lines)
    if len(white) and atlas is not None:
        cut = torch.zeros_like(black)
        paint_glyphs(cut, white, atlas, half)
        torch.minimum(black, 1 - cut, out=black)
        torch.minimum(rules, 1 - cut, out=rules)
    paint_marks(black, batch.marks)
    paint_marks(red, batch.red)
    return Ink(black, rules, red)


def paint_glyphs(canvas: Tensor, group: Group, atlas: GlyphAtlas, dtype: torch.dtype) -> None:
    """Glyphs of a group, each stretched to its em box, then turned about its middle."""
    for span, values, block in pieces(group, limit=CELLS_AT_ONCE):
        rows, columns = patch_pixels((values[:, 1:3] + values[:, 3:5]) / 2, span.rows, span.columns)
        stamp(canvas, block, *_glyph_patches(values, rows, columns, atlas, dtype))


def _glyph_patches(
    values: Tensor, rows: Tensor, columns: Tensor, atlas: GlyphAtlas, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """The ink (n x rows x columns) of these glyphs at these pixels, or close by; first the pixels' places."""
    cell, x0, y0, x1, y1, angle = values[:, :PLACED].unbind(1)
    cells, bounds = unpack_bits(atlas.bits[cell.long()], dtype), atlas.bounds[cell.long()]
    form = read_form(values[:, PLACED:], cells, atlas.em) if values.shape[1] > PLACED else None
    if form is not None:
        cells, bounds = form_cells(cells, form, atlas.em), form_bounds(bounds, form)
    cos, sin = torch.cos(angle), torch.sin(angle)
    shrink = _shrink(bounds, x1 - x0, y1 - y0, cos, sin)
    w, h = (x1 - x0) * shrink, (y1 - y0) * shrink
    x = columns + 0.5 - ((x0 + x1) / 2)[:, None, None]
    y = rows + 0.5 - ((y0 + y1) / 2)[:, None, None]
    a, b, c, d = (k[:, None, None] for k in (cos / w, sin / w, sin / h, cos / h))
    u, v = a * x - b * y, c * x + d * y
    if form is not None:
        u, v = form_places(u, v, x / w[:, None, None], y / h[:, None, None], form)
    # The cell's own coordinates run from -1 to 1 over em and overhang.
    scale = 2 * atlas.em / atlas.side
    grid = torch.stack([u * scale, v * scale], -1)
    cells = _averaged(cells, atlas.em / w, atlas.em / h)
    ink = F.grid_sample(cells[:, None], grid.to(dtype), align_corners=False)[:, 0]
    # Enlarged bits would have soft edges as wide as a bit: steepen them to one pixel.
    gain = (torch.sqrt(w * h) / atlas.em).clamp(min=1)[:, None, None].to(dtype)
    ink = ((ink - 0.5) * gain + 0.5).clamp(0, 1) * (w > 0)[:, None, None]
    if form is not None:
        middle = torch.stack([x0 + x1, y0 + y1], 1) / 2 + form.middle * torch.stack([x1 - x0, y1 - y0], 1)
        rows, columns = put_back(ink, rows, columns, middle)
    return rows, columns, ink


def _shrink(bounds: Tensor, w: Tensor, h: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """How much smaller a glyph must be drawn so that its turned ink stays in its box, give or take SLACK."""
    left, top, right, bottom = bounds.unbind(1)
    x = torch.stack([left, left, right, right], 1) * w[:, None]
    y = torch.stack([top, bottom, top, bottom], 1) * h[:, None]
    across = (cos[:, None] * x + sin[:, None] * y).abs().amax(1)
    down = (cos[:, None] * y - sin[:, None] * x).abs().amax(1)
    room = torch.minimum((w / 2 + SLACK) / across.clamp(min=1e-6), (h / 2 + SLACK) / down.clamp(min=1e-6))
    return room.clamp(max=1)


def _averaged(cells: Tensor, step_x: Tensor, step_y: Tensor) -> Tensor:
    """Each cell averaged over what one pixel will show of it, so that small glyphs keep thin strokes."""
    at = torch.arange(cells.shape[-1], device=cells.device)
    apart = (at[:, None] - at[None, :]).abs()

    def box(step: Tensor) -> Tensor:
        wide = step.clamp(1, cells.shape[-1])[:, None, None]
        return (((wide + 1) / 2 - apart).clamp(0, 1) / wide).to(cells.dtype)

    return box(step_y) @ cells @ box(step_x)


def render_batch(
    batch: Batch,
    atlas: GlyphAtlas | None,
    degradations: Sequence[Degradation] | DegradationBatch,
    seed: int,
    store: LineStore | None = None,
    colour: bool = False,
    shaping: float = 0.0,
) -> Rendered:
    """Paint and degrade a batch on the device it lies on; the same seed gives the same images there.

    `shaping` is how far glyphs stray from their outlines (shaping.py): training asks for 1.
    """
    if isinstance(degradations, DegradationBatch):
        degradation = degradations
    else:
        degradation = stack_degradations(degradations, batch.em, batch.height, batch.width, seed)
    degradation = degradation.to(batch.boxes.device)
    ink = paint(batch, atlas, store, waver=degradation.flat("rule_waver"), shaping=shaping, seed=seed)
    middles = (batch.boxes[:, :2] + batch.boxes[:, 2:]) / 2
    return degrade(ink, middles, batch.of_block, degradation, seed, colour)
