"""Style: what it asks for is done, and a wrong word is one sentence.

Simplified characters are one for one, in every format, candidates included; nothing else changes.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.formats import FORMATS, Style, read_page, write_page
from tongguocr.formats import style as module
from tongguocr.formats.markdown import render_markdown
from tongguocr.formats.style import in_script, simplify
from tongguocr.formats.txt import render_txt
from tongguocr.page import Char, Line, Page


def written(name: str, style: Style, folder: Path) -> str:
    write_page(example_page(), folder / name, style=style)
    return (folder / name).read_text("utf-8")


@pytest.mark.parametrize(
    ("style", "rows"),
    [
        (Style(), ["天地玄", "注右行", "左行", "黃𠀀洪", "眉批"]),
        (Style(notes="inline"), ["天地玄〔注右行左行〕", "黃𠀀洪", "眉批"]),
        (Style(notes="omit"), ["天地玄", "黃𠀀洪", "眉批"]),
        (Style(fold=True), ["天地玄", "注右行", "左行", "黃𠀀洪", "眉批", ""]),
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
        assert written(name, Style("omit", True, fold=True), tmp_path) == written(name, Style(), tmp_path)


def test_the_functions_and_the_style_agree(tmp_path: Path) -> None:
    assert written("a.txt", Style(), tmp_path).encode() == render_txt(example_page(), Path("a.txt"))


@pytest.mark.parametrize("wrong", [{"notes": "footnotes"}, {"script": "latin"}])
def test_a_wrong_word_is_one_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"is not one of .*\.$"):
        Style(**wrong)


def page_of(text: str, *candidates: tuple[str, float]) -> Page:
    chars = tuple(Char(c, (0, 10 * n, 9, 10 * n + 9), 0.5, candidates) for n, c in enumerate(text))
    return Page("學.png", 9, 99, (Line("l1", (0, 0, 9, 99), text, chars=chars),))


def test_without_the_package_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module._converter.cache_clear()
    monkeypatch.setitem(sys.modules, "opencc", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tongguocr\[script\]'\.$"):
        write_page(page_of("學"), tmp_path / "a.txt", style=Style(script="simplified"))
    assert list(tmp_path.iterdir()) == []
    write_page(page_of("學"), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text("utf-8") == "學\n"
    module._converter.cache_clear()


def test_keep_needs_no_package_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opencc", None)
    page = page_of("學")
    assert in_script(page, "keep") is page


class TestWithOpenCC:
    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("opencc")

    @pytest.mark.parametrize(
        ("text", "simple"),
        [
            ("大學之道", "大学之道"),
            ("乾坤", "乾坤"),
            ("乾", "干"),
            ("〇　，abc\ue000", "〇　，abc\ue000"),
            ("葛\U000e0100學", "葛\U000e0100学"),
            ("說\U000e0101文", "说文"),
        ],
    )
    def test_texts(self, text: str, simple: str) -> None:
        assert simplify(text) == simple

    def test_boxes_and_confidences_stay(self) -> None:
        page = page_of("學說")
        (line,) = in_script(page, "simplified").lines
        assert line.text == "学说" and [char.text for char in line.chars] == ["学", "说"]
        assert replace(line, text="學說", chars=()) == replace(page.lines[0], chars=())
        assert [char.box for char in line.chars] == [char.box for char in page.lines[0].chars]
        assert in_script(page, "simplified").image == "學.png"

    def test_the_line_decides_what_its_characters_become(self) -> None:
        """乾 by itself would be 干."""
        assert [char.text for char in in_script(page_of("乾坤"), "simplified").lines[0].chars] == ["乾", "坤"]

    def test_characters_that_do_not_spell_the_line_go_by_themselves(self) -> None:
        page = page_of("乾坤")
        page = replace(page, lines=(replace(page.lines[0], text="學"),))
        (line,) = in_script(page, "simplified").lines
        assert line.text == "学" and [char.text for char in line.chars] == ["干", "坤"]

    def test_candidates_that_become_one_are_one(self) -> None:
        page = page_of("後", ("后", 0.3), ("發", 0.1), ("髮", 0.05), ("夋", 0.02))
        (char,) = in_script(page, "simplified").lines[0].chars
        assert (char.text, char.candidates) == ("后", (("发", 0.1), ("夋", 0.02)))

    @settings(max_examples=60)
    @given(pages(any_text, floats))
    def test_any_page_keeps_its_shape(self, page: Page) -> None:
        simple = in_script(page, "simplified")
        for line, other in zip(page.lines, simple.lines, strict=True):
            assert [char.box for char in line.chars] == [char.box for char in other.chars]
            if "".join(char.text for char in line.chars) == line.text:
                assert "".join(char.text for char in other.chars) == other.text

    @given(st.text(st.characters(min_codepoint=0x3400, max_codepoint=0x323AF, exclude_categories=("Cs",))))
    def test_one_character_becomes_one(self, text: str) -> None:
        selectors = sum(0xE0100 <= ord(c) < 0xE01F0 or 0xFE00 <= ord(c) < 0xFE10 for c in text)
        assert len(text) - selectors <= len(simplify(text)) <= len(text)

    @pytest.mark.parametrize("name", ["a.json", "a.xml", "a.alto.xml", "a.txt"])
    def test_every_format_is_simplified(self, name: str, tmp_path: Path) -> None:
        write_page(page_of("大學"), tmp_path / name, style=Style(script="simplified"))
        assert read_page(tmp_path / name).text == "大学"

    def test_written_only_formats_are_simplified(self, tmp_path: Path) -> None:
        for name in ("a.md", "a.hocr", "a.tei.xml", "a.csv"):
            write_page(page_of("大學"), tmp_path / name, style=Style(script="simplified"))
            written = (tmp_path / name).read_text("utf-8").replace("學.png", "").replace("%E5%AD%B8.png", "")
            assert "学" in written and "學" not in written, name

    def test_a_program_of_its_own_reads_the_example(self, tmp_path: Path) -> None:
        code = (
            "from pathlib import Path; from tongguocr.formats import Style, read_page, write_page;"
            f"write_page(read_page(Path({str(EXAMPLES / 'page.json')!r})), Path({str(tmp_path / 'a.txt')!r}),"
            "style=Style('omit', True, 'simplified'))"
        )
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
        assert (tmp_path / "a.txt").read_text("utf-8").startswith("大学之道在明明德在亲民")


def sure(*pairs: tuple[str, float | None]) -> Line:
    chars = tuple(Char(text, (0, 0, 9, 9), confidence) for text, confidence in pairs)
    return Line("l1", (0, 0, 9, 9), "".join(text for text, _ in pairs), confidence=0.5, chars=chars)


def test_doubtful_characters_are_marked_or_left_out(tmp_path: Path) -> None:
    page = Page("p.png", 9, 9, (sure(("天", 0.9), ("地", 0.4), ("玄", None)),))
    for style, text in (
        (Style(min_confidence=0.5), "天〓玄"),
        (Style(min_confidence=0.5, doubtful="omit"), "天玄"),
        (Style(min_confidence=0.4), "天地玄"),
        (Style(min_confidence=0.95), "〓〓玄"),
    ):
        for name in ("a.txt", "a.json", "a.xml"):
            write_page(page, tmp_path / name, style=style)
            assert "".join(line.text for line in read_page(tmp_path / name).lines) == text
    write_page(page, tmp_path / "a.json", style=Style(min_confidence=0.5))
    geta = read_page(tmp_path / "a.json").lines[0].chars[1]
    assert geta.text == "〓" and geta.candidates == (("地", 0.4),), "what was read is not lost"


def test_a_line_without_characters_is_one_doubt(tmp_path: Path) -> None:
    line = Line("l1", (0, 0, 9, 9), "天地", confidence=0.5)
    for style, text in ((Style(min_confidence=0.6), "〓\n"), (Style(min_confidence=0.5), "天地\n")):
        write_page(Page("", 9, 9, (line,)), tmp_path / "a.txt", style=style)
        assert (tmp_path / "a.txt").read_text("utf-8") == text


@pytest.mark.parametrize("wrong", [{"min_confidence": 1.5}, {"min_confidence": -0.1}, {"doubtful": "x"}])
def test_wrong_doubts_are_one_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Style(**wrong)
