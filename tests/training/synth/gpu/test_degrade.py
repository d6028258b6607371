"""Degradation as the GPU puts it on, tried on a CPU: it spares the text, and labels follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from painted_blocks import HIGH, SIZE, WIDE, column, compose

from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Stroke
from tongguocr.training.synth.degradation import NO_DEGRADATION, Degradation, sample_degradation
from tongguocr.training.synth.gpu.degradation import MIN_RESOLVED, stack_degradations
from tongguocr.training.synth.gpu.fields import (
    blur,
    blurring,
    both_ways,
    coarseness_of,
    coarsening,
    enlarge,
    jpeg,
)
from tongguocr.training.synth.gpu.pack import pack
from tongguocr.training.synth.gpu.render import GlyphAtlas, paint, render_batch
from tongguocr.training.synth.gpu.warp import target, warp_layers
from tongguocr.training.synth.warp import Warp


def test_without_wear_the_image_is_the_ink(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column()], atlas.cells)
    ink = paint(batch, glyphs).all_black[0]
    for colour in (False, True):
        done = render_batch(batch, glyphs, [NO_DEGRADATION], 1, colour=colour)
        assert done.images.shape == (1, 3 if colour else 1, SIZE, SIZE) and done.images.dtype == torch.uint8
        assert (done.images[0, 0].float() / 255 - (1 - ink)).abs().max() < 0.03


def test_the_same_seed_gives_the_same_images(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column(), column(16)], atlas.cells)
    degradations = [sample_degradation(np.random.default_rng(k), photographed=False) for k in range(2)]
    first, again, other = (render_batch(batch, glyphs, degradations, seed) for seed in (4, 4, 5))
    assert torch.equal(first.images, again.images) and torch.equal(first.points, again.points)
    assert not torch.equal(first.images, other.images)


@pytest.mark.parametrize(("height", "width"), [(HIGH, WIDE), (WIDE, HIGH)])
def test_oblong_canvases_bear_all_wear(atlas: Atlas, glyphs: GlyphAtlas, height: int, width: int) -> None:
    """Images of the right shape, the same again for the same seed, and damage all over the canvas."""
    boxes = [(x, y, x + 20.0, y + 20.0) for x in range(4, width - 24, 24) for y in range(4, height - 24, 24)]
    batch = pack([compose(boxes, height=height, width=width)] * 3, atlas.cells)
    rng = np.random.default_rng(5)
    worst = replace(
        sample_degradation(rng), stains=3, seals=3, cracks=2, foxing=30, wormholes=14, bleed=0.5, jpeg=50
    )
    degradations = [
        worst,
        replace(worst, resolution=0.6, film="none", ground="none"),
        sample_degradation(rng),
    ]
    for colour in (False, True):
        first, again, other = (
            render_batch(batch, glyphs, degradations, seed, colour=colour) for seed in (4, 4, 5)
        )
        assert first.images.shape == (3, 3 if colour else 1, height, width)
        assert torch.equal(first.images, again.images) and torch.equal(first.points, again.points)
        assert not torch.equal(first.images, other.images)
        quarters = first.images.float()[..., -height // 4 :, -width // 4 :]
        assert quarters.std() > 5, "the far corner is printed and worn as well"


def test_damage_is_spread_over_the_whole_oblong_canvas() -> None:
    degradation = Degradation(foxing=30, wormholes=40, stains=3, seals=1, cracks=2)
    degradation = stack_degradations([degradation] * 8, [20.0] * 8, HIGH, WIDE, 3)
    holes, spots = degradation.holes.values, degradation.foxing.values * 4
    for places in (holes, spots):
        assert places[:, 0].max() > WIDE * 0.9 and places[:, 1].max() > HIGH * 0.9
    assert spots[:, 0].max() <= WIDE and spots[:, 1].max() <= HIGH
    assert degradation.stains[:, 0].max() <= WIDE < degradation.stains[:, 1].max() <= HIGH
    assert degradation.seals[:, 1].max() <= 0.9 * WIDE < degradation.seals[:, 2].max() <= 0.9 * HIGH
    assert degradation.seals[:, 3].max() <= 0.45 * WIDE
    along, upright = degradation.cracks.values[:, 2], degradation.cracks.values[:, 5]
    assert (along == torch.where(upright > 0.5, float(HIGH), float(WIDE))).all(), (
        "cracks go from edge to edge"
    )
    large = stack_degradations([Degradation(large_seals=1)] * 20, [20.0] * 20, HIGH, WIDE, 3).seals
    assert len(large) == 20 and 60 <= large[:, 3].min() < large[:, 3].max() <= max(HIGH, WIDE)
    assert (large[:, 9] >= 1).all(), "what it shows is enlarged"
    least = stack_degradations([Degradation(resolution=0.3)], [34.0], HIGH, WIDE, 1).flat("resolution")
    assert float(least[0]) == pytest.approx(MIN_RESOLVED / 34)


def test_worn_text_stays_darker_than_its_paper(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    """Over many draws of degradation, what was ink is still told from what was paper."""
    rng = np.random.default_rng(8)
    degradations = [
        replace(sample_degradation(rng, photographed=False), waver=0, curl=0, skew=0) for _ in range(48)
    ]
    batch = pack([column(40, 3)] * len(degradations), atlas.cells)
    ink = paint(batch, glyphs).black[0]
    images = render_batch(batch, glyphs, degradations, 2).images[:, 0].float()
    dark, light = images[:, ink > 0.9].mean(1), images[:, ink < 0.01].median(1).values
    assert ((light - dark) > 40).float().mean() > 0.9 and (light > dark).all()


def test_paper_gets_no_ink_from_the_impression(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    degradation = Degradation(spread=0.024, rounding=0.02, roughness=0.75, touching=0.03)
    batch = pack([column()] * 8, atlas.cells)
    images = render_batch(batch, glyphs, [degradation] * 8, 3).images[:, 0]
    assert images[:, :, :30].min() == 255


@settings(max_examples=30)
@given(
    canvas=st.sampled_from([(SIZE, SIZE), (HIGH, WIDE), (WIDE, HIGH)]),
    skew=st.floats(-2.5, 2.5),
    tilt=st.floats(-0.03, 0.03),
    curl=st.floats(-0.018, 0.018),
    waver=st.floats(0, 3),
)
def test_points_move_as_the_cpu_warp_says(
    canvas: tuple[int, int], skew: float, tilt: float, curl: float, waver: float
) -> None:
    height, width = canvas
    degradation = Degradation(skew=skew, perspective=(tilt, -tilt), curl=curl, waver=waver / 20)
    degradation = stack_degradations([degradation], [20.0], height, width, 1)
    phases = tuple(float(degradation.flat(f"phase{k}")[0]) / (2 * np.pi) for k in range(4))
    warp = Warp(width, height, float(np.deg2rad(skew)), (tilt, -tilt), curl, waver, phases)
    points = np.random.default_rng(2).uniform(0, 1, (30, 2)) * (width, height)
    flat = torch.from_numpy(points).float()
    ours = target(flat, torch.zeros(30, dtype=torch.long), degradation, height, width)
    assert np.abs(ours.numpy() - warp.target(points)).max() < 0.05


@pytest.mark.parametrize(("height", "width"), [(SIZE, SIZE), (HIGH, WIDE), (WIDE, HIGH)])
def test_ink_moves_with_its_labels(atlas: Atlas, glyphs: GlyphAtlas, height: int, width: int) -> None:
    shares = [(0.2, 0.2), (0.75, 0.25), (0.5, 0.5), (0.2, 0.8), (0.8, 0.75)]
    places = [(x * width, y * height) for x, y in shares]
    block = compose([(x - 6, y - 6, x + 6, y + 6) for x, y in places], "田" * 5, width=width, height=height)
    degradation = Degradation(skew=2.5, curl=0.018, waver=0.2, perspective=(0.03, -0.02))
    done = render_batch(pack([block], atlas.cells), glyphs, [degradation], 1)
    ink = 255.0 - done.images[0, 0].numpy()
    for x, y in done.points.tolist():
        rows, columns = np.mgrid[int(y) - 12 : int(y) + 12, int(x) - 12 : int(x) + 12]
        part = ink[rows.clip(0, height - 1), columns.clip(0, width - 1)]
        found = np.array([(part * (columns + 0.5)).sum(), (part * (rows + 0.5)).sum()]) / part.sum()
        assert np.abs(found - (x, y)).max() < 0.5


def test_every_condition_has_its_effect(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    """No field of the degradation is forgotten: each changes the picture of a column with a rule."""
    block = replace(column(), strokes=(Stroke((30, 0), (30, 128), 2.0),))
    batch = pack([block, column(16)], atlas.cells)
    plain = render_batch(batch, glyphs, [NO_DEGRADATION] * 2, 6, colour=True).images[0].float()
    changes: list[dict[str, object]] = [
        {"spread": 0.02}, {"rounding": 0.05}, {"roughness": 0.8, "rounding": 0.02}, {"mottling": 0.7},
        {"starvation": 0.7}, {"broken": 0.7}, {"grain": 0.6}, {"cracks": 2}, {"rule_waver": 0.06},
        {"rule_gaps": 0.4}, {"ink": (90, 80, 70)}, {"paper": (200, 180, 140)}, {"texture": 0.7},
        {"browning": 0.8}, {"foxing": 20}, {"stains": 2}, {"wormholes": 14}, {"bleed": 0.5}, {"seals": 1},
        {"skew": 2.0}, {"perspective": (0.03, 0.0)}, {"curl": 0.02}, {"waver": 0.1}, {"binding": 0.7},
        {"light": 0.5}, {"film": "binary", "paper": (200, 180, 140)}, {"film": "grey", "ink": (60, 60, 60)},
        {"blur": 0.6}, {"noise": 0.03}, {"jpeg": 30},
    ]  # fmt: skip
    for change in changes:
        degradation = replace(NO_DEGRADATION, **change)  # type: ignore[arg-type]
        image = render_batch(batch, glyphs, [degradation] * 2, 6, colour=True).images[0].float()
        assert (image - plain).abs().mean() > 0.02, change
    coarse = [replace(NO_DEGRADATION, resolution=0.6)] * 2
    large = pack([column(60, 2)] * 2, atlas.cells)
    one, two = (render_batch(large, glyphs, w, 6).images.float() for w in (coarse, [NO_DEGRADATION] * 2))
    assert (one - two).abs().mean() > 0.5


def test_grey_pages_have_no_colour(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column()], atlas.cells)
    degradation = replace(NO_DEGRADATION, paper=(220, 190, 140), grey=True)
    image = render_batch(batch, glyphs, [degradation], 1, colour=True).images[0].float()
    assert (image[0] - image[2]).abs().max() <= 2


def test_jpeg_is_lossless_at_nothing_and_coarse_at_low_quality() -> None:
    image = torch.rand(2, 1, 32, 32, generator=torch.Generator().manual_seed(1))
    kept = jpeg(image, torch.tensor([coarseness_of(0), coarseness_of(10)]))
    assert (kept[0] - image[0]).abs().max() < 0.01 < (kept[1] - image[1]).abs().mean()
    flat = jpeg(torch.full((1, 1, 16, 16), 0.25), torch.tensor([1.0]))
    assert (flat - 0.25).abs().max() < 0.01
    for height, width in ((30, 30), (32, 30), (30, 32)):
        with pytest.raises(ValueError, match="multiple of 8"):
            jpeg(torch.zeros(1, 1, height, width), torch.tensor([1.0]))


@pytest.mark.parametrize("channels", [1, 3])
def test_an_oblong_picture_is_treated_as_its_square_parts(channels: int) -> None:
    """JPEG works on 8 x 8 pixels, so a picture's left half does not depend on its right one."""
    image = torch.rand(2, channels, 24, 48, generator=torch.Generator().manual_seed(2))
    coarse = torch.tensor([1.0, 2.0])
    whole = jpeg(image, coarse)
    halves = [jpeg(image[..., :24].contiguous(), coarse), jpeg(image[..., 24:].contiguous(), coarse)]
    assert (whole - torch.cat(halves, -1)).abs().max() < 1e-4
    upright = jpeg(image.transpose(-1, -2).contiguous(), coarse)
    assert upright.shape == (2, channels, 48, 24)


def test_blur_is_alike_both_ways_on_an_oblong_canvas() -> None:
    dot = torch.zeros(2, 40, 24)
    dot[:, 20, 12] = 1
    soft = blur(dot, torch.tensor([1.0, 2.0]))
    assert (soft[:, 20, 4:21] - soft[:, 12:29, 12]).abs().max() < 1e-5
    assert torch.allclose(soft.sum((1, 2)), torch.ones(2), atol=1e-3) and soft[1].max() < soft[0].max() / 3


def test_blur_and_coarsening_keep_even_paper_and_spread_a_dot() -> None:
    paper = torch.full((1, 24, 24), 0.7)
    dot = torch.zeros(1, 24, 24)
    dot[0, 12, 12] = 1
    for matrices in (
        blurring(torch.tensor([1.5]), 24, torch.float32),
        coarsening(torch.tensor([0.6]), 24, torch.float32),
    ):
        assert (both_ways(matrices, matrices, paper) - 0.7).abs().max() < 1e-4
        spread = both_ways(matrices, matrices, dot)
        assert spread.max() < 0.5 and abs(float(spread.sum()) - 1) < 0.15


def test_enlarging_keeps_a_plane() -> None:
    small = torch.arange(16.0)[None, :, None].expand(1, 16, 16)
    grown = enlarge(small, 64, 40)[0]
    wanted = (torch.arange(64) + 0.5) / 4 - 0.5
    assert grown.shape == (64, 40) and (grown - wanted[:, None])[8:-8].abs().max() < 1e-4


@pytest.mark.parametrize(("height", "width"), [(SIZE, SIZE), (HIGH, WIDE)])
def test_looking_without_a_warp_changes_nothing(height: int, width: int) -> None:
    layers = torch.rand(1, 2, height, width)
    assert (
        warp_layers(layers, stack_degradations([NO_DEGRADATION], [20.0], height, width, 1)) - layers
    ).abs().max() < 1e-3


def test_conditions_can_be_stacked_by_workers(atlas: Atlas, glyphs: GlyphAtlas, tmp_path: Path) -> None:
    batch = pack([column()], atlas.cells)
    torch.save(
        (batch, stack_degradations([Degradation(stains=1, seals=1, cracks=1)], batch.em, SIZE, SIZE, 9)),
        tmp_path / "batch.pt",
    )
    again, degradation = torch.load(tmp_path / "batch.pt", weights_only=False)
    direct = render_batch(batch, glyphs, [Degradation(stains=1, seals=1, cracks=1)], 9)
    assert torch.equal(render_batch(again, glyphs, degradation, 9).images, direct.images)
