"""Forms of glyphs on the GPU painters: off by default, the same for a seed, in place, and legible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_fonts import make_font
from torch.utils._python_dispatch import TorchDispatchMode

from tongguocr.training.synth.atlas import Atlas, build_atlas
from tongguocr.training.synth.composition import ComposedLine, Composition, Patch
from tongguocr.training.synth.degradation import NO_DEGRADATION
from tongguocr.training.synth.fonts import load_fonts
from tongguocr.training.synth.gpu.pack import Batch, pack
from tongguocr.training.synth.gpu.render import GlyphAtlas, paint, render_batch
from tongguocr.training.synth.gpu.shaping import (
    BEND,
    KNOTS,
    NIB,
    PLACED,
    THICKER,
    THINNER,
    Form,
    form_cells,
    shape_glyphs,
)

CHARS = "一丨田口十乚"
EM = 40.0
CELL = 72


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    folder: Path = tmp_path_factory.mktemp("fonts")
    make_font(folder / "tiny.ttf")
    return build_atlas(load_fonts(folder), CHARS)


@pytest.fixture(scope="module")
def glyphs(atlas: Atlas) -> GlyphAtlas:
    return GlyphAtlas.load(atlas, "cpu")


def column(text: str = CHARS, white: bool = False) -> Composition:
    """Glyphs of 40 px, each with so much paper around it that none touches another."""
    boxes = [(20, 20 + 80 * k, 20 + EM, 20 + 80 * k + EM) for k in range(len(text))]
    height = 80 * len(text)
    ground = Patch(((0, 0), (80, 0), (80, height), (0, height)))
    return Composition(
        kind="test",
        width=80,
        height=height,
        seed=1,
        text=tuple(text),
        faces=np.zeros(len(text), np.int16),
        boxes=np.array(boxes, np.float32),
        angles=np.zeros(len(text), np.float32),
        white=np.full(len(text), white),
        lines=(ComposedLine(0, len(text)),),
        patches=(ground,) if white else (),
    )


def batch_of(atlas: Atlas, blocks: int = 1, text: str = CHARS) -> Batch:
    return pack([column(text)] * blocks, atlas.cells)


def parts(ink: torch.Tensor) -> torch.Tensor:
    """Each glyph's surroundings: blocks x glyphs x 80 x 80."""
    return ink.unflatten(1, (-1, 80))


def middles(ink: torch.Tensor) -> torch.Tensor:
    at = torch.arange(80) + 0.5
    total = ink.sum((-2, -1))
    return torch.stack([(ink.sum(-2) * at).sum(-1), (ink.sum(-1) * at).sum(-1)], -1) / total[..., None]


def form(count: int = 1, weight: tuple[float, float] = (0.0, 0.0), nib: float = 0.0) -> Form:
    return Form(
        torch.eye(2).expand(count, 2, 2),
        torch.zeros(count, 2, KNOTS, KNOTS),
        torch.tensor([weight]).expand(count, 2),
        torch.full((count,), nib),
        torch.zeros(count, 2),
    )


def cell(*rectangles: tuple[int, int, int, int]) -> torch.Tensor:
    bits = torch.zeros(1, CELL, CELL)
    for left, top, right, bottom in rectangles:
        bits[0, top:bottom, left:right] = 1
    return bits


def test_it_is_off_by_default(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = batch_of(atlas, 2)
    plain, asked = paint(batch, glyphs).black, paint(batch, glyphs, shaping=0.0, seed=9).black
    assert torch.equal(plain, asked)
    shown = [render_batch(batch, glyphs, [NO_DEGRADATION] * 2, 3, shaping=s).images for s in (0.0, 1.0)]
    assert torch.equal(shown[0], render_batch(batch, glyphs, [NO_DEGRADATION] * 2, 3).images)
    assert (shown[0].float() - shown[1].float()).abs().mean() > 2


def test_no_strength_at_all_changes_nothing(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = batch_of(atlas)
    assert (paint(batch, glyphs).black - paint(batch, glyphs, shaping=1e-7).black).abs().max() < 1e-3


def test_the_same_seed_gives_the_same_forms(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = batch_of(atlas, 3)
    first, again, other = (paint(batch, glyphs, shaping=1.0, seed=s).black for s in (4, 4, 5))
    assert torch.equal(first, again) and (first - other).abs().mean() > 0.005
    assert (first[0] - first[1]).abs().mean() > 0.005, "blocks differ from each other"


def test_a_block_has_a_style_from_which_glyphs_stray(atlas: Atlas) -> None:
    batch = batch_of(atlas, 40, "田" * 12)
    (shaped, _) = shape_glyphs((batch.glyphs, batch.white), 40, 1.0, 1)
    numbers = shaped.values[:, PLACED:]
    matrix, weight, nib = numbers[:, :4], numbers[:, 4:6], numbers[:, 6]
    for block in range(40):
        own = shaped.block == block
        assert (weight[own] == weight[own][0]).all() and (nib[own] == nib[own][0]).all()
        assert 0 < matrix[own].std(0).max() < 0.12
    assert weight.max() <= THICKER and weight.min() >= -THINNER - 0.35 * NIB
    assert weight.max() > 0.03 and (weight[:, 0] - weight[:, 1]).abs().max() > 0.02
    assert numbers[:, 7:].abs().max() <= BEND
    assert 0.05 < (nib != 0).float().mean() < 0.5


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31 - 1))
def test_ink_keeps_its_place(atlas: Atlas, glyphs: GlyphAtlas, seed: int) -> None:
    batch = batch_of(atlas, 4)
    plain, shaped = (parts(paint(batch, glyphs, shaping=s, seed=seed).black) for s in (0.0, 1.0))
    assert (middles(shaped) - middles(plain)).abs().max() < 0.8
    # The em box is 20:60; ink may leave it by a pixel, and its edge is soft.
    assert shaped[..., :17, :].max() == 0 and shaped[..., 63:, :].max() == 0
    assert shaped[..., :17].max() == 0 and shaped[..., 63:].max() == 0
    share = shaped.sum((-2, -1)) / plain.sum((-2, -1))
    assert share.min() > 0.5 and share.max() < 2.2


@settings(max_examples=30)
@given(weight=st.floats(-0.06, 0.06))
def test_strokes_gain_what_they_are_told_across_one_axis(weight: float) -> None:
    stem, bar = cell((30, 10, 40, 60)), cell((10, 30, 60, 40))
    for upright, lying, pair in ((stem, bar, (weight, 0.0)), (bar, stem, (0.0, weight))):
        gained = form_cells(upright, form(weight=pair), 64).sum() / 50 - 10
        assert float(gained) == pytest.approx(weight * 64, abs=0.01)
        kept = form_cells(lying, form(weight=pair), 64)
        assert float(kept.sum() / 10) == pytest.approx(50 + weight * 64, abs=0.01), "only its ends move"


def test_hairlines_and_counters_outlast_a_change_of_weight() -> None:
    hairline = form_cells(cell((34, 10, 36, 60)), form(weight=(-0.045, -0.045)), 64)
    assert hairline[0, 20:50].sum(1).min() > 1.2, "two bits, and most of them are left"
    stems = cell(*((k, 10, k + 4, 60) for k in range(10, 58, 7)))
    heavy = form_cells(stems, form(weight=(0.045, 0.045)), 64)[0, 35]
    assert heavy[14:17].max() < 0.35 and heavy[10:14].min() == 1, "gaps of three bits stay open"


def test_an_oblique_edge_slants_the_ends_of_strokes() -> None:
    bar = cell((21, 30, 51, 40))
    rising, falling = (form_cells(bar, form(nib=n), 64)[0] for n in (0.05, -0.05))
    assert torch.equal(rising, falling.flip(1))
    left_edge = [int((row > 0).float().argmax()) for row in rising[30:40]]
    assert left_edge[0] > left_edge[-1], "the end leans"
    assert form_cells(bar, form(), 64).equal(bar)


def test_white_glyphs_take_forms_too(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column(white=True)], atlas.cells)
    plain, shaped = (paint(batch, glyphs, shaping=s, seed=2).black for s in (0.0, 1.0))
    assert (plain - shaped).abs().mean() > 0.003 and shaped[0, 5, 5] == 1


class _Counter(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_the_number_of_kernels_does_not_grow_with_the_glyphs(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    counts = []
    for blocks in (1, 12):
        batch = batch_of(atlas, blocks)
        with _Counter() as counter:
            paint(batch, glyphs, shaping=1.0)
        counts.append(counter.count)
    assert counts[0] == counts[1]


def test_a_batch_without_glyphs_is_shaped_without_harm(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    empty = replace(
        column(""), height=80, boxes=np.zeros((0, 4), np.float32), lines=(), faces=np.zeros(0, np.int16)
    )
    assert paint(pack([empty], atlas.cells), glyphs, shaping=1.0).black.max() == 0
