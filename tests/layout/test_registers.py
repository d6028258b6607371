"""Registers, and the gaps of verses that are none: what a drawn rule, a wide blank and the columns say."""

from __future__ import annotations

import pytest
from drawn_pages import CELL, across, assert_order, column, columns, down, page_of

from tongguocr.geometry import Box
from tongguocr.layout.frame import Rule

TEN = range(10)


def two(length: float, gap: float = 1.0, numbers: range = TEN) -> tuple[list[Box], list[Box], float]:
    """Upper and lower halves of so many characters, and the middle of the gap between them."""
    foot = 100 + CELL * length
    lower = foot + CELL * gap
    return columns(numbers, 100, length), columns(numbers, lower, length), (foot + lower) / 2


def by_column(*bands: list[Box]) -> list[Box]:
    return [box for pieces in zip(*bands, strict=True) for box in pieces]


def test_a_rule_parts_registers_however_short_their_columns() -> None:
    for length in (5, 17):
        upper, lower, y = two(length)
        assert_order(page_of(*upper, *lower), [across(y)])


def test_a_broken_rule_parts_them_too() -> None:
    upper, lower, y = two(7)
    pieces = [across(y, (0, 1)), across(y + 3, (4, 5)), across(y, (8, 8))]
    assert_order(page_of(*upper, *lower), pieces)


def test_a_rule_of_half_the_width_is_a_seals() -> None:
    upper, lower, y = two(7)
    assert_order(page_of(*by_column(upper, lower)), [across(y, (3, 7))])


def test_without_a_rule_a_gap_parts_long_columns_and_not_short_ones() -> None:
    upper, lower, _ = two(14)
    assert_order(page_of(*upper, *lower), [])
    upper, lower, _ = two(7)
    assert_order(page_of(*by_column(upper, lower)), [])


def test_where_nobody_looked_for_rules_even_pieces_are_verse_and_uneven_ones_are_not() -> None:
    upper, lower, _ = two(7)
    assert_order(page_of(*by_column(upper, lower)), None)
    uneven = [column(n, 100, length) for n, length in enumerate((7, 7, 4, 7, 2, 7, 5, 7, 7, 3))]
    assert_order(page_of(*uneven, *lower), None)


def test_full_columns_among_halved_ones() -> None:
    upper, lower, y = two(7, gap=3)
    boxes = by_column(upper, lower)
    boxes[8:10] = [column(4, 100, 17)]
    assert_order(page_of(*boxes), [])
    assert_order(page_of(*boxes), [across(y - 100), across(y + 2000)])


def test_quarters_of_columns_and_one_that_ends_early() -> None:
    bands = [columns(TEN, 100 + k * 6 * CELL, 5) for k in range(4)]
    boxes = by_column(*bands)
    assert_order(page_of(*boxes[:-2]), [])


def test_verse_in_two_registers_with_a_rule() -> None:
    bands = [columns(TEN, 100 + k * 8 * CELL, 7) for k in range(4)]
    y = 100 + 16 * CELL - CELL / 2
    assert_order(page_of(*by_column(*bands[:2]), *by_column(*bands[2:])), [across(y)])


def test_verse_in_two_registers_without_a_rule_by_the_wider_gap() -> None:
    tops = (100, 100 + 8 * CELL, 100 + 18 * CELL, 100 + 26 * CELL)
    bands = [columns(TEN, top, 7) for top in tops]
    assert_order(page_of(*by_column(*bands[:2]), *by_column(*bands[2:])), [])


def test_two_verses_of_different_forms_side_by_side() -> None:
    right = by_column(columns(range(5), 100, 5), columns(range(5), 100 + 7 * CELL, 5))
    left = by_column(columns(range(5, 10), 100, 6), columns(range(5, 10), 100 + 7 * CELL, 6))
    assert_order(page_of(*right, *left), [])


def test_rules_between_columns_tell_where_a_register_ends() -> None:
    upper, lower, _ = two(7, gap=2)
    foot, head = 100 + 7.25 * CELL, 100 + 8.75 * CELL
    stop = [down(n, a, b) for n in range(1, 10) for a, b in ((90.0, foot), (head, head + 290))]
    assert_order(page_of(*upper, *lower), stop)
    through = [down(n, 90, head + 290) for n in range(1, 10)]
    assert_order(page_of(*by_column(upper, lower)), through)


def test_long_columns_through_whose_gap_the_rules_between_them_run() -> None:
    """A list in which each column is a long entry and a short one: no register, if nothing is drawn."""
    upper, lower, y = two(11, gap=2)
    rules = [down(n, 90, 1200) for n in range(1, 10)]
    assert_order(page_of(*by_column(upper, lower)), rules)
    assert_order(page_of(*upper, *lower), [*rules, across(y)])


def test_three_registers_the_last_of_one_column() -> None:
    top, middle = columns(TEN, 100, 12), columns(TEN, 100 + 13 * CELL, 12)
    last = [column(0, 100 + 26 * CELL, 12)]
    assert_order(page_of(*top, *middle, *last), [])
    rules = [across(100 + 12.5 * CELL), across(100 + 25.5 * CELL)]
    assert_order(page_of(*top, *middle, *last), rules)
    assert_order(page_of(*top[:1], *middle, *last), rules)


def test_short_columns_of_prose_make_registers_though_no_rule_is_drawn() -> None:
    lengths = (8, 8, 1, 8, 8, 2, 8, 1, 8, 8)
    upper = [column(n, 100, length) for n, length in enumerate(lengths)]
    lower = [column(n, 100 + 10 * CELL, length) for n, length in enumerate(reversed(lengths))]
    assert_order(page_of(*upper, *lower), [])


def test_a_rule_that_a_line_crosses_still_parts_the_others() -> None:
    upper, lower, y = two(12)
    crossing = column(10, 100, 25)
    page = page_of(*upper, *lower, crossing)
    assert_order(page, [across(y, (0, 10))])


def test_a_table_some_of_whose_rules_are_worn() -> None:
    tops = [100 + k * 5 * CELL for k in range(4)]
    rows = [[column(n, top, 1 + (3 * n + k) % 4) for n in TEN] for k, top in enumerate(tops)]
    whole = [across(top - CELL / 4) for top in tops[1:]]
    boxes = [box for row in rows for box in row]
    assert_order(page_of(*boxes), whole)
    assert_order(page_of(*boxes), [whole[0], across(tops[2] - CELL / 4, (0, 0)), whole[2]])


def test_strokes_of_characters_are_no_rules() -> None:
    """Long strokes at the feet of the upper pieces of a verse, and some in the middle of others."""
    upper, lower, _ = two(5)
    strokes = [((x0 + 5, y1 - 6), (x1 - 5, y1 - 6)) for x0, _, x1, y1 in upper]
    strokes += [((x0 + 20, y0 + 10), (x0 + 20, y1 - 10)) for x0, y0, _, y1 in upper + lower]
    assert_order(page_of(*by_column(upper, lower)), strokes)


@pytest.mark.parametrize("rule", [None, across(100 + 12.5 * CELL)])
def test_a_column_left_empty_is_no_gutter_where_the_frame_runs_over_it(rule: Rule | None) -> None:
    numbers = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]
    upper, lower = columns(numbers, 100, 12), columns(numbers, 100 + 13 * CELL, 12)
    frame = [across(80, (0, 11)), across(120 + 25 * CELL, (0, 11))]
    assert_order(page_of(*upper, *lower), [*frame, *([rule] if rule else [])])
    right, left = slice(0, 5), slice(5, 10)
    leaves = [*upper[right], *lower[right], *upper[left], *lower[left]]
    halves = [across(y, part) for y in (80, 120 + 25 * CELL) for part in ((0, 4), (7, 11))]
    assert_order(page_of(*leaves), halves)
