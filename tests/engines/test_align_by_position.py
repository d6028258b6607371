"""Lines as found to lines as given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import char_at, column, spread

from tongguocr.engines.align_by_position import align_by_position
from tongguocr.page import Char, Line

RIGHT, MIDDLE, LEFT = (column(name, x, 0, 40, 400) for name, x in (("r", 200), ("m", 140), ("l", 80)))
COLUMNS = (RIGHT, MIDDLE, LEFT)


def texts(found: list[tuple[Char, ...]], lines: tuple[Line, ...]) -> list[str]:
    readings, surplus = align_by_position(found, lines)
    assert not surplus
    return [reading.text for reading in readings]


def test_line_by_line() -> None:
    found = [spread("一二三", RIGHT.box), spread("四五", MIDDLE.box), spread("六", LEFT.box)]
    assert texts(found, COLUMNS) == ["一二三", "四五", "六"]


def test_places_that_are_a_little_off_do_no_harm() -> None:
    found = [
        spread("一二三", (225, 0, 265, 400)),
        spread("四五", (165, 0, 205, 400)),
        spread("六", (105, 0, 145, 400)),
    ]
    assert texts(found, COLUMNS) == ["一二三", "四五", "六"]


def test_a_line_that_was_not_read_is_there_and_empty() -> None:
    readings, _ = align_by_position([spread("一二三", RIGHT.box), spread("六", LEFT.box)], COLUMNS)
    assert [(r.text, r.status) for r in readings] == [("一二三", "read"), ("", "empty"), ("六", "read")]


def test_a_note_inside_a_column_given_whole() -> None:
    above, right, left, below = (
        (200, 0, 240, 160),
        (220, 160, 240, 280),
        (200, 160, 220, 280),
        (200, 280, 240, 400),
    )
    found = [spread(t, b) for t, b in (("一二", above), ("三四", right), ("五六", left), ("七", below))]
    assert texts([*found, spread("八", MIDDLE.box)], COLUMNS) == ["一二三四五六七", "八", ""]


def test_two_lines_read_in_one_go() -> None:
    assert texts([spread("一二三", RIGHT.box) + spread("四五", MIDDLE.box)], COLUMNS) == [
        "一二三",
        "四五",
        "",
    ]


def test_rows_of_a_note_go_to_their_own_lines() -> None:
    right, left = column("a", 220, 0, 24, 200), column("b", 200, 0, 24, 200)
    found = [spread("一二三", right.box), spread("四五六", left.box)]
    assert texts(found, (right, left)) == ["一二三", "四五六"]


def test_without_any_sense_of_place_the_count_decides() -> None:
    found = [tuple(char_at(c, 220, 20) for c in text) for text in ("一二", "三", "四五")]
    readings, surplus = align_by_position(found, COLUMNS)
    kept = "".join(r.text for r in readings) + "".join(c.text for s in surplus for c in s.chars)
    assert kept == "一二三四五"


def test_text_beside_all_lines_is_surplus_and_says_where() -> None:
    far = spread("外", (900, 0, 940, 40))
    readings, surplus = align_by_position(
        [spread("一", RIGHT.box), far, spread("四", MIDDLE.box)], (RIGHT, MIDDLE)
    )
    assert [r.text for r in readings] == ["一", "四"]
    assert [("".join(c.text for c in s.chars), s.after) for s in surplus] == [("外", 0)]


def test_no_lines_or_no_text() -> None:
    for found in ([], [()], [(), ()]):
        readings, surplus = align_by_position(found, COLUMNS)
        assert [r.status for r in readings] == ["empty"] * 3 and not surplus
    readings, surplus = align_by_position([spread("一", RIGHT.box)], ())
    assert readings == () and surplus[0].chars[0].text == "一"


points = st.tuples(st.integers(-500, 1000), st.integers(-500, 1000))


@given(st.lists(st.lists(points, max_size=6), max_size=6), st.integers(0, 5))
def test_nothing_is_lost_and_nothing_twice(places: list[list[tuple[int, int]]], count: int) -> None:
    lines = tuple(column(str(k), 60 * k, 0, 40, 300) for k in range(count))
    numbers = iter(range(1000))
    found = [[char_at(chr(0x4E00 + next(numbers)), x, y) for x, y in line] for line in places]
    readings, surplus = align_by_position(found, lines)
    assert len(readings) == count
    kept = [c.text for r in readings for c in r.chars] + [c.text for s in surplus for c in s.chars]
    assert sorted(kept) == [chr(0x4E00 + k) for k in range(sum(map(len, places)))]
    assert [c.text for r in readings for c in r.chars] == sorted(c.text for r in readings for c in r.chars)
    assert all((r.status == "read") == bool(r.chars) for r in readings)
    assert all(-1 <= s.after < max(count, 1) for s in surplus)
