"""Clutter: seals where they are said to be, slips beside the text, and nothing on pages that have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synth_pages import empty, make_book, make_composition

from tongguocr.page import Pixels
from tongguocr.training.synth.clutter import CLUTTERED_KINDS, place_seals, sample_clutter
from tongguocr.training.synth.composition import Composition
from tongguocr.training.synth.degradation import NO_DEGRADATION, Degradation
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.kinds import BENCHMARK_KINDS, SECOND_BENCHMARK_KINDS
from tongguocr.training.synth.paint import render, seal_boxes

SHAPE = (800, 600)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    return make_book(tmp_path_factory.mktemp("fonts"))


def changed(composition: Composition, book: FontBook, degradation: Degradation, seed: int) -> Pixels:
    """Where the clutter of a page changes it."""
    bare = replace(degradation, large_seals=0, slips=0, stitched=0, shadow=0.0)
    with_it, without = (render(composition, book, d, seed)[0].astype(int) for d in (degradation, bare))
    return np.abs(with_it - without).max(axis=2) > 4


def test_only_new_kinds_are_cluttered() -> None:
    assert not set(CLUTTERED_KINDS) & set(BENCHMARK_KINDS)
    assert set(CLUTTERED_KINDS) == set(SECOND_BENCHMARK_KINDS)


def test_clutter_is_drawn_now_and_then() -> None:
    rng = np.random.default_rng(3)
    drawn = [sample_clutter(rng, NO_DEGRADATION) for _ in range(300)]
    for share in (
        np.mean([bool(value) for value in values])
        for values in zip(*((d.large_seals, d.stitched, d.slips, d.shadow) for d in drawn), strict=True)
    ):
        assert 0.1 < share < 0.7
    assert {d.film for d in drawn} == {"none", "binary"} and any(not d.cluttered for d in drawn)
    assert all(d.bleed == 0 or d.bleed >= 0.4 for d in drawn), "strong enough to tempt"


def test_seals_are_of_all_sizes_up_to_half_of_the_page() -> None:
    places = [p for seed in range(150) for p in place_seals(SHAPE, Degradation(large_seals=2), seed)]
    sides = [max(p.box[2] - p.box[0], p.box[3] - p.box[1]) / min(SHAPE) for p in places]
    assert min(sides) < 0.18 and 0.45 < max(sides) <= 0.5
    assert {p.outline for p in places} == {"box", "rounded", "oval", "gourd"}
    assert all(0 <= p.box[0] < p.box[2] <= SHAPE[1] and 0 <= p.box[1] < p.box[3] <= SHAPE[0] for p in places)


@pytest.mark.parametrize("camera", [{}, {"skew": 2.0, "ground": "felt", "perspective": (0.02, 0.0)}])
@pytest.mark.parametrize("seed", range(3))
def test_a_seal_is_where_its_box_says(book: FontBook, camera: dict[str, object], seed: int) -> None:
    degradation = Degradation(large_seals=1, **camera)  # type: ignore[arg-type]
    page = empty(SHAPE[1], SHAPE[0])
    ink = changed(page, book, degradation, seed)
    (box,) = seal_boxes(page, degradation, seed)
    x0, y0, x1, y1 = (round(v) for v in box)
    inside = ink[max(y0 - 3, 0) : y1 + 3, max(x0 - 3, 0) : x1 + 3]
    assert ink.sum() > 0.05 * (x1 - x0) * (y1 - y0)
    assert inside.sum() == ink.sum(), "nothing of it is elsewhere"


def test_slips_lie_beside_the_text(book: FontBook) -> None:
    page = make_composition(book, 611, 802)
    laid = 0
    for seed in range(6):
        over = changed(page, book, Degradation(slips=3), seed)
        laid += int(over.any())
        for x0, y0, x1, y1 in page.boxes.round().astype(int):
            assert not over[y0:y1, x0:x1].any()
    assert laid > 3


@pytest.mark.parametrize("side", [-1, 1])
def test_thread_and_shadow_keep_to_their_side(book: FontBook, side: int) -> None:
    page = empty(SHAPE[1], SHAPE[0])
    sewn = changed(page, book, Degradation(stitched=side), 2)
    columns = np.flatnonzero(sewn.any(axis=0))
    assert len(columns) and (columns.max() < 100 if side < 0 else columns.min() > 500)
    shade = changed(page, book, Degradation(shadow=0.4), 5)
    assert 0.05 < shade.mean() < 0.6


def test_a_page_that_cuts_characters_is_held_straight(book: FontBook) -> None:
    page = make_composition(book, 333, 257)
    beyond = page.boxes + np.array([300.0, 0, 300.0, 0], np.float32)
    cut = replace(page, boxes=np.where(np.arange(len(page))[:, None] < 4, beyond, page.boxes))
    for degradation in (Degradation(skew=2.0, ground="felt", curl=0.02), None):
        pixels, labels = render(cut, book, degradation, seed=4)
        assert pixels.shape == (257, 333, 3) and all(line.polygon is None for line in labels.lines)
