"""Columns: which lines belong to one, with notes in any part of it, in whatever way the page is written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES

from tongguocr.formats import read_page
from tongguocr.formats.pdf.columns import find_units
from tongguocr.layout.columns import number_columns, register_starts, text_columns
from tongguocr.page import Direction, Kind, Line, Page

Place = tuple[float, float, float, float, Kind]


def lines_at(*places: Place) -> list[Line]:
    return [Line(f"l{n}", place[:4], "天", place[4]) for n, place in enumerate(places)]


def numbered(lines: list[Line] | tuple[Line, ...]) -> tuple[Line, ...]:
    return number_columns(Page("", 0, 0, tuple(lines))).lines


def starts_of(lines: list[Line] | tuple[Line, ...]) -> list[int]:
    return [column[0] for column in text_columns(numbered(lines))]


def places_of(lines: list[Line] | tuple[Line, ...]) -> list[tuple[int | None, int | None]]:
    return [(line.column, line.row) for line in numbered(lines)]


def units_of(lines: list[Line] | tuple[Line, ...]) -> list[tuple[int, ...]]:
    return [unit.lines for unit in find_units(numbered(lines), [line.box for line in lines])]


def test_the_rows_of_a_note_are_one_unit() -> None:
    main, right, left = (50, 0, 90, 99, "main"), (70, 100, 88, 200, "note"), (52, 100, 69, 180, "note")
    assert units_of(lines_at(main, right, left)) == [(0,), (1, 2)]
    assert places_of(lines_at(main, right, left)) == [(0, 0), (0, 0), (0, 1)]
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
    assert starts_of(lines_at(*rows)) == [0, 2]
    assert places_of(lines_at(*rows)) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_column_goes_on_below_its_notes() -> None:
    first = [(50, 0, 90, 99, "main"), (70, 100, 88, 200, "note"), (52, 100, 69, 180, "note")]
    second = [(50, 201, 90, 300, "main"), (5, 0, 45, 300, "main")]
    assert starts_of(lines_at(*first, *second)) == [0, 4]


def test_a_row_alone_belongs_to_the_main_text_below_it_or_above() -> None:
    """Its middle may lie outside of what it begins, and it may overlap what it follows by little."""
    beginning: list[Place] = [(241, 213, 289, 260, "note"), (211, 279, 267, 601, "main")]
    assert places_of(lines_at(*beginning)) == [(0, 0), (0, 0)]
    wide_rows: list[Place] = [
        (1087, 307, 1125, 555, "main"),
        (1107, 563, 1146, 711, "note"),
        (1064, 564, 1106, 709, "note"),
    ]
    assert places_of(lines_at(*wide_rows)) == [(0, 0), (0, 0), (0, 1)]


def test_a_second_register_begins_anew() -> None:
    """The columns of the lower register stand below those of the upper."""
    upper = [(50, 0, 90, 99, "main"), (5, 0, 45, 99, "main")]
    lower = [(50, 120, 90, 200, "main"), (5, 120, 45, 200, "main")]
    assert starts_of(lines_at(*upper, *lower)) == [0, 1, 2, 3]
    assert starts_of(lines_at(lower[0], upper[0])) == [0, 1]


def test_margins_and_folds_are_in_no_column_of_text() -> None:
    lines = lines_at((50, 0, 90, 99, "main"), (0, 0, 9, 99, "fold"), (50, 100, 90, 199, "main"))
    assert starts_of(lines) == [0]
    assert [column for column, _ in places_of(lines)] == [0, 1, 0], "the text's column goes on"
    direction: Direction = "right-to-left"
    assert starts_of([Line("a", (0, 0, 99, 9), "天地", direction=direction)]) == [0]


@pytest.mark.parametrize("mode", ["vertical-rl", "vertical-lr", "horizontal"])
def test_every_way_of_writing_has_columns_and_rows(mode: str) -> None:
    boxes = [(50, 0, 90, 99), (70, 100, 88, 200), (52, 100, 69, 180), (50, 201, 90, 300), (5, 0, 45, 300)]
    kinds: list[Kind] = ["main", "note", "note", "main", "main"]
    turn = {
        "vertical-rl": lambda b: b,
        "vertical-lr": lambda b: (100 - b[2], b[1], 100 - b[0], b[3]),
        "horizontal": lambda b: (b[1], 100 - b[2], b[3], 100 - b[0]),
    }
    direction: Direction = "left-to-right" if mode == "horizontal" else "top-to-bottom"
    lines = tuple(
        Line(f"l{k}", turn[mode](box), kind=kind, direction=direction)
        for k, (box, kind) in enumerate(zip(boxes, kinds, strict=True))
    )
    found = number_columns(Page("", 300, 300, lines), mode)  # type: ignore[arg-type]
    assert [(x.column, x.row) for x in found.lines] == [(0, 0), (0, 0), (0, 1), (0, 0), (1, 0)]


def half_leaf(kind: Kind = "main") -> list[Line]:
    """Three columns, the second with a note in the middle."""
    places: list[Place] = [
        (100, 0, 140, 400, "main"),
        (50, 0, 90, 200, "main"),
        (71, 205, 89, 300, kind),
        (51, 205, 69, 300, kind),
        (50, 305, 90, 400, "main"),
        (0, 0, 40, 400, "main"),
    ]
    return lines_at(*places)


def test_notes_without_kinds_are_told_by_their_place() -> None:
    places = [(0, 0), (1, 0), (1, 0), (1, 1), (1, 0), (2, 0)]
    assert places_of(half_leaf("note")) == places
    assert places_of(half_leaf()) == places
    assert {line.kind for line in numbered(half_leaf())} == {"main"}, "kinds stay"


def test_thin_columns_beside_each_other_are_no_note() -> None:
    """Without main text above or below them, two thin lines are two columns, as in a list of names."""
    thick: list[Place] = [(200 + 60 * k, 0, 250 + 60 * k, 500, "main") for k in (2, 1, 0)]
    thin: list[Place] = [(160, 0, 188, 500, "main"), (130, 0, 158, 500, "main")]
    assert starts_of(lines_at(*thick, *thin)) == [0, 1, 2, 3, 4]


def test_what_is_known_stays() -> None:
    page = Page("", 200, 500, tuple(half_leaf("note")))
    found = number_columns(page)
    assert number_columns(found) is found
    moved = replace(found, lines=tuple(replace(x, column=(x.column or 0) + 5) for x in found.lines))
    assert number_columns(moved) is moved
    unknown = replace(found, lines=(*found.lines[:-1], replace(found.lines[-1], column=None)))
    assert [x.column for x in number_columns(unknown).lines] == [x.column for x in found.lines]
    assert found == page, "what no file holds does not count when pages are compared"


def test_the_examples_have_their_columns() -> None:
    assert starts_of(example_page().lines) == [0, 3]
    starts = starts_of(read_page(EXAMPLES / "page.json").lines)
    assert [n + 1 for n in starts] == [1, 4, 6, 8, 11, 14, 17, 20, 23, 24, 25]


@given(pages(any_text, floats))
def test_every_line_is_in_one_unit_in_its_order(page: Page) -> None:
    assert [n for unit in units_of(list(page.lines)) for n in unit] == list(range(len(page.lines)))
    assert sorted(set(starts_of(page.lines))) == starts_of(page.lines)
    columns = [column for column, _ in places_of(page.lines) if column is not None]
    assert sorted(set(columns)) == list(range(max(columns, default=-1) + 1)), "counted as they are read"


def registers_of(*boxes: tuple[float, float, float, float]) -> list[int]:
    return register_starts(numbered([Line(f"l{n}", box, "天地玄黃") for n, box in enumerate(boxes)]))


def test_registers_begin_on_the_right_below_the_one_before() -> None:
    upper, lower = ([(x, y, x + 40, y + 180) for x in (150, 100, 50)] for y in (0, 200))
    assert registers_of(*upper, *lower) == [0, 3]
    assert registers_of(*upper) == [0] and registers_of() == []
    uneven = [upper[0], (100, 0, 140, 60), upper[2], *lower]
    assert registers_of(*uneven) == [0, 3], "a column that ends early is no other register"
    spread = [*upper, *((x - 200, y, x1 - 200, y1) for x, y, x1, y1 in upper)]
    assert registers_of(*spread) == [0]


def test_columns_of_a_page_in_rows_are_its_registers() -> None:
    boxes = [(x, y, x + 180, y + 20) for x in (0, 200) for y in (0, 30, 60)]
    rows = [Line(f"l{n}", box, "天地", direction="left-to-right") for n, box in enumerate(boxes)]
    assert register_starts(numbered(rows)) == [0, 3]
