"""The page itself: scan and text together, drawing, search, languages, accessibility; nothing from afar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser_page import FRONTEND, Tab
from proofread_books import write_book
from proofread_server import Desk, open_desk

pytestmark = pytest.mark.slow
OpenTab = Callable[..., Tab]
SHOWN = (
    "document.querySelector('.char-frame') && !document.querySelector('.char-frame').hasAttribute('hidden')"
)
DRAWN = "document.querySelector('.overlay g').hasAttribute('transform')"


def middle(box: dict[str, float]) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_scan_and_text_move_together(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.at(1, 2)
    tab.until(SHOWN)
    place = middle(tab.page.locator(".char-frame").bounding_box())
    tab.at(0, 0)
    tab.page.mouse.move(*place)
    tab.page.wait_for_selector(".line > .hover")
    assert tab.page.locator(".line > .hover").inner_text() == "洪"
    tab.page.mouse.click(*place)
    tab.until("document.querySelector('.line > .cursor').textContent === '洪'")
    tab.page.locator("[data-line]").nth(2).locator("[data-at]").nth(1).hover()
    tab.page.wait_for_selector(".hover-frame:not([hidden])")


def test_a_line_is_drawn_with_the_mouse_and_one_without(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.at(2, 0)
    box = tab.page.locator("#viewer").bounding_box()
    x, y = middle(box)
    tab.press("Alt+n")
    tab.page.mouse.move(x - 15, y - 60)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 15, y + 60, steps=4)
    tab.page.mouse.up()
    tab.press("Enter")
    tab.page.keyboard.insert_text("寒來")
    assert tab.texts()[-1] == "寒來"
    tab.press("Alt+n", "Enter", "ArrowRight", "Shift+ArrowDown", "Enter")
    tab.page.keyboard.insert_text("暑往")
    tab.saved()
    _, answer = desk.ask("/api/pages/1")
    assert [line["text"] for line in answer["page"]["lines"]][-2:] == ["寒來", "暑往"]
    drawn, beside = answer["page"]["lines"][-2:]
    assert drawn["box"][3] - drawn["box"][1] > drawn["box"][2] - drawn["box"][0]
    assert beside["box"] != drawn["box"]


def test_corners_are_dragged(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.at(0, 0)
    tab.press("Alt+g")
    before = desk.ask("/api/pages/1")[1]["page"]["lines"][0]
    x, y = middle(tab.page.locator(".handle").nth(2).bounding_box())
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x - 4, y - 40, steps=4)
    tab.page.mouse.up()
    tab.saved()
    after = desk.ask("/api/pages/1")[1]["page"]["lines"][0]
    assert after["box"][:2] == before["box"][:2]
    assert after["box"][3] < before["box"][3]
    assert after["chars"][-1]["box"][3] < before["chars"][-1]["box"][3]


def test_order_rows_zoom_and_pages(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.press("Alt+o")
    assert tab.page.locator(".arrows .way").count() == 3
    # The numbers can be read at any zoom.
    high = "document.querySelector('.arrows text').getBoundingClientRect().height"
    widths = set()
    for key in ("Alt+0", "Alt+Minus", "Alt+Equal", "Alt+Equal"):
        tab.press(key)
        tab.until(f"{high} > 12 && {high} < 22")
        widths.add(tab.page.locator(".line-frame").bounding_box()["width"])
    assert len(widths) > 1
    # The framed character stays in sight while one zooms in.
    for _ in range(4):
        tab.press("Alt+Equal")
    tab.page.wait_for_timeout(500)
    seen, framed = (tab.page.locator(name).bounding_box() for name in ("#viewer", ".char-frame"))
    assert all(
        low < at < low + size
        for at, low, size in zip(
            middle(framed), (seen["x"], seen["y"]), (seen["width"], seen["height"]), strict=True
        )
    )
    tab.press("Alt+0")
    tab.press("Alt+o", "Alt+v")
    boxes = [tab.page.locator("[data-line]").nth(k).bounding_box() for k in range(2)]
    assert boxes[0]["y"] < boxes[1]["y"]
    tab.press("Alt+v")
    boxes = [tab.page.locator("[data-line]").nth(k).bounding_box() for k in range(2)]
    assert boxes[0]["x"] > boxes[1]["x"]
    tab.press("PageDown")
    tab.until("document.querySelector('#page-number').value === '2'")
    tab.page.locator(".thumbnail").nth(2).click()
    tab.until("document.querySelector('#page-number').value === '3'")
    # One who asks for a page by its number goes on in its text.
    tab.page.fill("#page-number", "1")
    tab.press("Enter")
    tab.until("location.hash === '#1' && document.activeElement.id === 'input'")
    # On a narrow screen the list of pages makes way for the page that is chosen.
    tab.page.set_viewport_size({"width": 390, "height": 844})
    assert not tab.page.locator("#pages").is_visible()
    tab.press("Alt+b")
    tab.page.locator(".thumbnail").nth(1).click()
    tab.until("document.querySelector('#page-number').value === '2'")
    assert not tab.page.locator("#pages").is_visible()


def test_wheel_and_pinch_zoom_and_a_drag_moves_the_scan(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.at(0, 0)
    tab.until(SHOWN)
    frame = "document.querySelector('.char-frame').getBoundingClientRect()"
    x, y = middle(tab.page.locator(".char-frame").bounding_box())

    def grows(by: Callable[[], object]) -> None:
        width = tab.page.evaluate(f"{frame}.width")
        by()
        tab.until(f"{frame}.width > {1.1 * width}")

    tab.page.mouse.move(x, y)
    grows(lambda: tab.page.mouse.wheel(0, -200))
    session = tab.page.context.new_cdp_session(tab.page)
    pinch = {"x": x, "y": y, "scaleFactor": 1.6, "gestureSourceType": "touch"}
    grows(lambda: session.send("Input.synthesizePinchGesture", pinch))
    left = tab.page.evaluate(f"{frame}.left")
    tab.page.mouse.down()
    tab.page.mouse.move(x - 60, y, steps=4)
    tab.page.mouse.up()
    tab.until(f"{frame}.left < {left - 30}")


def test_names_and_texts_are_never_interpreted(browser: Any, tmp_path: Path) -> None:
    odd = "<img src=x onerror=alert(1)>'\"&"
    book = write_book(tmp_path / odd, 1)
    for ending in (".png", ".json"):
        (book / f"p1{ending}").rename(book / f"{odd}{ending}")
    context = browser.new_context(locale="en-GB")
    with open_desk(book, "--no-read") as desk:
        tab = Tab(context, desk.address)
        opened: list[str] = []
        tab.page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
        tab.at(0, 0)
        tab.paste("<b>&")
        tab.saved()
        assert tab.page.locator(".title").inner_text() == odd
        assert tab.page.locator(".thumbnail").get_attribute("title") == odd
        assert tab.texts()[0] == "<b>&" and tab.page.locator("#sheet b, #sheet img").count() == 0
        tab.press("Alt+m")
        assert tab.page.locator("dialog.compare mark").last.inner_text() == "<b>&"
        tab.press("Escape", "Alt+t")
        assert odd.split("'")[0] in tab.page.locator("dialog.training code").inner_text()
        assert opened == tab.problems == [] and tab.page.locator("img[onerror]").count() == 0
    context.close()


def test_search_jumps_to_the_place(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.press("F3")
    tab.page.keyboard.insert_text("盈昃")
    tab.until("document.querySelectorAll('.hits li').length === 3")
    tab.page.locator(".hits button").nth(2).click()
    tab.until("document.querySelector('#page-number').value === '3'")
    tab.until("document.querySelectorAll('.selected').length === 2")
    tab.press("F3", "Escape")
    tab.until("document.querySelector('dialog') === null")


def test_the_machines_reading_is_compared(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.at(0, 0)
    tab.page.keyboard.insert_text("夭")
    tab.saved()
    tab.press("Alt+m")
    rows = tab.page.locator("dialog.compare tbody tr")
    assert rows.count() == 1
    assert rows.locator("mark").all_inner_texts() == ["天", "夭"]


@pytest.mark.parametrize(
    "locale, word",
    [
        ("en-US", "Mark as proofread"),
        ("zh-TW", "標為已校對"),
        ("zh-CN", "标为已校对"),
        ("ja-JP", "校正済みにする"),
    ],
)
def test_the_interface_speaks_the_browsers_language(browser: Any, desk: Desk, locale: str, word: str) -> None:
    context = browser.new_context(locale=locale)
    tab = Tab(context, desk.address)
    assert tab.page.locator(".mark").inner_text() == word
    tab.press("F1")
    assert tab.page.locator("dialog.help kbd").count() > 30
    context.close()


def test_no_request_leaves_the_machine_and_no_policy_is_broken(open_tab: OpenTab, desk: Desk) -> None:
    tab = open_tab()
    tab.until(DRAWN)
    tab.press("F1", "Escape", "Tab")
    assert tab.problems == []
    assert {urlsplit(address).netloc for address in tab.asked} == {urlsplit(desk.address).netloc}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(open_tab: OpenTab, scheme: str, width: int) -> None:
    axe = FRONTEND / "node_modules/axe-core/axe.min.js"
    if not axe.exists():
        pytest.skip("axe-core is not installed: `npm ci` in frontend/ does it.")
    tab = open_tab(width, 844, color_scheme=scheme)
    tab.until(DRAWN)
    tab.press("Tab")
    # The policy forbids scripts of others in the page; this way in is the debugger's.
    tab.page.evaluate(axe.read_text(encoding="utf-8"))
    for dialog in ("", "F1", "F3", "Alt+t", "Alt+m", "Alt+r"):
        if dialog:
            tab.press(dialog)
            tab.page.wait_for_selector("dialog[open]")
        found = tab.page.evaluate("axe.run(document)")["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
        ]
        assert not serious, dialog
        tab.press("Escape")
