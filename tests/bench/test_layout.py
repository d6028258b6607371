"""The layout bench's own arithmetic, on pages by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from detector_pages import column

from bench.layout import (
    Score,
    group_of,
    join_columns,
    labelled_page,
    main,
    match_lines,
    overlap,
    score_chars,
    score_page,
    tabulate,
    without_excused,
)
from tongguocr.errors import InputError
from tongguocr.geometry import Box
from tongguocr.page import Char, Line, Page


def page_of(*boxes: Box) -> Page:
    return Page("", 400, 400, tuple(Line(f"l{k}", box) for k, box in enumerate(boxes)))


COLUMNS: tuple[Box, ...] = ((300, 0, 340, 300), (240, 0, 280, 300), (180, 0, 220, 300))


def test_overlap() -> None:
    assert overlap((0, 0, 10, 10), (0, 0, 10, 5)) == 0.5
    assert overlap((0, 0, 10, 10), (20, 0, 30, 10)) == 0


def test_lines_are_matched_one_to_one() -> None:
    wanted = page_of(*COLUMNS)
    found = page_of((300, 0, 340, 250), (300, 0, 340, 300), (180, 0, 220, 100))
    assert match_lines(wanted.lines, found.lines) == [(0, 1)]
    assert match_lines(wanted.lines, ()) == []


def test_order_and_kinds_count() -> None:
    wanted = page_of(*COLUMNS)
    perfect = score_page(wanted, wanted, 1.0)
    assert (perfect.found, perfect.edits, perfect.length, perfect.right_kind) == (3, 0, 3, 3)
    turned = replace(wanted, lines=(wanted.lines[1], replace(wanted.lines[0], kind="note"), wanted.lines[2]))
    wrong = score_page(wanted, turned, 1.0)
    assert (wrong.found, wrong.edits, wrong.right_kind) == (3, 2, 2)
    assert (perfect + wrong).pages == 2


def test_rows_of_notes_are_joined_with_their_column() -> None:
    boxes: tuple[Box, ...] = (
        (300, 0, 340, 100),
        (322, 102, 340, 300),
        (300, 102, 318, 290),
        COLUMNS[1],
        COLUMNS[2],
    )
    found = page_of(*boxes)
    lines = tuple(replace(line, kind="note") if k in (1, 2) else line for k, line in enumerate(found.lines))
    joined = join_columns(lines)
    assert [line.box for line in joined] == [COLUMNS[0], COLUMNS[1], COLUMNS[2]]
    stray = Line("x", (10, 350, 20, 360))
    score = score_page(page_of(*COLUMNS), replace(found, lines=(*lines, stray)), 1.0, whole_columns=True)
    assert (score.found, score.given, score.strays) == (3, 4, 1)


def test_the_fold_beside_all_columns_of_text_does_not_count() -> None:
    found = page_of(*COLUMNS, (360, 40, 390, 120), (250, 310, 270, 330))
    kinds = [*found.lines[:3], *(replace(line, kind="fold") for line in found.lines[3:])]
    wanted = page_of((180, 0, 340, 400))
    score = score_page(wanted, replace(found, lines=tuple(kinds)), 1.0, whole_columns=True)
    assert (score.given, score.strays) == (4, 0), "the fold's line within the text counts"


def test_lines_that_labels_leave_out_do_not_count() -> None:
    entry = {
        "image": "a.png",
        "lines": [{"box": [300, 0, 340, 300], "text": "天"}, {"box": [180, 0, 194, 300], "text": "地"}],
        "unlabelled": [[240, 0, 280, 300]],
    }
    wanted, unread = labelled_page(entry, np.zeros((400, 400), np.uint8))
    assert [line.kind for line in wanted.lines] == ["main", "note"] and unread == [(240, 0, 280, 300)]
    found = page_of((300, 0, 340, 300), (245, 10, 279, 290), (20, 0, 60, 300), (180, 0, 194, 300))
    lines = (*found.lines, replace(found.lines[3], id="m", kind="margin"))
    left = without_excused(wanted, replace(found, lines=lines), unread)
    assert [line.id for line in left.lines] == ["l0", "l3"]


def test_characters_count_by_their_centres() -> None:
    boxes = np.array(column(100, 50, 4), np.float32)
    chars = tuple(Char("", (b[0] + 3, b[1], b[2] + 3, b[3])) for b in boxes[:3].tolist())
    page = replace(
        page_of((0, 0, 9, 9)), lines=(Line("a", (0, 0, 9, 9), chars=(*chars, Char("", (0, 0, 9, 9)))),)
    )
    score = score_chars(boxes, page, 0.1)
    assert (score.found, score.given, score.wanted) == (3, 4, 4)


def test_groups_and_the_table() -> None:
    assert group_of("00012-head-notes.jpg") == "head-notes" and group_of("JX_1.jpg") == "JX_1.jpg"
    table = tabulate({"a": {"1-title.png": Score(1, 1, 2, 1, 0, 2, 0, 0.5, 1)}}, chars=False)
    assert [next(iter(column.cells)) for column in table.columns][:6] == [
        "title",
        "a",
        "2",
        "0.5000",
        "1.0000",
        "0.6667",
    ]


@pytest.mark.parametrize("weights", [(), ("--weights", "nowhere")])
def test_an_empty_folder_or_no_weights_is_one_sentence(
    tmp_path: Path, weights: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process of its own measures memory, and takes seconds to begin.
    monkeypatch.setattr("bench.layout.ProcessPoolExecutor", lambda count, context: ThreadPoolExecutor(count))
    with pytest.raises(InputError, match=r"there are no pages here\.$|^nowhere.*\.$"):
        main([str(tmp_path), "--detector", "tongguocr", *weights])
