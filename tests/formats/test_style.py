"""Style: what it asks for is done, and a wrong word is one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_strategies import example_page

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, Style, write_page
from tongguocr.formats.markdown import render_markdown
from tongguocr.formats.txt import render_txt


def written(name: str, style: Style, folder: Path) -> str:
    write_page(example_page(), folder / name, style=style)
    return (folder / name).read_text("utf-8")


@pytest.mark.parametrize(
    ("style", "rows"),
    [
        (Style(), ["天地玄", "注右行", "左行", "黃𠀀洪", "眉批", ""]),
        (Style(notes="inline"), ["天地玄〔注右行左行〕", "黃𠀀洪", "眉批", ""]),
        (Style(notes="omit"), ["天地玄", "黃𠀀洪", "眉批", ""]),
        (Style(notes="inline", flow=True), ["天地玄〔注右行左行〕黃𠀀洪", "眉批"]),
        (Style(flow=True), ["天地玄", "注右行左行", "黃𠀀洪", "眉批"]),
    ],
)
def test_plain_text_follows_the_style(style: Style, rows: list[str], tmp_path: Path) -> None:
    assert written("a.txt", style, tmp_path).split("\n") == [*rows, ""]


def test_markdown_has_notes_in_brackets_unless_asked(tmp_path: Path) -> None:
    assert written("a.md", Style(), tmp_path).encode() == render_markdown(
        example_page(), Path("a.md"), Style("inline")
    )
    assert "> **Note**\\\n> 注右行\\\n> 左行" in written("a.md", Style(notes="lines"), tmp_path)
    assert "注" not in written("a.md", Style(notes="omit"), tmp_path)
    assert "\n\n天地玄〔注右行左行〕黃𠀀洪\n\n" in written("a.md", Style(flow=True), tmp_path)


def test_other_formats_keep_their_lines(tmp_path: Path) -> None:
    others = (format for format in FORMATS.values() if not (format.styled or format.image))
    for name in (f"a{format.ending}" for format in others if format.name != "page"):  # PAGE tells the time
        assert written(name, Style("omit", True), tmp_path) == written(name, Style(), tmp_path)


def test_the_functions_and_the_style_agree(tmp_path: Path) -> None:
    assert written("a.txt", Style(), tmp_path).encode() == render_txt(example_page(), Path("a.txt"))


@pytest.mark.parametrize("wrong", [{"notes": "footnotes"}, {"script": "latin"}])
def test_a_wrong_word_is_one_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"is not one of .*\.$"):
        Style(**wrong)
