"""Files written from states: which, when, and what was there before."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from proofread_books import read_page_of, request, typed, write_book

from tongguocr.formats import FORMATS, read_page, write_page
from tongguocr.proofread import output as module
from tongguocr.proofread.book import open_book
from tongguocr.proofread.output import FileWriter, write_files
from tongguocr.proofread.store import Store


def test_every_format_that_lies_there_is_kept_true(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    for format in ("alto", "md", "pdf", "csv", "overlay", "tei", "hocr"):
        write_page(read_page_of("p1"), folder / f"p1{FORMATS[format].ending}")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    store = Store(open_book(str(folder)))
    state, _ = store.edit(1, request(0, typed("l1", 0, "夫")))
    assert write_files(store.book, state.book_page, state.page, state.machine) == []
    for name in ("p1.json", "p1.page.xml", "p1.alto.xml", "p1.txt", "p1.md"):
        assert "夫" in (folder / name).read_text(), name
    assert "天" not in (folder / "p1.csv").read_text()
    # The files of before are kept, whoever wrote them.
    for name, data in before.items():
        if name not in ("p1.png", "p1.json"):
            assert (folder / "machine" / name).read_bytes() == data, name
    assert read_page(folder / "machine" / "p1.json").text == read_page_of("p1").text


def test_the_first_files_are_kept_for_ever(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    (folder / "p1.txt").write_text("a transcription by hand\n")
    store = Store(open_book(str(folder)))
    for base, word in ((0, "一"), (2, "二")):
        state, _ = store.edit(1, request(base, typed("l1", 0, word)))
        write_files(store.book, state.book_page, state.page, state.machine)
    assert (folder / "p1.txt").read_text().startswith("二地")
    assert (folder / "machine" / "p1.txt").read_text() == "a transcription by hand\n"


def test_what_one_format_cannot_hold_costs_no_other(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    odd = read_page_of("p1", ("天\x07玄黃",))
    write_page(odd, folder / "p1.json")
    store = Store(open_book(str(folder)))
    state, _ = store.edit(1, request(0, typed("l1", 0, "夫")))
    problems = write_files(store.book, state.book_page, state.page, state.machine)
    assert len(problems) == 1 and "p1.page.xml" in problems[0]
    assert read_page(folder / "p1.json").text.startswith("夫")


def test_many_edits_are_one_writing_and_the_last_is_in_it(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    store, written = Store(open_book(str(folder))), list[tuple[int, str]]()
    writer = FileWriter(store, lambda number, problem: written.append((number, problem)))
    for k in range(20):
        store.edit(1, request(0, typed("l1", 0, "一二"[k % 2])))
        writer.add(1)
    while not written:
        time.sleep(0.01)
    writer.close()
    assert len(written) < 10 and written[0] == (1, "")
    assert read_page(folder / "p1.json").text.startswith("二地")


def test_what_another_program_wrote_just_now_is_not_written_over(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 2)
    store, written = Store(open_book(str(folder))), dict[int, str]()
    writer = FileWriter(store, lambda number, problem: written.update({number: problem}))
    for number, outside in ((1, read_page_of("p1", ("外人",))), (2, None)):
        store.edit(number, request(0, typed("l1", 0, "一")))
        writer.add(number)
        if outside is not None:
            write_page(outside, folder / "p1.json")
        else:
            (folder / "p2.json").write_text("damaged")
        writer.flush(number)
    store.edit(2, request(2, typed("l1", 1, "二")))
    writer.close()
    assert read_page(folder / "p1.json").text == "外人"
    assert [row["kind"] for row in store.state(1).journal.rows] == ["read", "edits", "file"]
    assert (folder / "p2.json").read_text() == "damaged" and "p2.json" in written[2]
    assert store.state(2).page.text.startswith("一二")


def test_files_that_could_not_be_written_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", 0.05)
    folder = write_book(tmp_path / "book", 1)
    store, written = Store(open_book(str(folder))), list[str]()
    tries: list[int] = []

    def write(*given: Any) -> list[str]:
        tries.append(1)
        return ["The disk is full."] if len(tries) < 3 else write_files(*given)

    monkeypatch.setattr(module, "write_files", write)
    writer = FileWriter(store, lambda number, problem: written.append(problem))
    store.edit(1, request(0, typed("l1", 0, "夫")))
    writer.add(1)
    while len(written) < 3:
        time.sleep(0.01)
    assert written == ["The disk is full.", "The disk is full.", ""]
    assert read_page(folder / "p1.json").text.startswith("夫") and not store.state(1).stale
    writer.close()
    assert not store._used and not writer._failures


def test_a_flush_waits_for_what_is_being_written(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    store = Store(open_book(str(folder)))
    writer = FileWriter(store, lambda number, problem: None)
    for word in "一二三四五":
        store.edit(1, request(0, typed("l1", 0, word)))
        writer.add(1)
        writer.flush(1)
        assert read_page(folder / "p1.json").text.startswith(word)
    writer.close()
