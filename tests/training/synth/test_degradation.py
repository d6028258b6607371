"""Wear: what is sampled, and that every flag does something by itself at any size."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from synth_pages import FULL, make_book, make_composition

from tongguocr.page import Pixels
from tongguocr.training.synth.degradation import NO_WEAR, Wear, sample_wear, spare_small
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.paint import render

FLAGS: dict[str, Wear] = {
    "spread": Wear(spread=0.03),
    "thin": Wear(spread=-0.03),
    "rounding": Wear(rounding=0.03),
    "roughness": Wear(roughness=1.0),
    "mottling": Wear(mottling=1.0),
    "starvation": Wear(starvation=1.0),
    "broken": Wear(broken=1.0),
    "touching": Wear(touching=0.05),
    "grain": Wear(grain=1.0),
    "carving": Wear(carving=0.02),
    "cracks": Wear(cracks=6),
    "rule_waver": Wear(rule_waver=0.1),
    "rule_gaps": Wear(rule_gaps=0.5),
    "ink": Wear(ink=(60, 50, 40)),
    "paper": Wear(paper=(220, 200, 170)),
    "texture": Wear(texture=1.0),
    "browning": Wear(browning=1.0),
    "folds": Wear(folds=2),
    "foxing": Wear(foxing=40),
    "stains": Wear(stains=3),
    "wormholes": Wear(wormholes=20),
    "bleed": Wear(bleed=1.0),
    "seals": Wear(seals=3),
    "skew": Wear(skew=2.0),
    "perspective": Wear(perspective=(0.03, -0.03)),
    "curl": Wear(curl=0.03),
    "waver": Wear(waver=0.1),
    "binding": Wear(binding=-0.8),
    "binding right": Wear(binding=0.8),
    "light": Wear(light=1.0),
    "black": Wear(ground="black"),
    "felt": Wear(ground="felt"),
    "wood": Wear(ground="wood"),
    "cloth": Wear(ground="cloth"),
    "facing": Wear(ground="felt", facing=True),
    "facing right": Wear(ground="felt", facing=True, binding=0.5, skew=-1.0),
    "ruler": Wear(ground="felt", ruler=True),
    "chart": Wear(ground="felt", chart=True),
    "label": Wear(ground="felt", label=True),
    "grey film": Wear(film="grey", paper=(220, 210, 190), ink=(40, 36, 30)),
    "binary film": Wear(film="binary", paper=(220, 210, 190), ink=(40, 36, 30)),
    "grey": Wear(grey=True, paper=(220, 200, 170)),
    "resolution": Wear(resolution=0.5),
    "blur": Wear(blur=1.5),
    "noise": Wear(noise=0.05),
    "jpeg": Wear(jpeg=40),
}
EVERYTHING = Wear(
    **{
        field.name: getattr(wear, field.name)
        for wear in FLAGS.values()
        for field in fields(Wear)
        if getattr(wear, field.name) != field.default
    }
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    return make_book(tmp_path_factory.mktemp("fonts"))


@pytest.fixture(scope="module")
def clean(book: FontBook) -> dict[tuple[int, int], Pixels]:
    sizes = ((64, 64), (333, 257))
    return {size: render(make_composition(book, *size), book, wear=False)[0] for size in sizes}


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
    changed = {f.name for wear in FLAGS.values() for f in fields(Wear) if getattr(wear, f.name) != f.default}
    assert changed == {f.name for f in fields(Wear)}


@pytest.mark.parametrize("size", [(64, 64), (1, 1), (7, 120), (611, 402)])
def test_everything_at_once_at_odd_sizes(size: tuple[int, int], book: FontBook) -> None:
    pixels, page = render(make_composition(book, *size), book, EVERYTHING)
    assert pixels.shape == (page.height, page.width, 3)


def test_everything_at_full_size(book: FontBook) -> None:
    pixels, _ = render(make_composition(book, *FULL), book, EVERYTHING)
    assert pixels.std() > 10


def test_a_seal_is_red_and_leaves_black_ink_black(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    plain = render(composition, book, NO_WEAR)[0].astype(int)
    sealed = render(composition, book, Wear(seals=3))[0].astype(int)
    red = (sealed[..., 0] - sealed[..., 2]) > 60
    assert red.sum() > 100
    assert (sealed <= plain).all()


def test_a_crack_takes_ink_and_adds_none(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    plain, cracked = (render(composition, book, wear, seed=3)[0] for wear in (NO_WEAR, Wear(cracks=4)))
    assert (cracked >= plain).all()
    assert (cracked > plain).any()


def test_spread_adds_ink_and_a_dry_block_gives_less(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    base = Wear(rounding=0.03)
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
    again = [sample_wear(np.random.default_rng(seed)) for seed in range(300)]
    assert again == [sample_wear(np.random.default_rng(seed)) for seed in range(300)]
    clean = [w for w in again if not (w.wormholes or w.stains or w.seals or w.cracks) and w.film == "none"]
    assert 0.3 < len(clean) / len(again) < 0.8
    assert all(abs(w.skew) <= 2.5 and -0.01 <= w.spread <= 0.026 for w in again)
    assert any(w.ground != "none" for w in again)


def test_small_type_is_spared() -> None:
    rough = Wear(starvation=1.0, broken=1.0, mottling=1.0, grain=1.0, spread=-0.01, resolution=0.5, blur=1.5)
    assert spare_small(rough, 60) == rough
    small = spare_small(rough, 20)
    assert small.resolution == 1.0
    assert small.blur == pytest.approx(0.6)
    assert small.starvation == pytest.approx(0.5)
    assert small.spread > rough.spread


def test_no_severity_leaves_only_the_press_and_the_camera() -> None:
    wears = [sample_wear(np.random.default_rng(seed), 0.0, photographed=False) for seed in range(100)]
    assert all(w.ground == "none" and not (w.wormholes or w.stains or w.cracks or w.bleed) for w in wears)


def test_heavy_inking_leaves_blank_paper_blank(book: FontBook) -> None:
    """A low threshold and ragged edges must not speckle the paper between the characters."""
    composition = make_composition(book, 333, 257)
    wear = Wear(spread=0.03, touching=0.05, roughness=1.0, rounding=0.01)
    pixels, _ = render(replace(composition, marks=()), book, wear)
    x0, _, _, _ = composition.boxes.min(axis=0)
    assert (pixels[10:-10, 12 : int(x0) - 12] == 255).all()
