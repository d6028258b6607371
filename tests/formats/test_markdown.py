"""Markdown: what it shows is the text."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from hypothesis import given
from page_strategies import example_page, pages, xml_text

from tongguocr.formats import Style, write_page
from tongguocr.formats.markdown import escape, render_markdown
from tongguocr.page import Line, Page

PATH = Path("page.md")


def shown(markdown: str) -> str:
    """A row as Markdown shows it: escapes and character references undone."""
    kept = re.sub(r"\\([!-/:-@\[-`{-~])", lambda found: f"&#{ord(found[1])};", markdown)
    return html.unescape(kept)


def test_notes_stand_in_brackets_and_margins_apart() -> None:
    assert render_markdown(example_page(), PATH).decode() == (
        "# page-001.png\n\n天地玄〔注右行左行〕\\\n黃𠀀洪\n\n> **Margin**\\\n> 眉批\n"
    )


def test_notes_may_be_left_out_or_stand_apart() -> None:
    assert "注" not in render_markdown(example_page(), PATH, Style("omit")).decode()
    assert (
        "\n\n> **Note**\\\n> 注右行\\\n> 左行\n\n"
        in render_markdown(example_page(), PATH, Style("lines")).decode()
    )


def test_the_fold_stands_apart_if_it_is_asked_for() -> None:
    lines = (Line("a", (0, 0, 9, 9), "卷一", "fold"), Line("b", (0, 0, 9, 9), "天地"))
    page = Page("p.png", 9, 9, lines)
    assert render_markdown(page, PATH).decode() == "# p.png\n\n天地\n"
    assert render_markdown(page, PATH, Style(fold=True)).decode() == (
        "# p.png\n\n> **Fold**\\\n> 卷一\n\n天地\n"
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# 天", "\\# 天"),
        ("- 地", "\\- 地"),
        ("1. 玄", "1\\. 玄"),
        ("12) 玄", "12\\) 玄"),
        ("> 黃", "\\> 黃"),
        ("*宇*_宙_", "\\*宇\\*\\_宙\\_"),
        ("[洪](荒)", "\\[洪\\](荒)"),
        ("&lt;", "\\&lt;"),
        ("    日", "&#32;&#32;&#32;&#32;日"),
        ("　月", "　月"),
        ("卷1.5#", "卷1.5#"),
    ],
)
def test_what_looks_like_markup_is_escaped(text: str, written: str) -> None:
    assert escape(text) == written


@given(pages(xml_text))
def test_every_line_is_shown_in_order(page: Page) -> None:
    rows = render_markdown(page, PATH, Style("lines", fold=True)).decode().split("\n")[1:]
    labels = {"> **Note**\\", "> **Margin**\\", "> **Fold**\\"}
    found = [row.removeprefix("> ").removesuffix("\\") for row in rows if row and row not in labels]
    assert [shown(row) for row in found] == [line.text for line in page.lines if line.text]


def test_a_page_without_name_or_text_is_still_a_page() -> None:
    assert render_markdown(Page("", 0, 0, (Line("a", (0, 0, 0, 0)),)), PATH) == b"# Page\n"


def test_the_name_chooses_the_format(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "a.md")
    assert (tmp_path / "a.md").read_bytes() == render_markdown(example_page(), PATH)
