"""Real pages end to end: which are read, whose characters are whose, and what counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.nomna import Label, LabelledPage, cells, count, cut_out, line_name, share_out, write_pages
from tongguocr.alignment import DELETION, INSERTION, MATCH, SUBSTITUTION
from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.page import Char, Line, Page

PAGE = LabelledPage(
    "DVSKTT_thu_I_1a.webp",
    np.zeros((200, 100), np.uint8),
    (Label("a", (60, 0, 80, 100), "天地"), Label("b", (20, 0, 40, 100), "玄黃")),
    ((40, 0, 58, 100),),
)


def found(*chars: tuple[str, float, float], kind: str = "main") -> Page:
    boxes = tuple(Char(text, (x - 2, y - 2, x + 2, y + 2)) for text, x, y in chars)
    return Page("", 100, 200, (Line("l1", (0, 0, 100, 200), chars=boxes, kind=kind),))  # type: ignore[arg-type]


def test_lines_are_named_as_in_their_table() -> None:
    assert line_name("DVSKTT_thu_I_1a.webp", 3) == "DVSKTT-1_Quyen_thu__DVSKTT_thu_I_1a_3.webp"
    with pytest.raises(InputError, match="no page of the book"):
        line_name("other.webp")


def test_characters_belong_to_the_nearest_label() -> None:
    assert share_out(PAGE, found(("天", 70, 20), ("玄", 30, 20), ("地", 70, 60))) == ["天地", "玄"]
    assert share_out(PAGE, found(("天", 59, 20))) == ["天", ""]


def test_what_nobody_labelled_does_not_count() -> None:
    assert share_out(PAGE, found(("一", 50, 20), ("一", 90, 20), ("一", 70, 150))) == ["", ""]
    assert share_out(PAGE, found(("天", 70, 20), kind="fold")) == ["", ""]


def test_characters_that_the_label_does_not_know_count_neither_way() -> None:
    assert count("天?\U000f0c51黃", "天地玄黄") == {MATCH: 1, SUBSTITUTION: 1}
    assert count("天?黃", "天地黄", folded=True) == {MATCH: 2}
    assert (
        count("天地", "地玄") == {DELETION: 1, MATCH: 1, INSERTION: 1}
        or count("天地", "地玄")[SUBSTITUTION] == 2
    )


def test_small_characters_are_told_by_the_lesser_side() -> None:
    assert Label("", (0, 0, 13, 60), "十三年").size == 13 and Label("", (0, 0, 25, 60), "十三年").size == 20


def test_figures_are_over_all_lines_together() -> None:
    assert cells([("天地", "天地"), ("玄黃", "玄")]) == ["4", "75.00", "75.00", "75.00"]


def test_pages_are_written_cut_to_what_is_labelled(tmp_path: Path) -> None:
    write_pages([PAGE], tmp_path)
    page = read_page(tmp_path / "DVSKTT_thu_I_1a.json")
    assert [line.text for line in page.lines] == ["天地", "玄黃"] and page.lines[0].box == (42, 0, 62, 100)
    shown = cut_out(replace(PAGE, pixels=np.full((200, 100), 200, np.uint8), unread=((40, 0, 58, 9),)))
    assert (shown.width, shown.height) == (64, 102) and shown.pixels is not None and shown.pixels.min() == 200
