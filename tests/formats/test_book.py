"""Books: what holds for every format that has several pages in one file."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from page_strategies import example_page

from tongguocr.formats import FORMATS, Format, Style, read_page, write_book, write_page
from tongguocr.formats.unread import NOT_READ, is_unread, today, unread_page
from tongguocr.page import Page

BOOKS = [format for format in FORMATS.values() if format.book]
every_book = pytest.mark.parametrize("format", BOOKS, ids=lambda format: format.name)


def with_pixels() -> Page:
    page = example_page()
    return replace(page, pixels=np.full((page.height, page.width), 9, np.uint8), image="p.png")


def test_every_format_of_the_task_holds_books() -> None:
    assert {format.name for format in BOOKS} >= {"txt", "md", "tei", "pdf", "epub", "iiif", "csv"}


@every_book
def test_pages_are_written_as_they_come(format: Format, tmp_path: Path) -> None:
    """However long the book is, no more than four pages have their pixels in memory."""
    alive, most = [0], 0

    def read() -> Iterator[Page]:
        nonlocal most
        for _ in range(60):
            page = with_pixels()
            alive[0] += 1
            weakref.finalize(page.pixels, lambda: alive.append(alive.pop() - 1))
            most = max(most, alive[0])
            yield page
            del page

    format.write_book(read(), tmp_path / f"b{format.ending}")
    gc.collect()
    assert alive == [0] and most <= 4


@every_book
def test_the_place_of_a_page_that_could_not_be_read_is_kept(format: Format, tmp_path: Path) -> None:
    path = tmp_path / f"b{format.ending}"
    write_book([with_pixels(), unread_page("p2.png"), with_pixels()], path, day=date(2026, 1, 2))
    data = path.read_bytes()
    if format.name not in ("pdf", "epub", "csv"):
        assert data.decode().count(NOT_READ) == 1
    # At the beginning, too, and if nothing else is there.
    for pages in ([unread_page(), with_pixels()], [unread_page()]):
        write_book(pages, path)
        assert path.read_bytes()


def test_a_page_without_text_is_none_that_could_not_be_read() -> None:
    assert is_unread(unread_page("a.png"))
    assert not is_unread(Page("a.png", 10, 10)) and not is_unread(
        replace(example_page(), warnings=(NOT_READ,))
    )


def test_an_unread_page_of_a_pdf_is_as_large_as_the_one_before_it(tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    pdfium = pytest.importorskip("pypdfium2")
    write_book([unread_page(), with_pixels(), unread_page()], tmp_path / "b.pdf")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert not pdf.check_pdf_syntax()
        sizes = [[float(side) for side in page.MediaBox[2:]] for page in pdf.pages]
    assert sizes == [[420, 595], [144, 192], [144, 192]]
    with pdfium.PdfDocument(tmp_path / "b.pdf") as pdf:
        texts = [page.get_textpage().get_text_bounded() for page in pdf]
        inked = np.asarray(pdf[2].render(scale=2).to_pil().convert("L"))
    assert texts[0] == texts[2] == NOT_READ and inked.min() < 60


def test_page_breaks_of_plain_text(tmp_path: Path) -> None:
    write_book([example_page(), Page("", 0, 0), example_page()], tmp_path / "b.txt", style=Style("omit"))
    text = (tmp_path / "b.txt").read_text(encoding="utf-8")
    assert text == "天地玄\n黃𠀀洪\n眉批\n\f\n\f\n天地玄\n黃𠀀洪\n眉批\n"
    assert [line.text for line in read_page(tmp_path / "b.txt").lines] == ["天地玄", "黃𠀀洪", "眉批"] * 2


def test_pages_of_markdown_stand_below_their_numbers(tmp_path: Path) -> None:
    write_book([replace(example_page(), image=""), example_page()], tmp_path / "b.md", style=Style("omit"))
    text = (tmp_path / "b.md").read_text(encoding="utf-8")
    assert [row for row in text.split("\n") if row.startswith("#")] == ["# 1", "# 2: page-001.png"]
    assert "\n\n# 2" in text


@every_book
def test_the_style_reaches_every_page(format: Format, tmp_path: Path) -> None:
    pytest.importorskip("opencc")
    path = tmp_path / f"b{format.ending}"
    write_book([with_pixels()] * 2, path, style=Style(script="simplified"), day=date(2026, 1, 2))
    first = path.read_bytes()
    write_book([with_pixels()] * 2, path, day=date(2026, 1, 2))
    assert first != path.read_bytes() or format.name == "csv"


@pytest.mark.parametrize("name", ["tei", "epub"])
def test_the_day_is_that_which_is_given_or_that_of_the_build(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")
    assert today() == date(2026, 1, 2)
    path = tmp_path / f"b{FORMATS[name].ending}"
    write_book([example_page()] * 2, path)
    built = path.read_bytes()
    write_book([example_page()] * 2, path, day=date(2026, 1, 2))
    assert path.read_bytes() == built
    write_book([example_page()] * 2, path, day=date(2026, 1, 3))
    assert path.read_bytes() != built


def test_one_page_is_a_book_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")
    for format in BOOKS:
        if format.name != "md":  # Its heading has no number.
            write_page(with_pixels(), path := tmp_path / f"b{format.ending}")
            single = path.read_bytes()
            write_book([with_pixels()], path)
            assert path.read_bytes() == single, format.name
