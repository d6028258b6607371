"""States of pages: what was answered is in the files, and nobody writes over another."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from proofread_books import read_page_of, request, typed, write_book

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.proofread import store as module
from tongguocr.proofread.book import open_book
from tongguocr.proofread.edits import EditError
from tongguocr.proofread.output import write_files
from tongguocr.proofread.store import ConflictError, Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_book(tmp_path / "book")


def fresh(folder: Path) -> Store:
    return Store(open_book(str(folder)))


def written(store: Store, number: int = 1) -> None:
    state = store.state(number)
    assert not write_files(store.book, state.book_page, state.page, state.machine)


def text(store: Store, number: int = 1) -> str:
    return store.state(number).page.text


def test_an_edit_is_there_after_a_new_start(folder: Path) -> None:
    store = fresh(folder)
    state, inverse = store.edit(1, request(0, typed("l1", 1, "他"), who="某"))
    assert (state.version, state.page.lines[0].text) == (2, "天他玄黃")
    again = fresh(folder).state(1)
    assert again.page == state.page
    assert again.machine == replace(read_page_of("p1"), pixels=None)
    # The files were not written before the end: they are older than the journal.
    assert again.stale
    written(store)
    assert not fresh(folder).state(1).stale
    back = [edit.model_dump(mode="json") for edit in inverse]
    store.edit(1, request(2, *back))
    assert text(store) == read_page_of("p1").text


def test_one_call_is_applied_once(folder: Path) -> None:
    store = fresh(folder)
    call = request(0, typed("l1", 0, "一", 0), id="call-1")
    assert store.edit(1, call)[0].version == 2
    assert store.edit(1, call)[0].version == 2
    assert fresh(folder).edit(1, call)[0].version == 2
    assert text(store).startswith("一天地")


def test_edits_of_other_lines_go_together(folder: Path) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一"), client="a"))
    state, _ = store.edit(1, request(0, typed("l2", 0, "二"), client="b"))
    assert state.page.text.split("\n")[:2] == ["一地玄黃", "二宙洪荒"]


@pytest.mark.parametrize(
    "late",
    [
        typed("l1", 3, "四"),
        {"op": "delete", "line": "l1"},
        {"op": "join", "line": "l2", "next": "l1"},
        {"op": "move", "line": "l1"},
        {"op": "restore", "lines": []},
    ],
    ids=lambda late: str(late["op"]),
)
def test_the_later_of_two_on_one_line_is_told(folder: Path, late: dict[str, object]) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一"), client="a", who="甲"))
    before = text(store)
    with pytest.raises(ConflictError) as refused:
        store.edit(1, request(0, typed("l3", 0, "三"), late, client="b"))
    assert [(version, row["who"]) for version, row in refused.value.rows] == [(2, "甲")]
    assert text(store) == before, "all or none"
    store.edit(1, request(2, late, client="b"))
    assert text(store) != before


def test_ones_own_edits_are_no_conflict(folder: Path) -> None:
    store = fresh(folder)
    for k in range(3):
        store.edit(1, request(0, typed("l1", 0, "一二三"[k]), client="a"))
    assert text(store).startswith("三地")


def test_what_cannot_be_applied_leaves_no_trace(folder: Path) -> None:
    store = fresh(folder)
    for wrong in (request(0, typed("l1", 0, "一"), typed("l9", 0, "一")), request(7, typed("l1", 0, "一"))):
        with pytest.raises(EditError):
            store.edit(1, wrong)
    assert not store.book.journal(store.book.page(1)).exists()
    assert text(store) == read_page_of("p1").text


def test_a_page_that_is_read_again_is_a_new_version(folder: Path) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一"), client="a"))
    better = read_page_of("p1", ("甲乙", "丙丁"))
    assert store.put_reading(1, better, "tongguocr", asked=False).version == 2, "nobody asked for it"
    store.put_reading(1, better, "tongguocr", asked=True)
    assert text(store) == "甲乙\n丙丁"
    assert text(fresh(folder)) == "甲乙\n丙丁"
    with pytest.raises(ConflictError):
        store.edit(1, request(2, typed("l1", 0, "一"), client="a"))
    assert [row["kind"] for row in store.state(1).journal.rows] == ["read", "edits", "read"]
    assert store.version(1, 2).lines[0].text == "一地玄黃"
    with pytest.raises(InputError, match="no version 4"):
        store.version(1, 4)


def test_who_wrote_a_page_is_told(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 3)
    lines = tuple(replace(line, chars=(), confidence=None) for line in read_page_of("p2").lines)
    write_page(replace(read_page_of("p2"), lines=lines), folder / "p2.json")
    store = Store(open_book(str(folder)))
    store.mark(3, True, "")
    assert [store.state(number).touched for number in (1, 2, 3)] == [False, True, True]
    store.mark(3, False, "")
    store.edit(1, request(0, typed("l1", 0, "一")))
    assert [store.state(number).touched for number in (1, 2, 3)] == [True, True, False]


def test_a_first_reading_is_a_file_and_no_journal(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1, texts=False)
    store = fresh(folder)
    assert not store.state(1).known
    store.put_reading(1, replace(read_page_of("p1"), image="elsewhere.png"), "tongguocr", asked=False)
    assert read_page(folder / "p1.json").image == "p1.png"
    assert not (folder / "p1.journal.jsonl").exists()
    assert text(fresh(folder)) == read_page_of("p1").text


def test_a_page_read_from_a_pdf_names_its_image_in_the_folder(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    (folder / "some.pdf").write_bytes(b"%PDF-")
    for name in ("some.pdf", "elsewhere.png"):
        write_page(replace(read_page_of("p1"), image=name), folder / "p1.json")
        assert fresh(folder).state(1).page.image == "p1.png"


def test_lines_drawn_before_the_page_was_read_stay(tmp_path: Path) -> None:
    store = fresh(write_book(tmp_path / "book", 1, texts=False))
    store.edit(1, request(0, {"op": "add", "line": {"id": "n", "box": [0, 0, 9, 9], "text": "手"}}))
    store.put_reading(1, read_page_of("p1"), "tongguocr", asked=False)
    assert text(store) == "手"


def test_a_file_that_another_program_changed_is_a_new_version(folder: Path) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一")))
    store.edit(1, request(0, typed("l2", 0, "二")))
    written(store)
    write_page(read_page_of("p1", ("外", "人")), folder / "p1.json")
    again = fresh(folder)
    assert text(again) == "外\n人"
    assert again.state(1).journal.rows[-1]["kind"] == "file"
    assert again.version(1, 3).text.startswith("一地玄黃\n二宙洪荒")
    assert fresh(folder).state(1).version == 4, "it is taken once"


def test_a_file_that_another_program_changes_meanwhile(folder: Path) -> None:
    store = fresh(folder)
    assert text(store, 1) == text(store, 2)
    # Nobody edited the page: it is as it was read now.
    write_page(read_page_of("p1", ("外人",)), folder / "p1.json")
    state, _ = store.edit(1, request(0, typed("l1", 0, "一")))
    assert (state.page.text, state.version) == ("一人", 2)
    # Somebody did: they are told, and both are kept.
    store.edit(2, request(0, typed("l1", 0, "一"), client="a"))
    written(store, 2)
    store.edit(2, request(2, typed("l1", 1, "二"), client="a"))
    write_page(read_page_of("p2", ("外人",)), folder / "p2.json")
    with pytest.raises(ConflictError) as told:
        store.edit(2, request(3, typed("l1", 2, "三"), client="a"))
    assert [row["kind"] for _, row in told.value.rows] == ["file"]
    assert [store.version(2, v).text.split("\n")[0] for v in (3, 4)] == ["一二玄黃", "外人"]
    assert text(fresh(folder), 2) == "外人"


def test_files_of_our_own_are_no_news(folder: Path) -> None:
    store = fresh(folder)
    for k in range(5):
        store.edit(1, request(2 * bool(k), typed("l1", k % 4, "一")))
        state = store.state(1)
        state.writing = state.page
        written(store)
    assert [row["kind"] for row in state.journal.rows] == ["read", *["edits"] * 5]


def test_a_file_of_an_earlier_version_is_only_late(folder: Path) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一")))
    written(store)
    store.edit(1, request(0, typed("l1", 1, "二")))
    again = fresh(folder).state(1)
    assert (again.version, again.stale, again.page.text[:2]) == (3, True, "一二")


def test_a_file_that_is_gone_comes_back(folder: Path) -> None:
    store = fresh(folder)
    store.edit(1, request(0, typed("l1", 0, "一")))
    written(store)
    (folder / "p1.json").unlink()
    again = fresh(folder)
    assert again.state(1).stale
    assert text(again).startswith("一地")


def test_a_damaged_file_costs_its_page_and_no_other(folder: Path) -> None:
    (folder / "p2.json").write_text("{")
    store = fresh(folder)
    with pytest.raises(InputError, match=r"p2\.json"):
        store.state(2)
    assert text(store, 3) == read_page_of("p3").text
    assert (folder / "p2.json").read_text() == "{"


def test_pages_in_use_are_never_open_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many edits of three pages by many at once, with room for one open page: each is there at the end."""
    monkeypatch.setattr(module, "MAX_OPEN", 1)
    store = fresh(folder)

    def work(client: int) -> None:
        for k in range(8):
            number = (client + k) % 3 + 1
            line = {"id": f"c{client}-{k}", "box": [0, 0, 9, 9], "text": "字"}
            store.edit(number, request(0, {"op": "add", "line": line}, client=str(client)))

    threads = [threading.Thread(target=work, args=(client,)) for client in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    added = {line.id for n in (1, 2, 3) for line in fresh(folder).state(n).page.lines if line.id[0] == "c"}
    assert added == {f"c{client}-{k}" for client in range(6) for k in range(8)}
