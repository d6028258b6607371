"""The shipped detector: what it finds on the example page, and that it invents nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from paths import EXAMPLES
from PIL import Image, ImageDraw

from bench.layout import score_chars, score_page
from tongguocr.formats import read_page
from tongguocr.geometry import centre, make_box
from tongguocr.layout.detect import FILE, SHIPPED_DETECTOR, find_lines, open_detector
from tongguocr.layout.detection import LineDetector
from tongguocr.page import Page, Pixels, bare_page, turn_pixels
from tongguocr.sources import load_pixels


@pytest.fixture(scope="module")
def detector() -> LineDetector:
    return open_detector()


@pytest.fixture(scope="module")
def example() -> Pixels:
    return load_pixels(EXAMPLES / "page.jpg")


def found_on(picture: Pixels, detector: LineDetector) -> Page:
    return find_lines(bare_page("a.png", picture), detector)


def test_it_is_small() -> None:
    assert (SHIPPED_DETECTOR / FILE).stat().st_size < 6_000_000


@pytest.mark.parametrize("factor", [0.45, 1.0, 2.2])
def test_the_example_page_has_its_lines(example: Pixels, detector: LineDetector, factor: float) -> None:
    """In its own size, reduced and enlarged: every line, its kind, its place in the order, and no other."""
    wanted = read_page(EXAMPLES / "page.json")
    size = (round(wanted.width * factor), round(wanted.height * factor))
    shown = np.asarray(Image.fromarray(example).resize(size, Image.Resampling.BICUBIC))
    found = found_on(shown, detector)
    score = score_page(_scaled(wanted, factor), found, 0.0)
    assert (score.found, score.given, score.right_kind, score.edits) == (len(wanted.lines),) * 3 + (0,)


def test_characters_are_where_the_page_has_them(example: Pixels, detector: LineDetector) -> None:
    wanted = [char.box for line in read_page(EXAMPLES / "page.json").lines for char in line.chars]
    score = score_chars(np.array(wanted, np.float32), found_on(example, detector), 0.0)
    assert score.found / score.wanted > 0.98 and score.found / score.given > 0.98


@pytest.mark.parametrize("turn", [-3, 3])
def test_a_page_may_slant(example: Pixels, detector: LineDetector, turn: int) -> None:
    slanting = Image.fromarray(example).rotate(turn, Image.Resampling.BICUBIC, expand=True, fillcolor="white")
    found = found_on(np.asarray(slanting), detector)
    kinds = [line.kind for line in read_page(EXAMPLES / "page.json").lines]
    assert [line.kind for line in found.lines] == kinds


def _blank(dice: np.random.Generator) -> Pixels:
    return np.full((900, 700), 235, np.uint8)


def _paper(dice: np.random.Generator) -> Pixels:
    return dice.normal(225, 6, (900, 700)).clip(0, 255).astype(np.uint8)


def _noise(dice: np.random.Generator) -> Pixels:
    return dice.integers(0, 256, (700, 900, 3), np.uint8)


def _hills(dice: np.random.Generator) -> Pixels:
    """Something like a photograph: soft shapes of all sizes, a horizon."""
    parts = [Image.fromarray(dice.integers(0, 256, (n, n), np.uint8)) for n in (4, 9, 30, 110)]
    layers = [np.asarray(part.resize((900, 700), Image.Resampling.BICUBIC), np.float32) for part in parts]
    picture = sum(layer * share for layer, share in zip(layers, (0.5, 0.3, 0.15, 0.05), strict=True))
    return np.asarray(np.where(np.arange(700)[:, None] < 300, picture / 3 + 150, picture)).astype(np.uint8)


def _ruled(dice: np.random.Generator) -> Pixels:
    """A form that nobody has filled in."""
    page = Image.new("L", (700, 900), 240)
    draw = ImageDraw.Draw(page)
    draw.rectangle((50, 60, 650, 840), outline=30, width=6)
    for x in range(110, 640, 60):
        draw.line((x, 66, x, 834), fill=60, width=2)
    return np.asarray(page)


def _lattice(dice: np.random.Generator) -> Pixels:
    rows, columns = np.indices((900, 700)) // 40
    return ((rows + columns) % 2 * 160 + 50).astype(np.uint8)


@pytest.mark.parametrize("make", [_blank, _paper, _noise, _hills, _ruled, _lattice])
def test_where_there_is_no_text_there_are_no_lines(
    make: Callable[[np.random.Generator], Pixels], detector: LineDetector
) -> None:
    assert found_on(make(np.random.default_rng(1)), detector).lines == ()


@pytest.mark.parametrize("size", [(1, 1), (60, 81), (3, 2000), (2000, 5)])
def test_small_and_thin_pictures(example: Pixels, detector: LineDetector, size: tuple[int, int]) -> None:
    """A thumbnail cannot be read, and what cannot be read is not found."""
    shown = np.asarray(Image.fromarray(example).resize(size, Image.Resampling.BOX))
    assert found_on(shown, detector).lines == ()


def _scaled(page: Page, factor: float) -> Page:
    lines = (
        replace(line, box=make_box(*(v * factor for v in line.box)), polygon=None) for line in page.lines
    )
    return replace(page, lines=tuple(lines))


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_page_that_lies_is_turned(example: Pixels, detector: LineDetector, degrees: int) -> None:
    upright, lying = found_on(example, detector), turn_pixels(example, degrees)
    found = found_on(lying, detector)
    assert upright.angle == 0 and found.angle == 360 - degrees
    assert [line.box for line in found.lines] == [line.box for line in upright.lines]
    assert find_lines(bare_page("a.png", lying), detector, turn=False).angle == 0


@pytest.mark.parametrize("degrees", [-15, 8])
def test_a_page_that_leans_is_looked_at_upright(
    example: Pixels, detector: LineDetector, degrees: int
) -> None:
    """Turned clockwise: its lines and their order are those of the upright page, and lie on its ink."""
    upright = found_on(example, detector)
    picture = Image.fromarray(example).rotate(-degrees, Image.Resampling.BICUBIC, True, fillcolor="white")
    found = found_on(np.asarray(picture), detector)
    assert found.skew == pytest.approx(-degrees, abs=1) and upright.skew == 0
    wanted = [(line.kind, len(line.chars)) for line in upright.lines]
    same = sum(a == b for a, b in zip(wanted, ((x.kind, len(x.chars)) for x in found.lines), strict=False))
    assert len(found.lines) == len(wanted) and same >= len(wanted) - 1
    bare = find_lines(bare_page("a.png", np.asarray(picture)), detector, turn=False)
    assert bare.skew == 0
    t, middle = np.radians(degrees), np.array(example.shape[1::-1]) / 2
    for line, seen in zip(upright.lines, found.lines, strict=True):
        x, y = np.array(centre(line.box)) - middle
        at = np.array([x * np.cos(t) - y * np.sin(t), x * np.sin(t) + y * np.cos(t)])
        assert np.abs(at + np.array(picture.size) / 2 - centre(seen.box)).max() < 40, "half a character"


def test_white_on_black_is_found_as_black_on_white(example: Pixels, detector: LineDetector) -> None:
    upright, white = found_on(example, detector), found_on(255 - example, detector)
    assert white.inverted and not upright.inverted and white.lines == upright.lines
    half = example.copy()
    half[:, : half.shape[1] // 2] = 255 - half[:, : half.shape[1] // 2]
    assert not found_on(half, detector).inverted
