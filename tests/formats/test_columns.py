"""Columns: which lines belong to one, with notes in any part of it."""

from __future__ import annotations

from hypothesis import given
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES

from tongguocr.formats import read_page
from tongguocr.formats.columns import column_starts, find_units
from tongguocr.page import Direction, Kind, Line, Page

Place = tuple[float, float, float, float, Kind]


def lines_at(*places: Place) -> list[Line]:
    return [Line(f"l{n}", place[:4], "天", place[4]) for n, place in enumerate(places)]


def units_of(lines: list[Line]) -> list[tuple[int, ...]]:
    return [unit.lines for unit in find_units(lines, [line.box for line in lines])]


def test_the_rows_of_a_note_are_one_unit() -> None:
    main, right, left = (50, 0, 90, 99, "main"), (70, 100, 88, 200, "note"), (52, 100, 69, 180, "note")
    assert units_of(lines_at(main, right, left)) == [(0,), (1, 2)]
    assert units_of(lines_at(main, left, right)) == [(0,), (1,), (2,)]
    # One row at the foot of a column, the next note at the head of the next: no pair.
    assert units_of(lines_at((70, 150, 88, 200, "note"), (30, 0, 48, 100, "note"))) == [(0,), (1,)]


def test_two_columns_of_notes_are_two() -> None:
    rows = [
        (70, 0, 88, 200, "note"),
        (52, 0, 69, 200, "note"),
        (30, 0, 48, 200, "note"),
        (12, 0, 29, 90, "note"),
    ]
    assert column_starts(lines_at(*rows)) == [0, 2]


def test_a_column_goes_on_below_its_notes() -> None:
    first = [(50, 0, 90, 99, "main"), (70, 100, 88, 200, "note"), (52, 100, 69, 180, "note")]
    second = [(50, 201, 90, 300, "main"), (5, 0, 45, 300, "main")]
    assert column_starts(lines_at(*first, *second)) == [0, 4]


def test_a_second_register_begins_anew() -> None:
    """The columns of the lower register stand below those of the upper."""
    upper = [(50, 0, 90, 99, "main"), (5, 0, 45, 99, "main")]
    lower = [(50, 120, 90, 200, "main"), (5, 120, 45, 200, "main")]
    assert column_starts(lines_at(*upper, *lower)) == [0, 1, 2, 3]
    assert column_starts(lines_at(lower[0], upper[0])) == [0, 1]


def test_margins_folds_and_horizontal_lines_are_in_no_column() -> None:
    lines = lines_at((50, 0, 90, 99, "main"), (0, 0, 9, 99, "fold"), (50, 100, 90, 199, "main"))
    assert column_starts(lines) == [0]
    direction: Direction = "right-to-left"
    assert column_starts([Line("a", (0, 0, 99, 9), "天地", direction=direction)]) == []


def test_the_examples_have_their_columns() -> None:
    assert column_starts(example_page().lines) == [0, 3]
    starts = column_starts(read_page(EXAMPLES / "page.json").lines)
    assert [n + 1 for n in starts] == [1, 4, 6, 8, 11, 14, 17, 20, 23, 24, 25]


@given(pages(any_text, floats))
def test_every_line_is_in_one_unit_in_its_order(page: Page) -> None:
    assert [n for unit in units_of(list(page.lines)) for n in unit] == list(range(len(page.lines)))
    assert sorted(set(column_starts(page.lines))) == column_starts(page.lines)
