"""Bitonal scans, show-through and torn seals as the GPU makes them, tried on a CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tongguocr.training.synth.gpu.bitonal import bitonal, draw_bitonal, draw_show_through, show_through
from tongguocr.training.synth.gpu.seals import COLUMNS, LARGE, SIDES, TILE, draw_places, press_masks


def page(side: int = 256) -> torch.Tensor:
    """Paper with black bars, and a grey square as of a seal at its foot."""
    image = torch.full((1, 1, side, side), 0.85)
    image[..., 20:120:20, 20:200] = 0.15
    image[..., 21:120:20, 20:200] = 0.15
    image[..., 22:120:20, 20:200] = 0.15
    image[..., 150:230, 60:140] = 0.55
    return image


@pytest.mark.parametrize("local", [0.0, 1.0])
def test_text_stays_and_a_grey_seal_becomes_speckle(local: float) -> None:
    images = page().repeat(2, 1, 1, 1)
    rows = torch.tensor([[1.0, 0.55, local, 0.08, 0.05, 1e-4, 1e-4, 40.0, 1.0]])
    done = bitonal(images, rows, 3)
    assert torch.equal(done[0], images[0]), "only the second was named"
    scan = done[1, 0]
    assert ((scan < 0.1) | (scan > 0.9)).float().mean() > 0.9
    assert (scan[21:120:20, 20:200] < 0.5).float().mean() > 0.95 and scan[125:145].mean() > 0.97
    grey = (scan[150:230, 60:140] < 0.5).float().mean()
    assert 0.1 < grey < 0.9, "neither black nor white, but both"
    assert torch.equal(done, bitonal(images, rows, 3)) and not torch.equal(done, bitonal(images, rows, 4))


def test_blank_paper_stays_blank() -> None:
    rows = torch.tensor([[0.0, 0.7, k, 0.06, 0.03, 0.0, 0.0, 20.0, 0.7] for k in (0.0, 1.0)])
    rows[1, 0] = 1
    blank = 0.8 + 0.02 * torch.rand(2, 1, 128, 128, generator=torch.Generator().manual_seed(1))
    assert bitonal(blank, rows, 2).mean() > 0.97


def test_specks_are_as_many_as_asked() -> None:
    blank = torch.full((1, 1, 256, 256), 0.9)
    few, many = (
        (bitonal(blank, torch.tensor([[0.0, 0.5, 1.0, 0.0, 0.0, black, 0.0, 20.0, 1.0]]), 1) < 0.5)
        .float()
        .mean()
        for black in (0.001, 0.02)
    )
    assert few == pytest.approx(0.001, abs=0.001) and many == pytest.approx(0.02, rel=0.4)


def test_what_is_drawn_is_within_its_bounds() -> None:
    rng = np.random.default_rng(1)
    rows = draw_bitonal(400, 0.25, rng)
    assert 60 < len(rows) < 140 and len(set(rows[:, 0].tolist())) == len(rows)
    assert (rows[:, 1] > 0.4).all() and (rows[:, 1] < 0.8).all() and (rows[:, 8] <= 1).all()
    assert draw_bitonal(9, 0.0, rng).shape == (0, 9) and draw_show_through(9, 0.0, rng).shape == (0, 6)
    behind = draw_show_through(50, 0.5, rng)
    assert (behind[:, 0] != behind[:, 1]).all() and (behind[:, :2] < 50).all()
    images = page()
    assert bitonal(images, rows[:0], 1) is images and show_through(images, behind[:0]) is images


def test_the_other_side_shows_mirrored_and_faint() -> None:
    images = torch.cat([torch.full((1, 1, 256, 256), 0.8), page()])
    images[1, ..., 150:230, 60:140] = 0.85
    done = show_through(images, torch.tensor([[0.0, 1.0, 0.3, 0.6, 0.0, 0.0]]))
    assert torch.equal(done[1], images[1])
    here = done[0, 0].flip(-1)
    assert here[21, 40:180].max() < 0.7 and here[130:].min() > 0.79, "where the other side has its bars"
    assert done[0].min() > 0.8 * 0.65
    moved = show_through(images, torch.tensor([[0.0, 1.0, 0.3, 0.6, 0.0, 0.5]]))
    assert torch.allclose(moved[0, 0].roll(-128, 0)[10:200], done[0, 0][10:200], atol=1e-3)


def test_seals_of_all_sizes_are_pressed_whole() -> None:
    places = draw_places(300, 0.6, 40, 768, np.random.default_rng(2))
    assert places.shape[1] == COLUMNS
    sides, number = places[:, 4], places[:, 1]
    assert sides.min() < 40 and sides.max() > 340 and sides.max() <= 768 * LARGE[1]
    assert (number[sides > SIDES[1]] >= 30).all(), "a library's seals are the large ones"
    masks = torch.full((40, 160, 160), 255, dtype=torch.uint8)
    one = torch.tensor([[0.0, 0.0, 200.0, 210.0, 300.0, 0.0, 0.9, 0.0, 1.0, 0.3, 0.4]])
    shifts = [(a * TILE, b * TILE) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    tiled = torch.cat([torch.cat([one, torch.tensor([shift])], 1) for shift in shifts])
    pressed = press_masks(torch.ones(1, 1, 400, 400), masks, tiled)[0, 0]
    dark = pressed < 0.5
    assert dark.sum().item() == pytest.approx(300 * 300, rel=0.02) and pressed[dark].max() < 0.45
    torn = tiled.clone()
    torn[:, 7] = 0.6
    left = (press_masks(torch.ones(1, 1, 400, 400), masks, torn)[0, 0] < 0.7).float()[60:360, 50:350]
    assert 0.2 < left.mean() < 0.6
