"""Reading order: the public scorer's matching with its consequences, and our strict one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongguocr.evaluate.metrics import Order
from tongguocr.evaluate.order import match_quick, match_strict, quick_order, strict_order

PAGE = ["學而時習之不亦說乎", "有朋自遠方來不亦樂乎", "人不知而不慍不亦君子乎", "巧言令色鮮矣仁"]


def ratio(order: Order) -> float:
    return order.edits / order.length if order.length else 0.0


@pytest.mark.parametrize("order", [quick_order, strict_order])
def test_the_right_order_costs_nothing(order: type) -> None:
    assert order(PAGE, PAGE) == Order(0, 4, 4, 4)
    assert order([], []) == Order()
    assert order(PAGE, []) == Order(4, 4, 4, 0)


@pytest.mark.parametrize("order", [quick_order, strict_order])
def test_order_counts_not_characters(order: type) -> None:
    swapped = [PAGE[1], PAGE[0], PAGE[2], PAGE[3]]
    assert ratio(order(PAGE, swapped)) == 0.5
    assert ratio(order(PAGE, PAGE[::-1])) == 1.0
    worn = ["學而時□之不亦說乎", "有朋自遠方來不亦樂平", "人不知而不温不亦君子乎", "巧言令色鮮矣仁"]
    assert ratio(order(PAGE, worn)) == 0


@pytest.mark.parametrize("order", [quick_order, strict_order])
def test_a_missed_line_costs_one(order: type) -> None:
    assert order(PAGE, PAGE[:1] + PAGE[2:]) == Order(1, 4, 4, 3)


def test_surplus_lines_cost_in_strict_alone() -> None:
    surplus = [PAGE[0], "天地玄黃宇宙洪荒", *PAGE[1:]]
    assert quick_order(PAGE, surplus).edits == 0
    assert strict_order(PAGE, surplus) == Order(1, 5, 4, 4)


def test_quick_joins_a_line_that_was_cut() -> None:
    cut = [PAGE[0][:4], PAGE[0][4:], *PAGE[1:]]
    assert quick_order(PAGE, cut) == Order(0, 4, 4, 4)
    assert [group.reference for group in match_quick(PAGE, cut)] == [(0,), (1,), (2,), (3,)]
    assert strict_order(PAGE, cut) == Order(1, 5, 4, 4)  # the longer piece is the line, the other is surplus


def test_quick_finds_lines_inside_a_longer_one() -> None:
    """A model that breaks no lines has every reference line in its one line, in whatever order."""
    assert quick_order(PAGE, ["".join(PAGE)]) == Order(0, 4, 4, 4)
    assert quick_order(PAGE, ["".join(reversed(PAGE))]) == Order(0, 4, 4, 4)
    assert strict_order(PAGE, ["".join(PAGE)]).edits == 4


def test_quick_pairs_leftovers_by_force() -> None:
    nonsense = ["甲", "乙", "丙", "丁"]
    assert quick_order(PAGE, nonsense).found == 4
    assert strict_order(PAGE, nonsense) == Order(4, 4, 4, 0)


def test_quick_pairs_repeated_lines_as_the_public_scorer_does() -> None:
    """Ties are broken by scipy's solver, there and here."""
    reference = ["子曰", PAGE[0], "子曰", PAGE[1], "子曰"]
    found = match_quick(reference, [PAGE[0], "子曰", "子曰", PAGE[1]])
    assert [(group.place, group.reference) for group in found] == [
        (1, (0, 4)),
        (0, (1,)),
        (2, (2,)),
        (3, (3,)),
    ]


def test_strict_matches_repeated_lines_in_order() -> None:
    reference = ["子曰", PAGE[0], "子曰", PAGE[1], "子曰", PAGE[2]]
    assert strict_order(reference, reference).edits == 0
    worse = ["子曰", PAGE[0], "子日", PAGE[1], "子曰", PAGE[2]]
    assert match_strict(reference, worse) == [(i, i) for i in range(6)]
    shifted = ["天地", "玄黃", *reference]
    assert match_strict(reference, shifted) == [(i, i + 2) for i in range(6)]


def test_strict_prefers_the_nearest_of_equal_lines() -> None:
    assert match_strict(["子曰", PAGE[0], PAGE[1], "子曰"], [PAGE[0], PAGE[1], "子曰"]) == [
        (1, 0),
        (2, 1),
        (3, 2),
    ]


lines = st.lists(st.text("天地玄黃", min_size=1, max_size=5), max_size=7)


@given(lines, lines)
@settings(max_examples=150)
def test_bounds(reference: list[str], predicted: list[str]) -> None:
    for order in (quick_order(reference, predicted), strict_order(reference, predicted)):
        assert 0 <= order.edits <= order.length
        assert 0 <= order.found <= order.lines == len(reference)
    numbers = [i for group in match_quick(reference, predicted) for i in group.reference]
    assert len(numbers) == len(set(numbers))


@given(lines)
def test_a_page_matches_itself(page: list[str]) -> None:
    assert strict_order(page, page).edits == 0
