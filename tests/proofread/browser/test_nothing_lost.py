"""Killed servers, reloads, two tabs, two people: no edit is lost, none silently overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser_page import Tab, lines_on_disk
from proofread_books import typed
from proofread_server import Desk, open_desk

pytestmark = pytest.mark.slow
OpenTab = Callable[..., Tab]


def test_a_server_killed_in_mid_edit_gets_every_edit_once(browser: Any, book: Path) -> None:
    with open_desk(book, "--no-read") as desk:
        tab = Tab(browser.new_context(locale="en-GB"), desk.address)
        tab.at(0, 0)
        tab.press("Alt+i")
        for n, char in enumerate("甲乙丙丁戊己庚辛"):
            tab.page.keyboard.insert_text(char)
            if n == 3:
                desk.kill()
        tab.page.wait_for_selector(".save.away")
        assert tab.texts()[0] == "甲乙丙丁戊己庚辛天地玄黃"
        port = urlsplit(desk.address).port
    with open_desk(book, "--no-read", "--port", port) as again:
        tab.saved()
        _, answer = again.ask("/api/pages/1")
        assert answer["page"]["lines"][0]["text"] == "甲乙丙丁戊己庚辛天地玄黃"
        assert tab.texts()[0] == "甲乙丙丁戊己庚辛天地玄黃"
        again.process.terminate()
        again.process.wait()
    assert lines_on_disk(book, 1)[0] == "甲乙丙丁戊己庚辛天地玄黃"
    tab.page.context.close()


def test_a_tab_closed_while_the_server_was_away_leaves_its_edits_to_the_next(
    browser: Any, book: Path
) -> None:
    context = browser.new_context(locale="en-GB")
    with open_desk(book, "--no-read") as desk:
        tab = Tab(context, desk.address)
        tab.at(1, 0)
        desk.kill()
        tab.page.keyboard.insert_text("羽")
        tab.page.wait_for_selector(".save.away")
        tab.page.close()
        port = urlsplit(desk.address).port
    with open_desk(book, "--no-read", "--port", port) as again:
        fresh = Tab(context, again.address)
        fresh.until_text("羽宙洪荒")
        fresh.saved()
        _, answer = again.ask("/api/pages/1")
        assert answer["page"]["lines"][1]["text"] == "羽宙洪荒"
    context.close()


def test_a_reload_right_after_a_key_loses_nothing(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    tab.at(2, 3)
    tab.page.keyboard.insert_text("仄")
    tab.reload()
    tab.until_text("日月盈仄")
    _, answer = desk.ask("/api/pages/1")
    assert answer["page"]["lines"][2]["text"] == "日月盈仄"


def test_what_the_disk_does_not_take_is_told_and_kept(open_tab: OpenTab) -> None:
    tab = open_tab()
    full = {"status": 503, "json": {"detail": "p1.journal.jsonl: No space left on device."}}
    tab.page.route("**/api/pages/1/edits", lambda route: route.fulfill(**full))
    tab.at(0, 0)
    tab.page.keyboard.insert_text("夭")
    tab.page.wait_for_selector(".save.away")
    said = tab.page.locator(".save").inner_text()
    assert "No space left" in said and "1 edit kept here" in said
    tab.page.unroute("**/api/pages/1/edits")
    tab.saved()
    tab.reload()
    assert tab.texts()[0] == "夭地玄黃"


def test_two_tabs_on_one_page_see_each_other(open_tab: OpenTab, book: Path) -> None:
    one, two = open_tab(), open_tab()
    one.at(0, 0)
    one.page.keyboard.insert_text("夭")
    two.until_text("夭地玄黃")
    two.until("document.querySelector('#notice').textContent.includes('changed this page')")
    two.at(1, 0)
    two.page.keyboard.insert_text("羽")
    one.until_text("羽宙洪荒")
    assert one.texts() == two.texts() == ["夭地玄黃", "羽宙洪荒", "日月盈昃"]


def conflicting(tab: Tab, desk: Desk) -> None:
    """A tab, which hears nothing, edits a line that somebody else has just changed."""
    tab.page.route("**/api/pages/1/edits", lambda route: route.abort())
    tab.at(0, 0)
    tab.page.keyboard.insert_text("夭")
    tab.page.wait_for_selector(".save.away")
    call = {"base": 0, "client": "other", "id": "x", "who": "Li", "edits": [typed("l1", 3, "皇")]}
    lines = desk.ask("/api/pages/1")[1]["page"]["lines"]
    call["edits"] = [typed(lines[0]["id"], 3, "皇")]
    status, _ = desk.ask("/api/pages/1/edits", call)
    assert status == 200
    tab.page.unroute("**/api/pages/1/edits")
    tab.page.locator("dialog.conflict").wait_for()


@pytest.mark.parametrize("choice, text", [("Use mine", "夭地玄黃"), ("Keep the server's", "天地玄皇")])
def test_the_later_of_two_is_told_and_chooses(open_tab: OpenTab, desk: Desk, choice: str, text: str) -> None:
    tab = open_tab()
    conflicting(tab, desk)
    told = tab.page.locator("dialog.conflict").inner_text()
    assert "Li" in told and "天地玄皇" in told and "夭地玄黃" in told
    tab.page.get_by_role("button", name=choice).click()
    tab.until_text(text)
    tab.saved()
    _, answer = desk.ask("/api/pages/1")
    assert answer["page"]["lines"][0]["text"] == text


def test_an_undecided_conflict_is_asked_again_after_a_reload(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    conflicting(tab, desk)
    tab.reload()
    tab.page.locator("dialog.conflict").wait_for()
    assert "夭地玄黃" in tab.page.locator("dialog.conflict").inner_text()
