"""Correcting a book as the bench does it: what training then finds there, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from proofread_books import read_page_of
from recognise_pages import FakeEngine, read_as

from bench.tune import Figures, correct, corrections, errors, measure, tabulate
from tongguocr.evaluate.metrics import Tally
from tongguocr.formats import write_page
from tongguocr.page import Page
from tongguocr.proofread.edits import apply_all
from tongguocr.reader import Reader
from tongguocr.training.recogniser.labelled import read_pages

WANTED = ("天地玄黃", "宇宙洪荒", "日月盈昃")
READ = {"l1": "天他玄黃", "l2": "宇宙洪", "l3": "日月月盈昃"}


def wrong_reader() -> Reader:
    """A reader that makes a substitution, a deletion and an insertion on each page."""
    return Reader(FakeEngine(lambda block: read_as(block, READ)))


def write_drawn(folder: Path, pages: int) -> Path:
    folder.mkdir()
    for number in range(1, pages + 1):
        page = read_page_of(f"p{number}", WANTED)
        assert page.pixels is not None
        Image.fromarray(page.pixels).save(folder / page.image)
        write_page(page, folder / f"p{number}.json")
    return folder


@given(st.lists(st.text("天地玄黃宇", max_size=6), min_size=1, max_size=3), st.data())
def test_corrections_make_one_text_the_other(texts: list[str], data: st.DataObject) -> None:
    other = [data.draw(st.text("天地玄黃宇", max_size=6)) for _ in texts]
    read, wanted = (read_page_of("p", [text or "一" for text in some]) for some in (texts, other))
    corrected = apply_all(read, corrections(read, wanted))
    assert corrected.text == wanted.text
    assert list(corrections(wanted, wanted)) == []


def test_a_corrected_book_teaches_with_all_of_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.tune.open_reader", lambda setup: wrong_reader())
    drawn = write_drawn(tmp_path / "drawn", 3)
    assert correct(drawn, tmp_path / "book") == 9
    assert len((tmp_path / "book" / "changes.tsv").read_text(encoding="utf-8").splitlines()) == 1 + 9
    labelled = read_pages([("folder", tmp_path / "book")])
    pages = [one.page for one in (*labelled.train, *labelled.validation)]
    assert len(pages) == 3 and all(tuple(line.text for line in page.lines) == WANTED for page in pages)
    assert pages[0].lines[0].chars[0].box == read_page_of("p1", WANTED).lines[0].chars[0].box


def test_errors_are_counted_over_all_pages() -> None:
    page: Page = read_page_of("p", WANTED)
    found = measure([page, page], wrong_reader())
    assert found.cer == found.folded == pytest.approx(3 / 12)
    assert errors(Tally(substitutions=1, deletions=2, insertions=4)) == 7


def test_before_and_after_stand_beside_each_other() -> None:
    table = tabulate([("new", 10, [Figures(0.08, 0.07, 0.5, 0.04), Figures(0.04, 0.03, 0.6, 0.02)])])
    rows = [next(iter(column.cells)) for column in table.columns]
    assert rows == ["new", "10", "8.00", "4.00", "7.00", "3.00", "50.00", "60.00", "4.00", "2.00"]
