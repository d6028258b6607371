"""The table of changes: what differs from the machine's own reading, and nothing else."""

from __future__ import annotations

from proofread_books import edits, read_page_of, typed

from tongguocr.proofread.changes import Change, changes_of, render_changes
from tongguocr.proofread.edits import apply_all
from tongguocr.proofread.journal import Row

MACHINE = read_page_of("p1")


def changes(*written: dict[str, object]) -> list[tuple[str, int, str, str]]:
    page = apply_all(MACHINE, edits(*written))
    return [(one.line, one.place, one.old, one.new) for one in changes_of("p1", page, MACHINE, [])]


def test_what_was_typed_added_and_taken_away() -> None:
    assert changes() == []
    assert changes(typed("l1", 1, "他")) == [("l1", 2, "地", "他")]
    assert changes(typed("l1", 1, "他池", 2)) == [("l1", 2, "地玄", "他池")]
    assert changes(typed("l2", 4, "也", 0)) == [("l2", 5, "", "也")]
    assert changes(typed("l2", 0, "", 1)) == [("l2", 1, "宇", "")]
    assert changes(typed("l2", 3, "", 1)) == [("l2", 4, "荒", "")]
    assert changes(typed("l1", 0, "夭"), typed("l3", 2, "贏")) == [
        ("l1", 1, "天", "夭"),
        ("l3", 3, "盈", "贏"),
    ]
    assert changes({"op": "delete", "line": "l2"}) == [("l2", 1, "宇宙洪荒", "")]


def test_lines_that_were_cut_joined_or_moved_have_not_changed() -> None:
    split = {"op": "split", "line": "l1", "at": 2, "newLine": "n"}
    assert changes(split) == []
    assert changes(split, typed("n", 0, "元")) == [("n", 1, "玄", "元")]
    assert changes({"op": "join", "line": "l1", "next": "l2"}) == []
    assert changes({"op": "move", "line": "l1"}) == []
    assert changes({"op": "move", "line": "l1"}, typed("l2", 0, "于")) == [("l2", 1, "宇", "于")]


def test_who_and_when_are_those_of_the_latest_edit_of_the_line() -> None:
    rows: list[Row] = [
        {"kind": "edits", "who": who, "time": time, "edits": [typed(line, 0, "一")]}
        for who, time, line in (("甲", "1", "l1"), ("乙", "2", "l2"), ("丙", "3", "l1"))
    ]
    page = apply_all(MACHINE, edits(typed("l1", 0, "一"), typed("l2", 0, "一")))
    found = changes_of("p1", page, MACHINE, rows)
    assert [(one.line, one.who, one.when) for one in found] == [("l1", "丙", "3"), ("l2", "乙", "2")]


def test_cells_keep_to_themselves() -> None:
    table = render_changes([Change("p1", "a\tb", 1, "\u2028", "=1+1\r\n", "某", "t")]).decode()
    assert table == "page\tline\tplace\tfrom\tto\twho\twhen\np1\ta b\t1\t \t=1+1  \t某\tt\n"
