"""Stretches: nothing lost or moved, columns left as they are, all else behind a text in its place."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from page_strategies import any_text, example_page, pages, whole

from tongguocr.formats.pdf.columns import Stretch, find_stretches
from tongguocr.geometry import Box
from tongguocr.layout.columns import number_columns
from tongguocr.page import Kind, Line, Page

SCALE = 72 / 300


def stretches_of(*places: tuple[Box, Kind]) -> list[Stretch]:
    lines = [Line(f"l{n}", box, "天", kind) for n, (box, kind) in enumerate(places)]
    return find_on(Page("", 0, 0, tuple(lines)))


def find_on(page: Page) -> list[Stretch]:
    lines = number_columns(page).lines
    return find_stretches(lines, [line.box for line in lines], SCALE)


def shape(stretches: list[Stretch]) -> list[tuple[tuple[int, ...], bool]]:
    return [(stretch.lines, stretch.behind) for stretch in stretches]


def column(x: float, top: float = 100, bottom: float = 700) -> tuple[Box, Kind]:
    return (x, top, x + 40, bottom), "main"


def note(x: float, top: float, bottom: float) -> list[tuple[Box, Kind]]:
    return [((x + 21, top, x + 40, bottom), "note"), ((x, top, x + 19, bottom), "note")]


def test_columns_are_left_as_they_are() -> None:
    found = stretches_of(*(column(500 - 50 * n) for n in range(4)))
    assert shape(found) == [((n,), False) for n in range(4)]
    assert {stretch.breadth for stretch in found} == {40}


def test_a_note_stands_between_the_parts_of_its_column() -> None:
    parts = [column(500, 100, 300), *note(500, 305, 400), column(500, 410, 700)]
    found = stretches_of(*parts, column(450))
    assert shape(found) == [((0,), False), ((1, 2), True), ((3,), False), ((4,), False)]
    assert found[1].place == (500, 300, 540, 410)


def test_the_next_part_of_a_column_is_told_apart() -> None:
    """Poppler would take two parts of one column that follow each other for one line."""
    found = stretches_of(column(500, 100, 300), column(500, 310, 700))
    assert shape(found) == [((0,), False), ((1,), True)]


def test_a_margin_goes_with_the_column_before_it_or_the_first() -> None:
    margin: tuple[Box, Kind] = ((300, 10, 320, 60), "margin")
    assert shape(stretches_of(column(500), margin, column(450))) == [
        ((0,), False),
        ((1,), True),
        ((2,), False),
    ]
    assert shape(stretches_of(margin, column(500))) == [((0,), True), ((1,), False)]


def test_a_second_register_goes_with_the_last_column_of_the_first() -> None:
    upper = [column(x, 100, 300) for x in (500, 450)]
    lower = [column(x, 400, 700) for x in (500, 450)]
    found = stretches_of(*upper, *lower)
    # The last column of the lower register stands below that of the upper, and may stay as it is.
    assert shape(found) == [((0,), False), ((1,), False), ((2,), True), ((3,), False)]
    assert found[2].place == (450, 300, 490, 400)


def test_columns_that_do_not_stand_side_by_side_are_put_behind_one_text() -> None:
    assert shape(stretches_of(column(500, 400, 700), column(450, 100, 300))) == [((0, 1), True)]


def test_the_golden_page() -> None:
    page = example_page()
    found = find_on(replace(page, lines=tuple(line for line in page.lines if line.text)))
    assert shape(found) == [((0,), False), ((1, 2), True), ((3,), False), ((4,), True)]


@given(pages(any_text, whole))
def test_every_line_comes_once_and_in_order(page: Page) -> None:
    found = find_on(page)
    assert [n for stretch in found for n in stretch.lines] == list(range(len(page.lines)))
    for stretch in found:
        x0, y0, x1, y1 = stretch.place
        assert 0 <= x0 <= x1 and y0 <= y1
        assert stretch.behind or len(stretch.lines) == 1
