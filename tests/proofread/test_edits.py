"""Edits: what each does to a page, and that every one can be taken back exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from proofread_books import edits, read_page_of, typed

from tongguocr.formats.page_json import parse_json, render_json
from tongguocr.geometry import union
from tongguocr.page import DIRECTIONS, KINDS, Char, Line, Page
from tongguocr.proofread.edits import EditError, apply_all, inverse_all, meet, touched
from tongguocr.proofread.models import Edit
from tongguocr.proofread.page_data import line_data, line_from, page_data, spelled
from tongguocr.proofread.store import EDITS

PAGE = read_page_of("p1")
FIRST = PAGE.lines[0]


def edited(*written: dict[str, object], page: Page = PAGE) -> Page:
    return apply_all(page, edits(*written))


def line_of(page: Page, name: str) -> Line:
    return next(line for line in page.lines if line.id == name)


@st.composite
def any_edit(draw: st.DrawFn, page: Page) -> dict[str, object]:
    """An edit that can be applied to this page, which has lines."""
    line = draw(st.sampled_from(page.lines))
    other = draw(st.sampled_from([one.id for one in page.lines if one.id != line.id] or [None]))
    new = draw(st.sampled_from([f"n{k}" for k in range(40) if f"n{k}" not in {one.id for one in page.lines}]))
    count = len(spelled(line).chars)
    at = draw(st.integers(0, count))
    x, y, wide, high = (draw(st.integers(0, 200)) for _ in range(4))
    box = [x, y, x + wide, y + high]
    word = draw(st.text("一丁七󠄀𠀀", max_size=4))
    choices: list[dict[str, object]] = [
        {
            "op": "text",
            "line": line.id,
            "at": at,
            "count": draw(st.integers(0, count - at)),
            "insert": [*word],
        },
        {"op": "text", "line": line.id, "at": at, "count": 0, "insert": ["丁"], "keep": True},
        {"op": "line", "line": line.id, "box": box, "kind": draw(st.sampled_from(KINDS))},
        {"op": "line", "line": line.id, "direction": draw(st.sampled_from(DIRECTIONS))},
        {"op": "line", "line": line.id, "points": [[x, y], [x + 5, y], [x, y + 9]]},
        {"op": "add", "line": {"id": new, "box": box, "text": word}, "before": other},
        {"op": "delete", "line": line.id},
        {"op": "move", "line": line.id, "before": other},
        {"op": "set", "line": {"id": line.id, "box": box, "text": word}},
        {"op": "restore", "lines": [{"id": new, "box": box, "text": word}]},
    ]
    if 0 < at < count:
        choices.append({"op": "split", "line": line.id, "at": at, "newLine": new})
    if other is not None:
        choices.append({"op": "join", "line": line.id, "next": other})
    return draw(st.sampled_from(choices))


@given(st.data())
def test_every_edit_can_be_taken_back(data: st.DataObject) -> None:
    page, done = PAGE, list[Edit]()
    for _ in range(data.draw(st.integers(1, 6))):
        assume(page.lines)
        done += (step := edits(data.draw(any_edit(page))))
        page = apply_all(page, step)
        for line in page.lines:
            assert line.text == "".join(char.text for char in spelled(line).chars)
    assert apply_all(page, inverse_all(PAGE, done)) == PAGE
    # The journal has them as JSON, and files have the page.
    written = EDITS.dump_json(done, by_alias=True, exclude_unset=True)
    assert apply_all(PAGE, EDITS.validate_json(written)) == page
    back = EDITS.dump_json(inverse_all(PAGE, done), by_alias=True)
    assert apply_all(page, EDITS.validate_json(back)) == PAGE


@given(st.data())
def test_a_page_of_any_edits_can_be_written_and_read(data: st.DataObject) -> None:
    page = PAGE
    for _ in range(data.draw(st.integers(1, 4))):
        assume(page.lines)
        page = apply_all(page, edits(data.draw(any_edit(page))))
    assert parse_json(render_json(page), Path("p1.json")) == replace(page, pixels=None)
    assert len(page_data(page).lines) == len(page.lines)


@given(st.data())
def test_edits_of_lines_that_do_not_meet_can_change_places(data: st.DataObject) -> None:
    one, two = (edits(data.draw(any_edit(PAGE)))[0] for _ in range(2))
    assume(not meet(touched(one), touched(two)))
    # Where lines stand among others is not theirs alone: their order may differ, and nothing else.
    try:
        ways = [apply_all(PAGE, order) for order in ((one, two), (two, one))]
    except EditError:
        assume(False)
    assert {line.id: line for line in ways[0].lines} == {line.id: line for line in ways[1].lines}


def test_one_character_for_another_keeps_its_place_and_what_stood_there() -> None:
    char = line_of(edited(typed("l1", 1, "他")), "l1").chars[1]
    assert (char.text, char.box, char.confidence) == ("他", FIRST.chars[1].box, 1.0)
    assert char.candidates == (("地", 0.5), ("池", 0.125))
    assert FIRST.confidence is not None
    assert (line_of(edited(typed("l1", 1, "他")), "l1").confidence or 0) > FIRST.confidence


def test_a_doubt_may_stay_one() -> None:
    kept = line_of(edited({**typed("l1", 1, "他"), "keep": True}), "l1").chars[1]
    assert kept.confidence == 0.5
    more = line_of(edited({**typed("l1", 1, "他池"), "keep": True}), "l1").chars[1:3]
    assert [char.confidence for char in more] == [0.5, 0.5]


def test_as_many_characters_take_the_places_of_those_they_replace() -> None:
    chars = line_of(edited(typed("l1", 1, "二三", 2)), "l1").chars
    assert [char.box for char in chars] == [char.box for char in FIRST.chars]
    assert [char.text for char in chars] == ["天", "二", "三", "黃"]
    assert chars[1].candidates == ()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("at", range(5))
def test_what_is_typed_between_two_stands_between_them(direction: str, at: int) -> None:
    page = edited({"op": "line", "line": "l1", "direction": direction})
    line = line_of(edited(typed("l1", at, "甲乙", 0), page=page), "l1")
    axis, sign = (1 if line.is_vertical else 0), (1 if direction in DIRECTIONS[:2] else -1)
    middles = [sign * (char.box[axis] + char.box[axis + 2]) for char in line.chars]
    assert middles == sorted(middles)
    assert line.text == "天地玄黃"[:at] + "甲乙" + "天地玄黃"[at:]
    for char in line.chars:
        assert union((char.box, line.box)) == line.box


def test_marks_stay_with_their_character() -> None:
    line = line_of(edited({**typed("l1", 0, ""), "insert": ["葛󠄀"]}), "l1")
    assert (line.text, [char.text for char in line.chars]) == ("葛󠄀地玄黃", ["葛󠄀", "地", "玄", "黃"])


def test_a_line_without_characters_gets_them_when_it_is_edited() -> None:
    bare = Page("", 100, 100, (Line("a", (0, 0, 10, 30), "一二三", confidence=0.5),))
    line = edited(typed("a", 1, "七"), page=bare).lines[0]
    assert line.chars[1] == Char("七", (0, 10, 10, 20), 1.0, (("二", 0.5),))
    assert line.chars[2] == Char("三", (0, 20, 10, 30), 0.5)


def test_characters_move_and_grow_with_their_line() -> None:
    x0, y0, x1, y1 = FIRST.box
    line = line_of(edited({"op": "line", "line": "l1", "box": [x0 - 20, y0, x1 - 20, (y0 + y1) / 2]}), "l1")
    for old, new in zip(FIRST.chars, line.chars, strict=True):
        assert new.box[0] == pytest.approx(old.box[0] - 20)
        assert new.box[3] - y0 == pytest.approx((old.box[3] - y0) / 2)


def test_an_outline_has_its_box_and_can_be_taken_away() -> None:
    outlined = edited({"op": "line", "line": "l1", "points": [[0, 0], [30, 5], [20, 90]]})
    assert outlined.lines[0].box == (0, 0, 30, 90)
    assert outlined.lines[0].polygon == ((0, 0), (30, 5), (20, 90))
    assert edited({"op": "line", "line": "l1", "points": []}, page=outlined).lines[0].polygon is None


def test_split_and_join() -> None:
    page = edited({"op": "split", "line": "l1", "at": 2, "newLine": "n"})
    assert [(line.id, line.text) for line in page.lines[:3]] == [
        ("l1", "天地"),
        ("n", "玄黃"),
        ("l2", "宇宙洪荒"),
    ]
    first, second = page.lines[:2]
    assert union((first.box, second.box)) == FIRST.box
    assert first.box[3] == second.box[1]
    joined = edited({"op": "join", "line": "l1", "next": "n"}, page=page)
    assert joined == PAGE


def test_lines_are_drawn_on_the_page() -> None:
    page = edited(
        {"op": "add", "line": {"id": "n", "box": [9000, 50, -20, 10], "text": "甲"}, "before": "l2"}
    )
    assert [line.id for line in page.lines] == ["l1", "n", "l2", "l3"]
    assert page.lines[1].box == (0, 10, page.width, 50)
    assert page.lines[1].chars == (Char("甲", page.lines[1].box),)


@pytest.mark.parametrize(
    "wrong",
    [
        typed("l9", 0, "一"),
        typed("l1", 4, "一"),
        {"op": "add", "line": {"id": "l1", "box": [0, 0, 1, 1]}},
        {"op": "add", "line": {"id": "n", "box": [0, 0, 1, 1]}, "before": "l9"},
        {"op": "set", "line": {"id": "n", "box": [0, 0, 1, 1]}},
        {"op": "split", "line": "l1", "at": 0, "newLine": "n"},
        {"op": "split", "line": "l1", "at": 1, "newLine": "l2"},
        {"op": "join", "line": "l1", "next": "l1"},
        {"op": "line", "line": "l1", "points": [[0, 0], [1, 1]]},
        {"op": "restore", "lines": [{"id": "n", "box": [0, 0, 1, 1]}] * 2},
        {
            "op": "set",
            "line": {
                "id": "l1",
                "box": [0, 0, 1, 1],
                "text": "一",
                "chars": [{"text": "二", "box": [0, 0, 1, 1]}],
            },
        },
    ],
    ids=lambda wrong: str(wrong["op"]),
)
def test_what_cannot_be_applied_is_one_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(EditError, match=r"^[A-Z].*\.$"):
        edited(wrong)


@pytest.mark.parametrize("text", ["\n", "\x07", "a\rb", "\x85", "￾", ""])
def test_what_no_file_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="insert"):
        edits({**typed("l1", 0, ""), "insert": [text]})


def test_a_line_comes_back_from_the_browser_as_it_was() -> None:
    for line in PAGE.lines:
        assert line_from(line_data(line)) == line


def test_columns_are_told_and_a_second_look_makes_only_what_changed() -> None:
    cache: dict[str, object] = {}
    before = page_data(PAGE, cache)  # type: ignore[arg-type]
    after = page_data(edited(typed("l2", 0, "一")), cache)  # type: ignore[arg-type]
    assert [line.column for line in before.lines] == [0, 1, 2]
    assert after == page_data(edited(typed("l2", 0, "一")))
    assert after.lines[0].chars is before.lines[0].chars
    assert after.lines[1].chars is not before.lines[1].chars


def test_which_lines_meet() -> None:
    every, some, none = frozenset({"*"}), frozenset({"a"}), frozenset[str]()
    assert meet(every, some)
    assert meet(some, every)
    assert not meet(every, none)
    assert not meet(some, frozenset({"b"}))
