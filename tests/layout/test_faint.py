"""Lines that show through from the other side are dropped, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from detector_pages import characters, column, paint

from tongguocr.layout.faint import drop_faint, look_at, page_levels
from tongguocr.layout.link import make_lines
from tongguocr.page import Line, Pixels

COLUMNS = [column(x, 40, 8) for x in (240, 190, 140, 90)]


def lines() -> tuple[Line, ...]:
    return make_lines(characters(COLUMNS), [np.arange(8 * k, 8 * k + 8) for k in range(4)])


def with_greys(*greys: int) -> Pixels:
    """The four columns, each in a grey of its own, on paper of 230."""
    page = np.full((340, 300), 230, np.uint8)
    for grey, boxes in zip(greys, COLUMNS, strict=True):
        page[paint([boxes], 300, 340) < 100] = grey
    return page


def kept(page: Pixels) -> list[str]:
    return [line.id for line in drop_faint(lines(), page)]


def test_a_line_much_fainter_than_the_others_is_dropped() -> None:
    assert kept(with_greys(40, 40, 50, 60)) == ["l1", "l2", "l3", "l4"]
    assert kept(with_greys(40, 40, 40, 195)) == ["l1", "l2", "l3"]


def test_nothing_is_left_where_all_of_it_shows_through() -> None:
    page = with_greys(212, 215, 210, 212)
    page[:, :12] = 20
    assert kept(page) == []


def test_a_pale_page_stays() -> None:
    assert len(kept(with_greys(212, 215, 210, 212))) == 4


def test_slices_of_the_fold_stay_and_colours_are_seen() -> None:
    page = with_greys(40, 40, 40, 200)
    fold = [replace(line, kind="fold") if line.id == "l4" else line for line in lines()]
    assert len(drop_faint(fold, page)) == 4
    assert drop_faint([], page) == ()
    assert len(drop_faint(lines(), np.stack([page] * 3, -1))) == 3


def test_white_characters_in_a_dark_field_stay() -> None:
    page = with_greys(40, 40, 40, 40)
    x0, y0, x1, y1 = lines()[3].box
    page[int(y0) : int(y1), int(x0) : int(x1)] = 45
    page[int(y0) + 10 : int(y1) : 9, int(x0) : int(x1)] = 70
    assert len(kept(page)) == 4


def test_levels_are_those_of_ink_and_paper() -> None:
    page = with_greys(40, 90, 40, 40)
    assert [look_at(line, page)[0] for line in lines()[:2]] == [190, 140]
    assert page_levels(page) == (40, 230)
    far = replace(lines()[0], box=(900.0, 900.0, 950.0, 990.0), chars=())
    assert look_at(far, page)[0] == 0, "beyond the page"
