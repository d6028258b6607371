"""Degradation: what is sampled, and that every flag does something by itself at any size."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from synth_pages import FULL, make_book, make_composition

from tongguocr.page import Pixels
from tongguocr.training.synth.degradation import (
    NO_DEGRADATION,
    Degradation,
    limit_for_size,
    sample_degradation,
)
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.paint import render

FLAGS: dict[str, Degradation] = {
    "spread": Degradation(spread=0.03),
    "thin": Degradation(spread=-0.03),
    "rounding": Degradation(rounding=0.03),
    "roughness": Degradation(roughness=1.0),
    "mottling": Degradation(mottling=1.0),
    "starvation": Degradation(starvation=1.0),
    "broken": Degradation(broken=1.0),
    "touching": Degradation(touching=0.05),
    "grain": Degradation(grain=1.0),
    "carving": Degradation(carving=0.02),
    "cracks": Degradation(cracks=6),
    "rule_waver": Degradation(rule_waver=0.1),
    "rule_gaps": Degradation(rule_gaps=0.5),
    "ink": Degradation(ink=(60, 50, 40)),
    "paper": Degradation(paper=(220, 200, 170)),
    "texture": Degradation(texture=1.0),
    "browning": Degradation(browning=1.0),
    "folds": Degradation(folds=2),
    "foxing": Degradation(foxing=40),
    "stains": Degradation(stains=3),
    "wormholes": Degradation(wormholes=20),
    "bleed": Degradation(bleed=1.0),
    "seals": Degradation(seals=3),
    "large seals": Degradation(large_seals=2, seal_ink=(70, 70, 72)),
    "stitched": Degradation(stitched=-1),
    "stitched right": Degradation(stitched=1),
    "slips": Degradation(slips=2),
    "shadow": Degradation(shadow=0.4),
    "skew": Degradation(skew=2.0),
    "perspective": Degradation(perspective=(0.03, -0.03)),
    "curl": Degradation(curl=0.03),
    "waver": Degradation(waver=0.1),
    "binding": Degradation(binding=-0.8),
    "binding right": Degradation(binding=0.8),
    "light": Degradation(light=1.0),
    "black": Degradation(ground="black"),
    "felt": Degradation(ground="felt"),
    "wood": Degradation(ground="wood"),
    "cloth": Degradation(ground="cloth"),
    "facing": Degradation(ground="felt", facing=True),
    "facing right": Degradation(ground="felt", facing=True, binding=0.5, skew=-1.0),
    "ruler": Degradation(ground="felt", ruler=True),
    "chart": Degradation(ground="felt", chart=True),
    "label": Degradation(ground="felt", label=True),
    "grey film": Degradation(film="grey", paper=(220, 210, 190), ink=(40, 36, 30)),
    "binary film": Degradation(film="binary", paper=(220, 210, 190), ink=(40, 36, 30)),
    "grey": Degradation(grey=True, paper=(220, 200, 170)),
    "resolution": Degradation(resolution=0.5),
    "blur": Degradation(blur=1.5),
    "noise": Degradation(noise=0.05),
    "jpeg": Degradation(jpeg=40),
}
EVERYTHING = Degradation(
    **{
        field.name: getattr(degradation, field.name)
        for degradation in FLAGS.values()
        for field in fields(Degradation)
        if getattr(degradation, field.name) != field.default
    }
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    return make_book(tmp_path_factory.mktemp("fonts"))


@pytest.fixture(scope="module")
def clean(book: FontBook) -> dict[tuple[int, int], Pixels]:
    sizes = ((64, 64), (333, 257))
    return {size: render(make_composition(book, *size), book, NO_DEGRADATION)[0] for size in sizes}


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("size", [(64, 64), (333, 257)])
def test_every_flag_changes_the_page(
    flag: str, size: tuple[int, int], book: FontBook, clean: dict[tuple[int, int], Pixels]
) -> None:
    pixels, page = render(make_composition(book, *size), book, FLAGS[flag], seed=5)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (page.height, page.width, 3)
    plain = clean[size]
    assert pixels.shape != plain.shape or not np.array_equal(pixels, plain)


def test_flags_cover_every_field() -> None:
    changed = {
        f.name
        for degradation in FLAGS.values()
        for f in fields(Degradation)
        if getattr(degradation, f.name) != f.default
    }
    assert changed == {f.name for f in fields(Degradation)}


@pytest.mark.parametrize("size", [(64, 64), (1, 1), (7, 120), (611, 402)])
def test_everything_at_once_at_odd_sizes(size: tuple[int, int], book: FontBook) -> None:
    pixels, page = render(make_composition(book, *size), book, EVERYTHING)
    assert pixels.shape == (page.height, page.width, 3)


def test_everything_at_full_size(book: FontBook) -> None:
    pixels, _ = render(make_composition(book, *FULL), book, EVERYTHING)
    assert pixels.std() > 10


def test_a_seal_is_red_and_leaves_black_ink_black(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    plain = render(composition, book, NO_DEGRADATION)[0].astype(int)
    sealed = render(composition, book, Degradation(seals=3))[0].astype(int)
    red = (sealed[..., 0] - sealed[..., 2]) > 60
    assert red.sum() > 100
    assert (sealed <= plain).all()


def test_a_crack_takes_ink_and_adds_none(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    plain, cracked = (
        render(composition, book, degradation, seed=3)[0]
        for degradation in (NO_DEGRADATION, Degradation(cracks=4))
    )
    assert (cracked >= plain).all()
    assert (cracked > plain).any()


def test_spread_adds_ink_and_a_dry_block_gives_less(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    base = Degradation(rounding=0.03)
    thin, middle, fat = (
        render(composition, book, replace(base, spread=spread))[0].mean() for spread in (-0.03, 0.0, 0.03)
    )
    assert thin > middle > fat


def test_binary_film_is_black_and_white(book: FontBook) -> None:
    pixels, _ = render(make_composition(book, 333, 257), book, FLAGS["binary film"])
    assert np.mean((pixels < 30) | (pixels > 225)) > 0.95


def test_grey_pages_have_no_colour(book: FontBook) -> None:
    pixels, _ = render(make_composition(book, 333, 257), book, FLAGS["grey"])
    assert np.array_equal(pixels[..., 0], pixels[..., 2])


def test_sampling_is_deterministic_and_mostly_mild() -> None:
    again = [sample_degradation(np.random.default_rng(seed)) for seed in range(300)]
    assert again == [sample_degradation(np.random.default_rng(seed)) for seed in range(300)]
    clean = [w for w in again if not (w.wormholes or w.stains or w.seals or w.cracks) and w.film == "none"]
    assert 0.3 < len(clean) / len(again) < 0.8
    assert all(abs(w.skew) <= 2.5 and -0.01 <= w.spread <= 0.026 for w in again)
    assert any(w.ground != "none" for w in again)


def test_small_type_is_spared() -> None:
    rough = Degradation(
        starvation=1.0, broken=1.0, mottling=1.0, grain=1.0, spread=-0.01, resolution=0.5, blur=1.5
    )
    assert limit_for_size(rough, 60) == rough
    small = limit_for_size(rough, 20)
    assert small.resolution == 1.0
    assert small.blur == pytest.approx(0.6)
    assert small.starvation == pytest.approx(0.5)
    assert small.spread > rough.spread


def test_no_severity_leaves_only_the_press_and_the_camera() -> None:
    degradations = [
        sample_degradation(np.random.default_rng(seed), 0.0, photographed=False) for seed in range(100)
    ]
    assert all(
        w.ground == "none" and not (w.wormholes or w.stains or w.cracks or w.bleed) for w in degradations
    )


def test_heavy_inking_leaves_blank_paper_blank(book: FontBook) -> None:
    """A low threshold and ragged edges must not speckle the paper between the characters."""
    composition = make_composition(book, 333, 257)
    degradation = Degradation(spread=0.03, touching=0.05, roughness=1.0, rounding=0.01)
    pixels, _ = render(replace(composition, marks=()), book, degradation)
    x0, _, _, _ = composition.boxes.min(axis=0)
    assert (pixels[10:-10, 12 : int(x0) - 12] == 255).all()
