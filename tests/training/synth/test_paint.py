"""The CPU renderer: ink in its boxes, labels on the ink, the same bytes from the same seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synth_pages import empty, make_book, make_composition
from tiny_fonts import make_font

from tongguocr.training.synth.composition import ComposedLine, Composition, Floats, Stroke
from tongguocr.training.synth.degradation import NO_DEGRADATION, Degradation
from tongguocr.training.synth.fonts import FontBook, load_fonts
from tongguocr.training.synth.ink import (
    TOLERANCE,
    MaskCache,
    PrintedStroke,
    add_stroke,
    glyph_patch,
    paint_ink,
    weight_changes,
)
from tongguocr.training.synth.paint import render

BENT = Degradation(skew=2.0, perspective=(0.02, -0.02), curl=0.015, waver=0.06)


def ink_overhang(composition: Composition, fonts: FontBook) -> np.ndarray:
    """How far each glyph's own ink leaves its em box, in pixels; 0 where it does not. The bar is
    `TOLERANCE`. Every glyph is painted alone, the way the page is."""
    masks = MaskCache(fonts, weight_changes(composition, fonts))
    out = np.zeros(len(composition))
    for k in range(len(composition)):
        patch, left, top = glyph_patch(composition, k, masks)
        if patch is None or not patch.any():
            continue
        rows, columns = np.flatnonzero(patch.any(axis=1)), np.flatnonzero(patch.any(axis=0))
        x0, y0, x1, y1 = (float(v) for v in composition.boxes[k])
        beyond = (
            x0 - (left + columns[0]),
            y0 - (top + rows[0]),
            left + columns[-1] + 1 - x1,
            top + rows[-1] + 1 - y1,
        )
        out[k] = max(0.0, *beyond)
    return out


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    return make_book(tmp_path_factory.mktemp("fonts"))


def one_glyph(char: str, box: tuple[float, float, float, float], angle: float = 0.0) -> Composition:
    return replace(
        empty(200, 160),
        text=(char,),
        faces=np.zeros(1, np.int16),
        boxes=np.array([box], np.float32),
        angles=np.array([angle], np.float32),
        white=np.zeros(1, np.bool_),
        lines=(ComposedLine(0, 1),),
    )


def ink_bounds(ink: Floats, level: float = 0.5) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero((ink > level).any(axis=1)), np.flatnonzero((ink > level).any(axis=0))
    return (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def test_a_square_fills_the_middle_of_its_em_box(book: FontBook) -> None:
    # The tiny font's square leaves a tenth of the em on all sides; the box here is twice as wide as high.
    ink = paint_ink(one_glyph("田", (20, 40, 120, 90)), book)
    assert ink.dtype == np.float32
    assert ink.shape == (160, 200)
    assert ink_bounds(ink) == pytest.approx((30, 45, 110, 85), abs=1)
    assert ink[65, 70] == pytest.approx(1)
    assert ink.sum() == pytest.approx(80 * 40, rel=0.03)


def test_glyphs_turn_counter_clockwise(book: FontBook) -> None:
    ink = paint_ink(one_glyph("一", (20, 20, 120, 120), angle=0.2), book)
    left, right = ink[:, 35], ink[:, 105]
    assert left.argmax() > right.argmax() + 8


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from("一丨田口十乚"),
    st.tuples(st.floats(0, 60), st.floats(0, 60), st.floats(3, 100), st.floats(3, 100)),
    st.floats(-0.2, 0.2),
)
def test_ink_stays_in_its_box(
    book: FontBook, char: str, box: tuple[float, float, float, float], angle: float
) -> None:
    x, y, w, h = box
    composition = one_glyph(char, (x, y, x + w, y + h), angle)
    assert ink_overhang(composition, book).max() <= TOLERANCE
    ink = paint_ink(composition, book)
    assert ink.any()


def test_an_overhanging_glyph_is_shrunk_and_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_font(tmp_path / "wide.ttf")
    wide = load_fonts(tmp_path)
    # A ring of ink at the mask's very edge: all four sides must still be there.
    side = round(160 * 1.125)
    mask = np.zeros((side, side), np.uint8)
    mask[:8], mask[-8:], mask[:, :8], mask[:, -8:] = 255, 255, 255, 255
    monkeypatch.setattr("tongguocr.training.synth.ink.glyph_mask", lambda face, char, size: mask)
    composition = one_glyph("田", (20, 0, 180, 160))
    assert 0 < ink_overhang(composition, wide).max() <= TOLERANCE
    ink = paint_ink(composition, wide)
    assert ink_bounds(ink) == pytest.approx((20, 0, 180, 160), abs=2)
    middle = ink[80] > 0.5
    assert middle[18:30].any()
    assert middle[170:182].any()


def test_strokes_have_their_width_at_any_position() -> None:
    canvas = np.zeros((50, 60), np.uint8)
    add_stroke(canvas, PrintedStroke(Stroke((20.3, 5.0), (20.3, 45.0), 2.5)))
    assert canvas[25].sum() / 255 == pytest.approx(2.5, abs=0.05)
    assert canvas.sum() / 255 == pytest.approx(2.5 * 40, rel=0.02)
    level = np.zeros((50, 60), np.uint8)
    add_stroke(level, PrintedStroke(Stroke((50.0, 10.6), (10.0, 10.6), 0.6)))
    assert level[:, 30].sum() / 255 == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(
    ("start", "end"),
    [((-30, 5), (-10, 40)), ((5, -9), (5, -2)), ((3, 3), (3, 3)), ((70, 5), (70, 9)), ((-5, 90), (90, 90))],
)
def test_strokes_beyond_the_page_leave_no_ink(start: tuple[int, int], end: tuple[int, int]) -> None:
    canvas = np.zeros((50, 60), np.uint8)
    add_stroke(canvas, PrintedStroke(Stroke(start, end, 3)))
    assert not canvas.any()


def test_white_characters_are_cut_out_of_their_patch(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    k = int(np.flatnonzero(composition.white)[0])
    x0, y0, x1, y1 = composition.boxes[k].round().astype(int)
    ink = paint_ink(composition, book)
    without = paint_ink(replace(composition, white=np.zeros_like(composition.white)), book)
    inside = ink[y0:y1, x0:x1]
    assert without[y0:y1, x0:x1].mean() == pytest.approx(1, abs=0.02)
    assert 0.2 < inside.mean() < 0.99
    assert inside.min() == 0


def test_without_wear_the_page_is_its_ink(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    composition = replace(composition, marks=composition.marks[:2])
    pixels, page = render(composition, book, NO_DEGRADATION)
    expected = 255 * (1 - paint_ink(composition, book))
    assert np.abs(pixels[..., 1] - expected).max() <= 1
    assert (page.width, page.height) == (333, 257)
    assert page.lines[0].polygon is None
    assert page.full_text == "\n".join("".join(composition.text[a.start : a.stop]) for a in composition.lines)


def test_red_marks_are_red(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    x, y = composition.marks[2].centre
    r, g, b = render(composition, book, NO_DEGRADATION)[0][int(y), int(x)].astype(int)
    assert r > g + 50
    assert r > b + 50


def test_same_seed_same_bytes(book: FontBook) -> None:
    composition = make_composition(book, 333, 257, seed=9)
    first, page = render(composition, book)
    again, same = render(composition, book, seed=9)
    assert first.tobytes() == again.tobytes()
    assert page == same
    other, _ = render(composition, book, seed=10)
    assert other.tobytes() != first.tobytes()


@pytest.mark.parametrize("ground", ["none", "black"])
def test_labels_follow_the_ink_through_the_camera(book: FontBook, ground: str) -> None:
    """Each character alone on the page: its warped box holds all of its warped ink."""
    composition = replace(make_composition(book, 611, 802), strokes=(), patches=(), marks=())
    composition = replace(composition, white=np.zeros_like(composition.white))
    degradation = replace(BENT, ground=ground, paper=(255, 255, 255))
    for k in range(0, len(composition), 3):
        alone = replace(composition, faces=composition.faces[k : k + 1], text=composition.text[k : k + 1],
            boxes=composition.boxes[k : k + 1], angles=composition.angles[k : k + 1],
            white=composition.white[k : k + 1], lines=(ComposedLine(0, 1),))  # fmt: skip
        pixels, page = render(alone, book, degradation)
        line = page.lines[0]
        assert line.polygon is not None
        x0, y0, x1, y1 = line.chars[0].box
        assert 0 <= x0 < x1 <= page.width
        dark = pixels[..., 0] < 128
        near = dark[max(int(y0) - 9, 0) : int(y1) + 9, max(int(x0) - 9, 0) : int(x1) + 9]
        held = dark[int(y0) : int(y1) + 1, int(x0) : int(x1) + 1]
        assert held.sum() > 50
        assert held.sum() == near.sum()
        if ground == "none":
            assert held.sum() == dark.sum()


def test_the_page_has_no_empty_corners_when_it_is_turned(book: FontBook) -> None:
    pixels, _ = render(empty(300, 400), book, replace(BENT, paper=(200, 180, 150)))
    assert (pixels == np.array([200, 180, 150])).all()


def test_surroundings_enlarge_the_picture_and_move_the_labels(book: FontBook) -> None:
    composition = make_composition(book, 333, 257)
    composition = replace(composition, marks=composition.marks[:2])
    pixels, page = render(composition, book, replace(NO_DEGRADATION, ground="felt"))
    dx = page.lines[0].chars[0].box[0] - float(composition.boxes[0, 0])
    dy = page.lines[0].chars[0].box[1] - float(composition.boxes[0, 1])
    assert page.width > 333
    assert page.height > 257
    assert min(dx, dy) > 0
    plain = render(composition, book, NO_DEGRADATION)[0]
    shown = pixels[round(dy) : round(dy) + 257, round(dx) : round(dx) + 333]
    assert np.array_equal(shown[20:-20, 20:-20], plain[20:-20, 20:-20])


@pytest.mark.parametrize("size", [(1, 1), (64, 64), (333, 257)])
def test_an_empty_composition_is_paper(book: FontBook, size: tuple[int, int]) -> None:
    pixels, page = render(empty(*size), book, NO_DEGRADATION)
    assert (pixels == 255).all()
    assert page.lines == ()
    render(empty(*size), book)


def test_a_box_without_area_paints_nothing(book: FontBook) -> None:
    assert not paint_ink(one_glyph("田", (20, 20, 20, 60)), book).any()


def test_a_glyph_beyond_the_page_is_left_out(book: FontBook) -> None:
    assert not paint_ink(one_glyph("田", (400, 20, 460, 80)), book).any()
