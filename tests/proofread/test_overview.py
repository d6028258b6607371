"""The list of pages: true after every change, and after a new start without looking at every file."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofread_books import request, typed, write_book

from tongguocr.errors import InputError
from tongguocr.formats.doubts import reason_for
from tongguocr.proofread import overview as module
from tongguocr.proofread.book import open_book
from tongguocr.proofread.output import write_files
from tongguocr.proofread.overview import Overview, summarise
from tongguocr.proofread.store import Store


def fresh(folder: Path) -> Overview:
    return Overview(Store(open_book(str(folder))))


def scanned(overview: Overview) -> Overview:
    overview.start(lambda number: None, lambda: None)
    overview.wait()
    return overview


def test_a_quick_look_sees_what_a_long_one_sees(tmp_path: Path) -> None:
    overview = fresh(write_book(tmp_path / "book"))
    for number in (1, 2, 3):
        assert overview.summary(number) == summarise(overview.store.state(number))
    state = overview.store.state(1)
    doubts = sum(reason_for(char) is not None for line in state.page.lines for char in line.chars)
    assert overview.entry(1).doubts == doubts == 3


def test_the_next_start_looks_only_at_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_book(tmp_path / "book")
    first = scanned(fresh(folder))
    for number in (1, 2):
        state, _ = first.store.edit(number, request(0, typed("l1", 1, "池")))
        write_files(first.book, state.book_page, state.page, state.machine)
        state.stale = False
        first.update_changes(state)
    first.store.mark(2, True, "")
    first.close()
    looked: list[str] = []

    real = Overview._look

    def look(self: Overview, page: module.BookPage) -> module.Summary:
        looked.append(page.name)
        return real(self, page)

    monkeypatch.setattr(Overview, "_look", look)
    again = scanned(fresh(folder))
    # Of page 2 the journal has grown since it was looked at.
    assert looked == ["p2"]
    assert [(one.state, one.doubts, one.version) for one in again.entries()] == [
        ("read", 2, 2),
        ("proofread", 2, 3),
        ("read", 3, 0),
    ]
    assert again.ready() == 1
    assert again.summary(1).lines[0] == ("l1", "天池玄黃")
    # What was changed is known, too, without opening a page.
    assert [(one.page, one.old, one.new) for one in again.changes()] == [
        ("p1", "地", "池"),
        ("p2", "地", "池"),
    ]


def test_files_that_are_not_written_yet_are_looked_at_again(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book")
    first = scanned(fresh(folder))
    state, _ = first.store.edit(1, request(0, typed("l1", 1, "池")))
    first.update(state)
    first.close()
    again = fresh(folder)
    assert again.summary(1).stale


@pytest.mark.parametrize("cache", [b"", b"{", b'{"version": 1, "pages": {"p1": 3}}', b"[]", b"\xff"])
def test_a_damaged_cache_is_no_cache(tmp_path: Path, cache: bytes) -> None:
    folder = write_book(tmp_path / "book")
    scanned(fresh(folder)).close()
    (folder / ".proofread" / "pages.json").write_bytes(cache)
    assert [entry.doubts for entry in scanned(fresh(folder)).entries()] == [3, 3, 3]


def test_pages_without_text_and_damaged_ones(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 3, texts=False)
    (folder / "p2.json").write_text('{"format": "tongguocr-page"}')
    overview = scanned(fresh(folder))
    assert [entry.state for entry in overview.entries()] == ["unread", "failed", "unread"]
    assert "p2.json" in str(overview.entry(2).message)
    with pytest.raises(InputError):
        overview.store.state(2)
    overview.set_reading(1, "reading")
    assert overview.state(1) == "reading"
    overview.set_reading(1, "failed", "It is wet.")
    assert (overview.state(1), overview.entry(1).message) == ("failed", "It is wet.")
