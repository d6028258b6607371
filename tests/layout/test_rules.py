"""Rules found in drawn pictures: whole, slanting, broken, faint, in speckle; and none in text or shadows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from tongguocr.layout.drawn import covered, join_pieces, share_ruled
from tongguocr.layout.frame import Rule
from tongguocr.layout.rules import find_rules
from tongguocr.page import Pixels

WIDTH, HEIGHT = 800, 1000


def blank(light: int = 255) -> Image.Image:
    return Image.new("L", (WIDTH, HEIGHT), light)


def drawn(*rules: Rule, ink: int = 0, wide: int = 2, light: int = 255) -> Image.Image:
    picture = blank(light)
    for rule in rules:
        ImageDraw.Draw(picture).line(rule, fill=ink, width=wide)
    return picture


def pixels(picture: Image.Image) -> Pixels:
    return np.asarray(picture)


def lying(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(r for r in rules if abs(r[1][0] - r[0][0]) > abs(r[1][1] - r[0][1]))


def share_found(rules: tuple[Rule, ...], wanted: Rule, near: float = 4.0) -> float:
    """The part of a lying rule's length over which a found one lies close to it."""
    (x0, y0), (x1, y1) = wanted
    parts = []
    for (a, ya), (b, yb) in lying(rules):
        expected = [y0 + (y1 - y0) * (x - x0) / (x1 - x0) for x in (a, b)]
        if max(abs(ya - expected[0]), abs(yb - expected[1])) < near:
            parts.append((a, b))
    return covered(np.array(parts).reshape(-1, 2), x0, x1) / (x1 - x0)


ACROSS: Rule = ((60, 500), (740, 500))


@pytest.mark.parametrize("wide", [1, 3, 8, 11])
def test_a_rule_of_any_weight(wide: int) -> None:
    found = find_rules(pixels(drawn(ACROSS, wide=wide)))
    assert share_found(found, ACROSS, near=4 + wide / 2) > 0.9
    assert len(lying(found)) == len(found) == 1


@pytest.mark.parametrize("degrees", [-3, -1, 2, 3])
def test_a_slanting_rule_and_one_that_stands(degrees: float) -> None:
    rise = 340 * np.tan(np.radians(degrees))
    slant: Rule = ((60, 500 - rise), (740, 500 + rise))
    assert share_found(find_rules(pixels(drawn(slant))), slant) > 0.9
    upright: Rule = ((400 - rise, 160), (400 + rise, 840))
    (found,) = find_rules(pixels(drawn(upright)))
    assert np.abs(np.array(found) - np.array(upright)).max() < 20


def test_the_sides_of_a_frame_and_their_ends() -> None:
    corners = [(100, 120), (700, 120), (700, 900), (100, 900)]
    sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
    found = find_rules(pixels(drawn(*sides, wide=5)))
    assert len(found) == 4
    for rule in found:
        assert any(np.abs(np.array(sorted(side)) - np.array(rule)).max() < 16 for side in sides)


def test_a_rule_in_pieces_and_one_that_bends_with_the_paper() -> None:
    pieces = [((x, 500), (x + 70, 500)) for x in range(60, 700, 110)]
    found = find_rules(pixels(drawn(*pieces)))
    assert 0.5 < share_found(found, ACROSS) < 0.75, "the holes are no rule"
    bow = [(x, 500 + 12 * np.sin(x / 250)) for x in range(60, 740, 5)]
    bent = drawn(*pairwise(bow))
    assert share_found(find_rules(pixels(bent)), ACROSS, near=30) > 0.9


def test_a_faint_rule_on_darkening_paper() -> None:
    light = np.linspace(220, 90, WIDTH)[None] * np.ones((HEIGHT, 1))
    ink = np.asarray(drawn(ACROSS, ink=215), np.float64) / 255
    ink[100:160, 100:700:40] = 0.1  # something that shows how dark ink is
    found = find_rules((light * ink).astype(np.uint8))
    assert share_found(found, ACROSS) > 0.8


def test_speckle_is_no_rule_and_hides_none() -> None:
    rng = np.random.default_rng(0)
    noise = np.where(rng.random((HEIGHT, WIDTH)) < 0.02, 0, 255).astype(np.uint8)
    assert find_rules(noise) == ()
    both = np.minimum(noise, pixels(drawn(ACROSS)))
    both[rng.random(both.shape) < 0.1] = 255
    assert share_found(find_rules(both), ACROSS) > 0.8


def test_columns_of_characters_have_no_rules_between_them() -> None:
    """Squares with bars in even rows: their strokes lie in line from column to column."""
    page = drawn()
    pen = ImageDraw.Draw(page)
    for x in range(80, 720, 50):
        for y in range(80, 900, 40):
            for bar in (4, 14, 24):
                pen.line(((x, y + bar), (x + 30, y + bar)), fill=0, width=3)
    assert lying(find_rules(pixels(page))) == ()


def test_shadows_and_black_grounds_are_no_rules() -> None:
    page = blank()
    pen = ImageDraw.Draw(page)
    pen.rectangle((0, 0, WIDTH, 90), fill=20)
    pen.rectangle((300, 400, 600, 600), fill=0)
    assert find_rules(pixels(page)) == ()


@pytest.mark.parametrize("shape", [(1, 1), (3, 500), (500, 3), (40, 40, 3)])
def test_pictures_without_rules(shape: tuple[int, ...]) -> None:
    assert find_rules(np.full(shape, 200, np.uint8)) == ()
    assert isinstance(find_rules(np.random.default_rng(0).integers(0, 255, shape, np.uint8)), tuple)


def test_a_large_scan_gives_the_same_rules_in_its_own_pixels() -> None:
    page = drawn(ACROSS, wide=4)
    colour = page.resize((5 * WIDTH + 3, 5 * HEIGHT + 1)).convert("RGB")
    (small,), (large,) = find_rules(pixels(page)), find_rules(pixels(colour))
    assert np.abs(np.array(large) / 5 - np.array(small)).max() < 12


def test_pieces_in_line_are_one_rule() -> None:
    pieces = np.array([[0.0, 10, 40, 10.5], [200, 12, 300, 12.5], [60, 40, 100, 40]])
    whole, other = join_pieces(pieces, near=6.0)
    assert whole.share(0, 300) == pytest.approx(140 / 300)
    assert other.height(np.array(80.0)) == pytest.approx(40)
    assert share_ruled(pieces, (0, 100), (5, 15)) == pytest.approx(0.4)
    assert share_ruled(pieces[:0], (0, 100), (5, 15)) == 0.0


intervals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), max_size=8)


@settings(max_examples=50)
@given(intervals, st.integers(0, 40), st.integers(1, 40))
def test_covered_counts_every_part_once(spans: list[tuple[int, int]], low: int, wide: int) -> None:
    parts = np.array([(a, a + n) for a, n in spans], np.float64).reshape(-1, 2)
    inside = {x for a, n in spans for x in range(a, a + n) if low <= x < low + wide}
    assert covered(parts, low, low + wide) == len(inside)
