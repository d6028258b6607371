"""Double-row notes at the head of a column or its foot, filling it, of odd length, as thick as main text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from detector_pages import column

from tongguocr.geometry import Box, union
from tongguocr.layout.notes import find_columns, mend_kinds
from tongguocr.page import Char, Kind, Line


def rows(middle: float, top: float, right: float, left: float, thick: float = 18.0) -> list[Box]:
    """A note about a column's middle: right row, then left row, of these lengths."""
    return [
        (middle + 10 - thick / 2, top, middle + 10 + thick / 2, top + right),
        (middle - 10 - thick / 2, top, middle - 10 + thick / 2, top + left),
    ]


def main(middle: float, top: float, bottom: float, thick: float = 40.0) -> Box:
    return (middle - thick / 2, top, middle + thick / 2, bottom)


def found(*boxes: Box) -> list[tuple[int, int]]:
    columns = find_columns(np.array(boxes, np.float64))
    return [(int(c), int(s)) for c, s in zip(columns.column, columns.side, strict=True)]


def test_head_foot_and_middle_of_a_column() -> None:
    boxes = [
        *rows(500, 100, 200, 180),
        main(500, 305, 900),
        main(456, 100, 600),
        *rows(456, 605, 290, 200),
        main(412, 100, 300),
        *rows(412, 305, 100, 100),
        main(412, 410, 900),
    ]
    sides = [1, -1, 0, 0, 1, -1, 0, 1, -1, 0]
    assert found(*boxes) == list(zip([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], sides, strict=True))


def test_columns_of_nothing_but_notes_keep_step_with_their_neighbours() -> None:
    boxes = [main(500, 100, 400), *rows(500, 405, 495, 495)]
    for k in range(1, 5):
        boxes += rows(500 - 44 * k, 100, 800, 800)
    boxes.append(main(500 - 44 * 5, 100, 900))
    columns = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert found(*boxes) == list(zip(columns, [0, *[1, -1] * 5, 0], strict=True))


def test_a_single_character_is_a_right_row_alone() -> None:
    boxes = [
        main(500, 100, 300),
        *rows(500, 305, 100, 90),
        main(456, 100, 300),
        rows(456, 305, 18, 0)[0],
        main(456, 330, 900),
    ]
    assert [side for _, side in found(*boxes)] == [0, 1, -1, 0, 1, 0]


def test_rows_as_thick_as_the_main_text_are_known_by_their_place() -> None:
    boxes = [
        main(500, 100, 300, 20),
        *rows(500, 305, 200, 190, 19),
        main(500, 510, 900, 20),
        main(452, 100, 900, 20),
        *rows(404, 100, 100, 100, 19),
        main(404, 205, 900, 20),
    ]
    assert [side for _, side in found(*boxes)] == [0, 1, -1, 0, 0, 1, -1, 0]


def test_columns_of_one_thickness_are_main_text() -> None:
    boxes = [main(500 - 21 * k, 100, 900, 20) for k in range(6)]
    assert found(*boxes) == [(k, 0) for k in range(6)]


def test_thin_rows_without_main_text_about_them_are_notes_beside_thick_columns() -> None:
    boxes = [main(500, 100, 900), *rows(456, 100, 800, 760), main(412, 100, 900), main(368, 100, 900)]
    assert found(*boxes) == [(0, 0), (1, 1), (1, -1), (2, 0), (3, 0)]


def known(boxes: list[Box], notes: list[int]) -> list[tuple[int, int]]:
    is_note = np.isin(np.arange(len(boxes)), notes)
    columns = find_columns(np.array(boxes, np.float64), is_note)
    return [(int(c), int(s)) for c, s in zip(columns.column, columns.side, strict=True)]


def test_a_known_row_without_a_partner_belongs_to_its_column() -> None:
    """A signature: 總纂官臣紀昀, the 臣 small and to the right."""
    boxes = [main(500, 100, 220), (502, 225, 522, 245), main(500, 250, 330), main(440, 100, 400)]
    assert known(boxes, [1]) == [(0, 0), (0, 1), (0, 0), (1, 0)]
    assert known([*boxes, (380, 225, 400, 245)], [1, 4])[4] == (2, 0), (
        "nothing stands above or below this one"
    )


def test_what_is_known_to_be_main_text_is_no_pair() -> None:
    """Two short columns above a third one that stands between them: by their places they could be a note."""
    boxes = [(510, 100, 540, 200), (470, 100, 500, 200), (490, 205, 520, 600)]
    assert found(*boxes) == [(0, 1), (0, -1), (0, 0)]
    assert [side for _, side in known(boxes, [])] == [0, 0, 0]
    assert known(boxes, [0, 1]) == [(0, 1), (0, -1), (0, 0)]


def test_what_is_known_decides_where_places_do_not() -> None:
    """A line between the middle of its column and the place of a right row, between both in thickness."""
    boxes = [main(500, 100, 300), *rows(500, 305, 200, 200), main(456, 100, 300), (446, 305, 476, 600)]
    assert found(*boxes)[4] == (1, 0)
    assert known(boxes, [1, 2])[4] == (1, 0)
    assert known(boxes, [1, 2, 4])[4] == (1, 1)


def line(boxes: list[Box], kind: Kind = "main") -> Line:
    return Line("", union(boxes), kind=kind, chars=tuple(Char("", box) for box in boxes))


def kinds(*lines: Line) -> list[str]:
    return [mended.kind for mended in mend_kinds(lines)]


def test_small_rows_side_by_side_are_a_note_whatever_was_said_of_them() -> None:
    text = [line(column(500 - 60 * k, 20, 12, size=40, pitch=42)) for k in range(3)]
    head = line(column(320, 20, 4, size=40, pitch=42))
    right, left = (line(column(x, 180, n, size=26, pitch=28)) for x, n in ((334, 9), (306, 4)))
    assert kinds(*text, head, right, left) == ["main"] * 4 + ["note"] * 2
    assert kinds(*text, head, right, replace(left, kind="note")) == ["main"] * 4 + ["note"] * 2
    lying, bare = replace(right, direction="left-to-right"), replace(right, chars=())
    assert kinds(*text, lying, bare, left) == ["main"] * 6


def test_a_small_row_alone_hangs_on_main_text() -> None:
    text = [line(column(500 - 60 * k, 20, 12, size=40, pitch=42)) for k in range(3)]
    head = line(column(320, 20, 4, size=40, pitch=42))
    for top, kind in ((185, "note"), (260, "main")):
        assert kinds(*text, head, line(column(334, top, 3, size=26, pitch=28)))[-1] == kind
    assert kinds(*text, head, line(column(320, 187, 1, size=40, across=18)))[-1] == "main", "卜 is narrow"


def test_small_columns_are_no_notes() -> None:
    text = [line(column(500 - 60 * k, 20, 12, size=40, pitch=42)) for k in range(3)]
    indented = [line(column(320 - 60 * k, 80, 12, size=28, pitch=30)) for k in range(2)]
    assert kinds(*text, *indented) == ["main"] * 5
    assert kinds(*indented, line(column(100, 20, 3), "fold")) == ["main", "main", "fold"]
    assert kinds() == []


@pytest.mark.parametrize("widths", [(0.0, 0.0, 0.0), (2.0, 0.0, 1e-160), (1.0, 1.0, 0.0)])
def test_lines_without_width_have_columns_too(widths: tuple[float, ...]) -> None:
    boxes = np.array([(0.0, 0.0, w, k) for k, w in enumerate(widths)])
    for notes in (None, np.array([False, True, True])):
        assert len(find_columns(boxes, notes).column) == 3
