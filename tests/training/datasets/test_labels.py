"""Characters find their lines, spell them exactly, or stay away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tongguocr.geometry import Box
from tongguocr.page import Char, Line
from tongguocr.training.datasets.labels import attach_chars


def column(name: str, text: str, x: float, polygon: bool = False) -> Line:
    box: Box = (x, 0, x + 10, 10 * max(1, len(text)))
    corners = ((box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3]))
    return Line(name, box, text, polygon=corners if polygon else None)


def char(text: str, x: float, row: float) -> Char:
    return Char(text, (x, 10 * row, x + 10, 10 * row + 10))


def spelled(lines: tuple[Line, ...]) -> list[str]:
    return ["".join(c.text for c in line.chars) for line in lines]


def test_characters_go_to_the_line_around_them_in_its_order() -> None:
    lines = [column("a", "天地", 20, polygon=True), column("b", "玄黃", 0)]
    chars = [char("地", 20, 1), char("黃", 0, 1), char("玄", 0, 0), char("天", 20, 0)]
    assert spelled(attach_chars(lines, chars)) == ["天地", "玄黃"]
    assert [c.box for c in attach_chars(lines, chars)[0].chars] == [(20, 0, 30, 10), (20, 10, 30, 20)]


def test_horizontal_lines_go_along_x_either_way() -> None:
    chars = [Char("天", (0, 0, 10, 10)), Char("地", (10, 0, 20, 10))]
    right, left = Line("a", (0, 0, 20, 10), "天地"), Line("a", (0, 0, 20, 10), "地天")
    for line, direction in ((right, "left-to-right"), (left, "right-to-left")):
        lines = [Line(line.id, line.box, line.text, direction=direction)]  # type: ignore[arg-type]
        assert spelled(attach_chars(lines, chars)) == [line.text]


def test_where_lines_overlap_the_text_decides_then_the_nearest() -> None:
    lines = [Line("a", (0, 0, 12, 20), "天地"), Line("b", (8, 0, 20, 20), "玄地")]
    chars = [
        Char(c, box) for c, box in (("天", (5, 0, 13, 8)), ("玄", (5, 0, 13, 8)), ("地", (10, 10, 20, 20)))
    ]
    found = attach_chars(lines, [*chars, Char("地", (0, 10, 10, 20))])
    assert spelled(found) == ["天地", "玄地"]
    assert found[0].chars[1].box == (0, 10, 10, 20)


def test_a_slanted_outline_counts_before_the_box() -> None:
    slanted = Line("a", (0, 0, 40, 100), "天", polygon=((30, 0), (40, 0), (10, 100), (0, 100)))
    beside = Line("b", (0, 0, 40, 100), "天", polygon=((0, 0), (10, 0), (10, 40), (0, 40)))
    assert spelled(attach_chars([slanted, beside], [Char("天", (2, 2, 8, 8))])) == ["", "天"]
    assert spelled(attach_chars([slanted], [Char("天", (2, 2, 8, 8))])) == ["天"]


def test_the_files_order_counts_where_places_do_not_tell() -> None:
    line = column("a", "天地玄", 0)
    chars = [char("天", 0, 0), Char("地", (5, 12, 10, 18)), Char("玄", (0, 11, 5, 17))]
    assert spelled(attach_chars([line], chars)) == ["天地玄"]


def test_a_stray_box_is_left_out_only_if_one_way_is_left() -> None:
    line = column("a", "天地玄", 0)
    chars = [char("天", 0, 0), char("註", 0, 0.5), char("地", 0, 1), char("玄", 0, 2)]
    assert spelled(attach_chars([line], chars)) == ["天地玄"]
    twice = [char("天", 0, 0), char("地", 0, 1), char("地", 0, 1.2), char("玄", 0, 2)]
    assert spelled(attach_chars([line], twice)) == [""]


def test_a_missing_or_different_character_leaves_the_line_without() -> None:
    line = column("a", "天地玄", 0)
    assert spelled(attach_chars([line], [char("天", 0, 0), char("玄", 0, 2)])) == [""]
    assert spelled(attach_chars([line], [char("天", 0, 0), char("池", 0, 1), char("玄", 0, 2)])) == [""]
    assert spelled(attach_chars([line], [char("天", 50, 0)])) == [""]


def test_white_space_in_the_text_needs_no_box() -> None:
    assert spelled(attach_chars([column("a", "天　地", 0)], [char("天", 0, 0), char("地", 0, 2)])) == ["天地"]


@given(st.lists(st.text("天地玄黃", min_size=1, max_size=5), max_size=4), st.randoms())
def test_complete_labels_always_fit_in_any_order(texts: list[str], random: object) -> None:
    lines = [column(f"l{n}", text, 20 * n) for n, text in enumerate(texts)]
    chars = [char(c, 20 * n, row) for n, text in enumerate(texts) for row, c in enumerate(text)]
    random.shuffle(chars)  # type: ignore[attr-defined]
    assert spelled(attach_chars(lines, chars)) == texts
