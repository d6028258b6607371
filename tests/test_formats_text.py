"""Plain text in and out."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_strategies import example_page

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.text import read_text
from tongguocr.page import Line, Page


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_lines_are_numbered_and_have_no_place(tmp_path: Path) -> None:
    page = read_text(write(tmp_path / "a.txt", "天地\n玄黃\n".encode()))
    assert page == Page("", 0, 0, (Line("l1", (0, 0, 0, 0), "天地"), Line("l2", (0, 0, 0, 0), "玄黃")))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_order_mark_line_ends_and_blank_rows(tmp_path: Path, end: str) -> None:
    rows = ["\ufeff天", "", "  \t", "　地\u2028玄\u0085黃", "宇"]
    page = read_page(write(tmp_path / "a.TXT", end.join(rows).encode()))
    assert [line.text for line in page.lines] == ["天", "　地\u2028玄\u0085黃", "宇"]


def test_text_is_not_normalised(tmp_path: Path) -> None:
    text = "\ufa12 ｅ\u0301 葛\U000e0100"
    assert read_text(write(tmp_path / "a.txt", text.encode())).text == text


def test_an_empty_file_is_a_page_without_lines(tmp_path: Path) -> None:
    assert read_text(write(tmp_path / "a.txt", b"")).lines == ()


@pytest.mark.parametrize(
    "data", ["天地".encode("gb18030"), "天地".encode("utf-16"), b"a\0b", b"\x89PNG\r\n\x1a\n\xff"]
)
def test_other_encodings_are_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a.txt", data)
    with pytest.raises(InputError, match=r"^[^\n]*a\.txt: this is not [^\n]*\.$"):
        read_text(path)


def test_writing_keeps_one_row_a_line(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes().decode() == "天地玄\n注右行\n左行\n黃𠀀洪\n眉批\n\n"
