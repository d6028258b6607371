"""The table of doubtful characters."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_strategies import any_text, example_page, pages

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.formats.doubts import COLUMNS, render_table
from tongguocr.page import Char, Line, Page


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_a_doubtful_character_has_all_that_a_proofreader_needs() -> None:
    [row] = table(render_table([example_page()]))
    assert row == {
        **dict.fromkeys(COLUMNS, ""),
        "page": "page-001.png",
        "line": "l1",
        "position": "1",
        "character": "天",
        "confidence": "0.5",
        "candidate1": "夫",
        "candidate_confidence1": "0.25",
        "candidate2": "大\U000e0100",
        "candidate_confidence2": "0.125",
        "x0": "500",
        "y0": "100",
        "x1": "550",
        "y1": "150",
        "context": "【天】地玄",
        "reason": "unsure",
    }


def test_what_the_language_model_changed_or_finds_odd_is_listed_with_the_reason() -> None:
    changed = Char("習", (0, 0, 1, 1), 0.9, (("皆", 0.1),), picture="皆")
    odd = Char("鼉", (0, 0, 1, 1), 0.99, surprise=19.5)
    rows = table(render_table([line_with(changed, Char("之", (0, 0, 1, 1), 0.99), odd)]))
    told = [(row["character"], row["reason"], row["picture"], row["surprise"]) for row in rows]
    assert told == [("習", "changed", "皆", ""), ("鼉", "odd", "", "19.5")]


def line_with(*chars: Char) -> Page:
    return Page("", 9, 9, (Line("a", (0, 0, 9, 9), "".join(c.text for c in chars), chars=chars),))


def test_the_threshold_itself_is_sure_and_no_confidence_is_no_doubt() -> None:
    page = line_with(
        *(Char(c, (0, 0, 1, 1), sure) for c, sure in zip("天地玄", (0.8, 0.79, None), strict=True))
    )
    assert [row["context"] for row in table(render_table([page]))] == ["天【地】玄"]
    assert [row["character"] for row in table(render_table([page], 0.9))] == ["天", "地"]
    assert table(render_table([page], 0)) == []


def test_no_more_than_four_candidates() -> None:
    others = tuple((c, 0.1) for c in "甲乙丙丁戊")
    [row] = table(render_table([line_with(Char("天", (0.5, 0, 1, 1), 0.2, others))]))
    assert [row[f"candidate{n}"] for n in (1, 2, 3, 4)] == list("甲乙丙丁") and row["x0"] == "0.5"


def test_pages_without_a_name_go_by_their_number() -> None:
    page = line_with(Char("天", (0, 0, 1, 1), 0.2))
    assert [row["page"] for row in table(render_table([example_page(), page]))] == ["page-001.png", "2"]


def test_excel_needs_the_byte_order_mark() -> None:
    plain, marked = (render_table([example_page()], excel=excel) for excel in (False, True))
    assert marked == b"\xef\xbb\xbf" + plain


@given(pages(any_text), st.floats(0, 1))
def test_every_doubt_is_a_row_whatever_its_text(page: Page, threshold: float) -> None:
    chars = [c for line in page.lines for c in line.chars if c.confidence is not None]
    rows = table(render_table([page], threshold))
    assert [row["character"] for row in rows] == [c.text for c in chars if (c.confidence or 0) < threshold]
    assert all(len(row) == len(COLUMNS) and None not in row.values() for row in rows)


def test_a_threshold_beyond_one_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^threshold: 80 is not between 0 and 1\.$"):
        render_table([], 80)


def test_the_name_chooses_the_format(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == render_table([example_page()])
