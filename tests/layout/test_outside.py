"""What stands outside of the frame: strips with titles and numbers, small lines above and below, stamps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawn_pages import CELL, RIGHT, STEP, across, assert_order, column, columns, page_of

from tongguocr.geometry import Box
from tongguocr.layout import order_lines
from tongguocr.layout.frame import Rule
from tongguocr.page import Kind

UPPER, LOWER = columns(range(12), 100, 14), columns(range(12), 100 + 15.5 * CELL, 14)
TEXT = [*UPPER, *LOWER]
FOOT = 100 + 29.5 * CELL


def frame(left: float, right: float) -> list[Rule]:
    """The four sides of a frame, and the rule between its registers."""
    corners = [(left, 80.0), (right, 80.0), (right, FOOT + 20), (left, FOOT + 20)]
    sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
    y = 100 + 14.75 * CELL
    return [*sides, ((left, y), (right, y))]


WHOLE = frame(RIGHT - 12 * STEP, RIGHT + 15)


def strip(x: float, size: float = 24.0) -> list[Box]:
    """Title, volume and page number one below the other."""
    return [(x, y, x + size, y + n * size) for y, n in ((130.0, 5), (330.0, 12), (900.0, 3))]


@pytest.mark.parametrize("x", [RIGHT + 22, RIGHT - 12 * STEP - 34])
def test_a_strip_beside_the_frame_is_read_last(x: float) -> None:
    kinds = assert_order(page_of(*TEXT, *strip(x)), WHOLE)
    assert kinds == ["main"] * len(TEXT) + ["fold"] * 3
    said: list[Kind] = ["main"] * len(TEXT) + ["fold", "main", "note"]
    kinds = assert_order(page_of(*TEXT, *strip(x), kinds=said), WHOLE, keep_kinds=True)
    assert kinds[len(TEXT) :] == ["fold"] * 3
    kinds = assert_order(page_of(*TEXT, *strip(x)), WHOLE, keep_kinds=True)
    assert kinds[len(TEXT) :] == ["fold"] * 3, "the detector took all of it for text"


def test_a_strip_with_a_line_of_its_own_about_it() -> None:
    edge = RIGHT + 15 + 45
    outer: list[Rule] = [((edge, 80), (edge, FOOT + 20)), ((RIGHT, 80), (edge, 80))]
    kinds = assert_order(page_of(*TEXT, *strip(RIGHT + 25)), [*WHOLE, *outer], keep_kinds=True)
    assert kinds[len(TEXT) :] == ["fold"] * 3


def test_kinds_are_not_doubted_where_nobody_looked_for_rules() -> None:
    page = page_of(*TEXT, *strip(RIGHT + 22))
    assert {line.kind for line in order_lines(page, keep_kinds=True).lines} == {"main"}


def test_a_column_of_text_beyond_the_last_rule_stays_text() -> None:
    """The picture ends in mid page: no side of a frame is right of the first column."""
    rules = [side for side in WHOLE if side[0][0] != side[1][0]]
    rules += [((RIGHT + 10 - STEP * n, 80), (RIGHT + 10 - STEP * n, FOOT + 20)) for n in range(1, 12)]
    assert set(assert_order(page_of(*TEXT), rules, keep_kinds=True)) == {"main"}
    assert set(assert_order(page_of(*TEXT), rules)) == {"main"}
    short = [column(0, 100 + 2 * CELL, 4), *UPPER[1:], *LOWER]
    assert set(assert_order(page_of(*short), rules, keep_kinds=True)) == {"main"}


def test_a_small_note_in_the_first_column_is_no_strip() -> None:
    note = (RIGHT - 18, 180.0, RIGHT, 240.0)
    kinds = assert_order(page_of(note, *UPPER[1:], kinds=["note"]), WHOLE[:4], keep_kinds=True)
    assert kinds[0] == "note"


def test_titles_above_and_numbers_below_the_frame() -> None:
    title, number = (500.0, 40.0, 650.0, 65.0), (560.0, FOOT + 40, 590.0, FOOT + 65)
    kinds = assert_order(page_of(*TEXT, title, number), WHOLE)
    assert kinds[-2:] == ["fold", "fold"]
    kinds = assert_order(page_of(*TEXT, title), None)
    assert kinds[-1] == "fold", "a small line that lies needs no rule"
    large = (400.0, 0.0, 700.0, 70.0)
    assert set(assert_order(page_of(large, *TEXT), WHOLE)) == {"main"}, "a heading does not"


def test_numbers_of_old_leaves_between_columns_come_register_by_register() -> None:
    x = RIGHT - 6 * STEP + 2
    numbers: list[Box] = [(x, 300, x + 14, 340), (x, 100 + 20 * CELL, x + 14, 140 + 20 * CELL)]
    said: list[Kind] = ["main"] * len(TEXT) + ["fold"] * 5
    page = page_of(*TEXT, *numbers, *strip(RIGHT + 22), kinds=said)
    assert assert_order(page, WHOLE, keep_kinds=True) == said


def test_small_notes_above_the_frame_are_margin() -> None:
    notes: list[Box] = [(800.0 - 30 * k, 20, 822.0 - 30 * k, 70) for k in range(3)]
    said: list[Kind] = ["main"] * (len(TEXT) + 1) + ["margin"] * 2
    kinds = assert_order(page_of(*TEXT, *notes, kinds=said), WHOLE, keep_kinds=True)
    assert kinds[-3:] == ["margin"] * 3


def test_a_stamp_far_from_the_text_is_margin() -> None:
    """It has a frame of its own, and stands higher than the text."""
    stamp: list[Box] = [(1500, -60, 1540, 140), (1450, -60, 1490, 140)]
    box: list[Rule] = [((1430, -80), (1560, -80)), ((1430, 160), (1560, 160))]
    kinds = assert_order(page_of(*TEXT, *stamp), [*WHOLE, *box], keep_kinds=True)
    assert kinds[-2:] == ["margin"] * 2


def test_a_column_that_worn_rules_do_not_reach_is_text() -> None:
    part = [across(80, (4, 11)), across(FOOT + 20, (4, 11))]
    far = [column(0, 100, 14), *columns(range(4, 12), 100, 14)]
    assert set(assert_order(page_of(*far), part, keep_kinds=True)) == {"main"}


def test_only_kinds_of_lines_outside_change() -> None:
    said: list[Kind] = ["main", "note", "margin", "fold"]
    page = page_of(*columns(range(4), 100, 12), kinds=said)
    found = order_lines(page, keep_kinds=True, rules=[across(80)])
    assert {line.id: line.kind for line in found.lines} == {line.id: line.kind for line in page.lines}
    assert order_lines(replace(page, lines=()), rules=[across(80)]).lines == ()
