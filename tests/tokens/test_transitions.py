"""The 24 transitions against a table written out by hand from the paper, and the anchors they rest on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tongguocr.page import DIRECTIONS, Char, Direction, Line
from tongguocr.tokens.transitions import (
    TRANSITIONS,
    Thresholds,
    end_anchor,
    start_anchor,
    transition,
    transitions_of,
)

ORDER = """
<left> <right> <far_left> <far_right>
<up> <down> <far_up> <far_down>
<left|up> <left|down> <left|far_up> <left|far_down>
<right|up> <right|down> <right|far_up> <right|far_down>
<far_left|up> <far_left|down> <far_left|far_up> <far_left|far_down>
<far_right|up> <far_right|down> <far_right|far_up> <far_right|far_down>
"""

TABLE = [
    # One axis: the other is negligible.
    (-0.2, 0.0, "<left>"),
    (0.2, 0.0, "<right>"),
    (-0.7, 0.0, "<far_left>"),
    (0.7, 0.0, "<far_right>"),
    (0.0, -0.2, "<up>"),
    (0.0, 0.2, "<down>"),
    (0.0, -0.7, "<far_up>"),
    (0.0, 0.7, "<far_down>"),
    # Both axes.
    (-0.05, -0.2, "<left|up>"),
    (-0.05, 0.2, "<left|down>"),
    (-0.05, -0.8, "<left|far_up>"),
    (-0.05, 0.8, "<left|far_down>"),
    (0.05, -0.2, "<right|up>"),
    (0.05, 0.2, "<right|down>"),
    (0.05, -0.8, "<right|far_up>"),
    (0.05, 0.8, "<right|far_down>"),
    (-0.9, -0.2, "<far_left|up>"),
    (-0.9, 0.2, "<far_left|down>"),
    (-0.9, -0.8, "<far_left|far_up>"),
    (-0.9, 0.8, "<far_left|far_down>"),
    (0.9, -0.2, "<far_right|up>"),
    (0.9, 0.2, "<far_right|down>"),
    (0.9, -0.8, "<far_right|far_up>"),
    (0.9, 0.8, "<far_right|far_down>"),
    # Exactly delta is kept, just under it is not.
    (-0.01, 0.3, "<left|down>"),
    (-0.0099, 0.3, "<down>"),
    (0.3, 0.01, "<right|down>"),
    (0.3, -0.0099, "<right>"),
    (0.01, -0.01, "<right|up>"),
    # Exactly tau is not far, just over it is.
    (-0.5, -0.5, "<left|up>"),
    (-0.5001, 0.5, "<far_left|down>"),
    (0.5, 0.5001, "<right|far_down>"),
    (0.0, -0.5, "<up>"),
    # Both negligible: the larger one; on a tie the horizontal one; no movement counts as left.
    (0.009, 0.004, "<right>"),
    (-0.009, 0.004, "<left>"),
    (0.004, -0.009, "<up>"),
    (0.0, 0.002, "<down>"),
    (0.005, 0.005, "<right>"),
    (-0.005, 0.005, "<left>"),
    (0.0, 0.0, "<left>"),
    (-0.0, 0.0, "<left>"),
]

offsets = st.floats(-1.5, 1.5)


def test_the_vocabulary_is_the_papers_24_in_their_order() -> None:
    assert " ".join(TRANSITIONS) == " ".join(ORDER.split())
    assert len(set(TRANSITIONS)) == 24


@pytest.mark.parametrize(("dx", "dy", "token"), TABLE)
def test_by_hand(dx: float, dy: float, token: str) -> None:
    assert transition(dx, dy) == token


def test_the_table_covers_all_24() -> None:
    assert {token for *_, token in TABLE} == set(TRANSITIONS)


@given(st.floats(), st.floats())
def test_every_displacement_has_a_token(dx: float, dy: float) -> None:
    assert transition(dx, dy) in TRANSITIONS


def swap(token: str, one: str, other: str) -> str:
    return token.replace(one, "?").replace(other, one).replace("?", other)


@given(offsets, offsets)
def test_mirroring_the_page_swaps_the_labels(dx: float, dy: float) -> None:
    assume(dx != 0)
    assert transition(-dx, dy) == swap(transition(dx, dy), "left", "right")
    assert transition(dx, -dy) == swap(transition(dx, dy), "up", "down")


@given(st.floats(-0.0099, 0.0099), st.floats(-0.0099, 0.0099))
def test_negligible_movement_has_one_axis_and_is_never_far(dx: float, dy: float) -> None:
    token = transition(dx, dy)
    assert "|" not in token
    assert "far_" not in token


def test_other_thresholds() -> None:
    assert transition(0.05, 0.3, Thresholds(delta=0.1, tau=0.2)) == "<far_down>"
    assert transition(0.05, 0.0, Thresholds(delta=0.1, tau=0.1)) == "<right>"
    assert transition(0.0, 0.3, Thresholds(delta=0.0)) == "<down>"
    with pytest.raises(ValueError, match="delta"):
        Thresholds(delta=0.6)


# Anchors. The box is 40 wide and 400 high, or lies on its side.
UPRIGHT, FLAT = (100.0, 200.0, 140.0, 600.0), (100.0, 200.0, 500.0, 240.0)
ANCHORS: list[tuple[Direction, tuple[float, ...], tuple[float, float], tuple[float, float]]] = [
    ("top-to-bottom", UPRIGHT, (120, 250), (120, 550)),
    ("bottom-to-top", UPRIGHT, (120, 550), (120, 250)),
    ("left-to-right", FLAT, (150, 220), (450, 220)),
    ("right-to-left", FLAT, (450, 220), (150, 220)),
]


@pytest.mark.parametrize(("direction", "box", "start", "end"), ANCHORS)
def test_estimated_anchors_lie_half_a_cell_in(direction, box, start, end) -> None:  # type: ignore[no-untyped-def]
    line = Line("l", box, "天地玄黃", direction=direction)
    assert (start_anchor(line), end_anchor(line)) == (start, end)


@pytest.mark.parametrize(
    "text", ["天地玄黃", "天\U000e0101地玄\ufe00黃", "天\u302a地玄黃\u0308", "天\u200d地玄黃", "天\u3000玄黃"]
)
def test_marks_and_variation_selectors_take_no_cell(text: str) -> None:
    assert start_anchor(Line("l", UPRIGHT, text)) == (120, 250)


def test_a_line_of_one_character_starts_and_ends_in_its_middle() -> None:
    for text in ("天", "\u0308"):
        line = Line("l", UPRIGHT, text)
        assert start_anchor(line) == end_anchor(line) == (120, 400)


def test_an_empty_line_has_the_cells_that_fit_its_box() -> None:
    assert start_anchor(Line("l", UPRIGHT)) == (120, 220)  # ten cells of 40
    assert start_anchor(Line("l", FLAT, direction="right-to-left")) == (480, 220)
    assert start_anchor(Line("l", FLAT)) == (300, 220)  # wider than long: one cell


@pytest.mark.parametrize("breadth", [0.0, 1e-320])
def test_a_box_without_breadth_has_anchors(breadth: float) -> None:
    x, y = start_anchor(Line("l", (0, 0, breadth, 400)))
    assert x == pytest.approx(0)
    assert 0 < y <= 200


def test_character_boxes_win() -> None:
    chars = (Char("天", (0, 0, 10, 10)), Char("地", (5, 20, 15, 40)), Char("玄", (0, 50, 20, 70)))
    line = Line("l", UPRIGHT, "天地玄", chars=chars)
    assert (start_anchor(line), end_anchor(line)) == ((5, 5), (10, 60))


def test_a_skewed_column_is_followed_along_its_polygon() -> None:
    # Leans by 40 pixels over 400: at a height h its middle is 110 + 40 * (h - 200) / 400.
    polygon = ((100.0, 200.0), (120.0, 200.0), (160.0, 600.0), (140.0, 600.0))
    line = Line("l", (100, 200, 160, 600), "天地玄黃", polygon=polygon)
    assert start_anchor(line) == (115, 250)
    assert end_anchor(line) == (145, 550)
    flat = Line(
        "l",
        (200, 100, 600, 160),
        "天地玄黃",
        direction="left-to-right",
        polygon=tuple((y, x) for x, y in polygon),
    )
    assert (start_anchor(flat), end_anchor(flat)) == ((250, 115), (550, 145))


def test_a_polygon_elsewhere_or_without_points_falls_back_to_the_box() -> None:
    line = Line("l", UPRIGHT, "天地玄黃")
    for polygon in ((), ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))):
        assert start_anchor(replace(line, polygon=polygon)) == (120, 250)


coordinates = st.floats(0, 1e6)


@given(
    st.tuples(coordinates, coordinates, coordinates, coordinates),
    st.sampled_from([0.0, 1e-320, 1.0]),
    st.sampled_from([0.0, 1e-320, 1.0]),
    st.text(max_size=5),
    st.sampled_from(DIRECTIONS),
)
def test_anchors_stay_in_the_box(corners, shrink_x, shrink_y, text, direction) -> None:  # type: ignore[no-untyped-def]
    x, y, w, h = corners
    box = (x, y, x + w * shrink_x, y + h * shrink_y)
    for anchor in (start_anchor, end_anchor):
        ax, ay = anchor(Line("l", box, text, direction=direction))
        assert box[0] - 1e-6 <= ax <= box[2] + 1e-6
        assert box[1] - 1e-6 <= ay <= box[3] + 1e-6


def column(x: float, y0: float, y1: float, text: str) -> Line:
    return Line("c", (x, y0, x + 40, y1), text)


def test_a_page_with_a_double_row_note() -> None:
    """A column, its note's right and left row, the column's rest, and the next column's top."""
    lines = [
        column(800, 100, 500, "天地玄黃"),
        Line("n1", (820, 500, 840, 700), "宇宙洪荒", kind="note"),
        Line("n2", (800, 500, 820, 700), "日月盈昃", kind="note"),
        column(800, 700, 900, "辰宿"),
        column(750, 100, 900, "列張寒來暑往秋收"),
    ]
    assert transitions_of(lines, 1000, 1000) == ["<right|down>", "<left|up>", "<right|down>", "<left|far_up>"]


def test_fewer_than_two_lines_have_no_transition() -> None:
    assert transitions_of([], 10, 10) == []
    assert transitions_of([column(0, 0, 100, "天")], 10, 10) == []


def test_offsets_are_shares_of_width_and_height() -> None:
    lines = [Line("a", (100, 0, 110, 10), "天"), Line("b", (40, 60, 50, 70), "地")]
    assert transitions_of(lines, 100, 100) == ["<far_left|far_down>"]
    assert transitions_of(lines, 100, 1000) == ["<far_left|down>"]
    assert transitions_of(lines, 10_000, 100) == ["<far_down>"]
    for width, height in ((0, 10), (10, 0), (-1, 10)):
        with pytest.raises(ValueError, match="width"):
            transitions_of(lines, width, height)
