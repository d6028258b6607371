"""Plain text in and out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_strategies import example_page, pages, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.style import NOTES, Notes, Style
from tongguocr.formats.txt import join_words, render_txt, text_rows
from tongguocr.page import Kind, Line, Page

PATH = Path("page.txt")


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_lines_are_numbered_and_have_no_place(tmp_path: Path) -> None:
    page = read_page(write(tmp_path / "a.txt", "天地\n玄黃\n".encode()))
    assert page == Page("", 0, 0, (Line("l1", (0, 0, 0, 0), "天地"), Line("l2", (0, 0, 0, 0), "玄黃")))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_order_mark_line_ends_and_blank_rows(tmp_path: Path, end: str) -> None:
    rows = ["\ufeff天", "", "  \t", "　地\u2028玄\u0085黃", "宇"]
    page = read_page(write(tmp_path / "a.TXT", end.join(rows).encode()))
    assert [line.text for line in page.lines] == ["天", "　地\u2028玄\u0085黃", "宇"]


def test_text_is_not_normalised(tmp_path: Path) -> None:
    text = "\ufa12 ｅ\u0301 葛\U000e0100"
    assert read_page(write(tmp_path / "a.txt", text.encode())).text == text


def test_an_empty_file_is_a_page_without_lines(tmp_path: Path) -> None:
    assert read_page(write(tmp_path / "a.txt", b"")).lines == ()


@pytest.mark.parametrize(
    "data", ["天地".encode("gb18030"), "天地".encode("utf-16"), b"a\0b", b"\x89PNG\r\n\x1a\n\xff"]
)
def test_other_encodings_are_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a.txt", data)
    with pytest.raises(InputError, match=r"^[^\n]*a\.txt: this is not [^\n]*\.$"):
        read_page(path)


def test_writing_keeps_one_row_a_line(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes().decode() == "天地玄\n注右行\n左行\n黃𠀀洪\n眉批\n"


ROWS: dict[tuple[Notes, bool], str] = {
    ("lines", False): "天地玄\n注右行\n左行\n黃𠀀洪\n眉批\n",
    ("inline", False): "天地玄〔注右行左行〕\n黃𠀀洪\n眉批\n",
    ("omit", False): "天地玄\n黃𠀀洪\n眉批\n",
    ("lines", True): "天地玄\n注右行左行\n黃𠀀洪\n眉批\n",
    ("inline", True): "天地玄〔注右行左行〕黃𠀀洪\n眉批\n",
    ("omit", True): "天地玄黃𠀀洪\n眉批\n",
}


@pytest.mark.parametrize(("notes", "flow"), ROWS)
def test_notes_and_flow(notes: Notes, flow: bool) -> None:
    assert render_txt(example_page(), PATH, Style(notes, flow)).decode() == ROWS[notes, flow]


def of_kinds(*rows: tuple[Kind, str]) -> Page:
    return Page(
        "", 0, 0, tuple(Line(f"l{n}", (0, 0, 0, 0), text, kind) for n, (kind, text) in enumerate(rows))
    )


def test_a_note_without_text_before_it_has_its_own_row() -> None:
    page = of_kinds(("note", "甲"), ("note", "乙"), ("main", "天"), ("fold", "卷一"), ("note", "丙"))
    assert text_rows(page, "inline", fold=True) == [
        ("main", "〔甲乙〕"),
        ("main", "天"),
        ("fold", "卷一"),
        ("main", "〔丙〕"),
    ]


def test_the_fold_is_written_only_if_asked_for() -> None:
    page = of_kinds(("main", "天地"), ("fold", "卷一"), ("fold", "三"), ("main", "玄黃"), ("margin", "眉批"))
    assert render_txt(page, PATH).decode() == "天地\n玄黃\n眉批\n" == page.text + "\n"
    assert render_txt(page, PATH, Style(flow=True)).decode() == "天地玄黃\n眉批\n", "it does not cut the text"
    whole = render_txt(page, PATH, Style(fold=True)).decode()
    assert whole == "天地\n卷一\n三\n玄黃\n眉批\n" == page.full_text + "\n"
    assert render_txt(page, PATH, Style(flow=True, fold=True)).decode() == "天地\n卷一三\n玄黃\n眉批\n"


def test_notes_without_text_leave_no_brackets() -> None:
    assert text_rows(of_kinds(("main", "天"), ("note", ""), ("note", "")), "inline") == [("main", "天")]


def test_words_of_an_alphabet_are_not_run_together() -> None:
    page = of_kinds(("main", "Tong"), ("main", "Gu"), ("main", "通古"), ("main", "OCR"))
    assert render_txt(page, PATH, Style(flow=True)).decode() == "Tong Gu通古OCR\n"


def test_unknown_ways_of_notes_are_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^notes: 'below' is not one of lines, inline, omit[.]$"):
        text_rows(example_page(), "below")  # type: ignore[arg-type]


@given(pages(xml_text), st.sampled_from(NOTES), st.booleans(), st.booleans())
def test_no_text_is_lost_or_moved(page: Page, notes: Notes, flow: bool, fold: bool) -> None:
    omitted = {"note"} if notes == "omit" else set()
    omitted |= set() if fold else {"fold"}
    kept = "".join(line.text for line in page.lines if line.kind not in omitted)
    ignored = str.maketrans("", "", "〔〕 \n")
    written = render_txt(page, PATH, Style(notes, flow, fold=fold)).decode()
    assert written.translate(ignored) == kept.translate(ignored)


def test_words_are_joined_as_their_script_wants() -> None:
    assert join_words(["天", "地", "玄黃"]) == "天地玄黃"
    assert join_words(["two", "words", "，", "天"]) == "two words，天"
    assert join_words(["a", " ", "b", "", "　c"]) == "a b　c"
