"""Correcting in a real browser: by candidate, typing, a composed input; lines; undo; files on the disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from browser_page import Tab, lines_on_disk
from proofread_server import Desk

pytestmark = pytest.mark.slow
OpenTab = Callable[..., Tab]


def wait_for_disk(book: Path, page: int, texts: list[str]) -> None:
    """The files are written a moment after the journal."""
    for _ in range(600):
        if lines_on_disk(book, page) == texts:
            return
        time.sleep(0.05)
    assert lines_on_disk(book, page) == texts


def test_five_characters_are_corrected_and_stand_on_the_disk(open_tab: OpenTab, book: Path) -> None:
    tab = open_tab()
    assert tab.texts() == ["天地玄黃", "宇宙洪荒", "日月盈昃"]
    tab.press("Tab")
    assert tab.cursor() == "地"
    tab.press("2")
    tab.at(0, 3)
    tab.page.keyboard.insert_text("皇")
    tab.at(1, 0)
    tab.compose(["y", "yu", "yǔ"], "羽")
    tab.at(1, 2)
    tab.compose(["hong", "hongh"], "鴻荒")
    tab.at(2, 0)
    tab.paste("曰\n")
    assert tab.texts() == ["天池玄皇", "羽宙鴻荒", "曰月盈昃"]
    tab.saved()
    wait_for_disk(book, 1, ["天池玄皇", "羽宙鴻荒", "曰月盈昃"])
    tab.reload()
    assert tab.texts() == ["天池玄皇", "羽宙鴻荒", "曰月盈昃"]
    assert not tab.problems


def test_what_is_composed_is_seen_at_the_cursor_and_replaces_nothing_before_its_end(
    open_tab: OpenTab,
) -> None:
    tab = open_tab()
    tab.at(1, 1)
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("Input.imeSetComposition", {"text": "zhou", "selectionStart": 4, "selectionEnd": 4})
    assert tab.page.locator("#input.composing").input_value() == "zhou"
    box = tab.page.locator("#input").bounding_box()
    char = tab.page.locator(".line > .cursor").bounding_box()
    assert abs(box["x"] - char["x"]) < 4 and abs(box["y"] - char["y"]) < 4
    assert tab.texts()[1] == "宇宙洪荒"
    session.send("Input.insertText", {"text": "胄"})
    assert tab.texts()[1] == "宇胄洪荒"


def test_lines_are_split_joined_moved_and_all_is_undone(open_tab: OpenTab, book: Path, desk: Desk) -> None:
    tab = open_tab()
    tab.at(0, 2)
    tab.press("Alt+s")
    assert tab.texts() == ["天地", "玄黃", "宇宙洪荒", "日月盈昃"]
    tab.press("Alt+j")
    assert tab.texts() == ["天地", "玄黃宇宙洪荒", "日月盈昃"]
    tab.saved()
    tab.press("Alt+.")
    assert tab.texts() == ["天地", "日月盈昃", "玄黃宇宙洪荒"]
    tab.press("Alt+k", "Alt+w", "Delete", "Alt+x")
    assert tab.texts() == ["天地", "日月盈昃"]
    for _ in range(7):
        tab.press("Control+z")
    assert tab.texts() == ["天地玄黃", "宇宙洪荒", "日月盈昃"]
    tab.saved()
    _, answer = desk.ask("/api/pages/1")
    assert [line["box"] for line in answer["page"]["lines"]] == [
        line["box"] for line in answer["machine"]["lines"]
    ]
    tab.press("Control+Shift+z")
    tab.saved()
    assert tab.texts() == ["天地", "玄黃", "宇宙洪荒", "日月盈昃"]
    tab.reload()
    tab.press("Control+z")
    tab.saved()
    wait_for_disk(book, 1, ["天地玄黃", "宇宙洪荒", "日月盈昃"])


def test_what_the_page_shows_at_once_is_what_the_server_makes_of_it(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    tab.press("Tab", "1", "Tab", "Enter", "End", "Alt+i")
    tab.page.keyboard.insert_text("甲乙")
    tab.press("Alt+i", "Alt+ArrowDown")
    shown = tab.texts()
    tab.saved()
    assert tab.texts() == shown
    _, answer = desk.ask("/api/pages/1")
    assert [line["text"] for line in answer["page"]["lines"]] == shown


def test_tab_goes_from_doubt_to_doubt_and_a_confirmed_one_is_none(open_tab: OpenTab) -> None:
    tab = open_tab()
    seen = []
    for _ in range(4):
        tab.press("Tab")
        seen.append(tab.cursor())
    assert seen == ["地", "宙", "月", "地"]
    tab.press("Shift+Tab")
    assert tab.cursor() == "月"
    tab.press("Enter", "Enter", "Enter")
    tab.until("document.querySelector('.doubt') === null")
    tab.press("Tab")
    assert "No doubt" in tab.page.locator("#notice").inner_text()
    tab.saved()
    tab.until("document.querySelector('.thumbnail .state').textContent === 'no doubts'")


def test_a_page_is_marked_as_proofread_and_counts_for_training(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.press("Alt+p")
    tab.page.wait_for_selector(".mark.done")
    tab.page.wait_for_selector(".thumbnail .state.proofread")
    tab.press("Alt+t")
    said = tab.page.locator("dialog.training")
    said.wait_for()
    assert "1 page is" in said.inner_text() and "train tune" in said.inner_text()
