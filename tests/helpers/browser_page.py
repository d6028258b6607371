"""The page of `tongguocr proofread` in a real Chromium: opened, asked what it shows, and typed into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from paths import ROOT

FRONTEND = ROOT / "frontend"
PATIENCE = 120
"""Seconds."""
SAVED = "document.querySelector('.save').classList.contains('saved')"


def chromium() -> str:
    """Where Debian and others put it; a test that needs it is skipped where it is not."""
    pytest.importorskip("playwright", reason="The package playwright is not installed.")
    found = which("chromium") or which("chromium-browser") or which("google-chrome")
    if not found:
        pytest.skip("Chromium is not installed.")
    return found


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser without a window."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        # Chromium's sandbox wants a user who is not root, and a container has little shared memory.
        browser = play.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield browser
        browser.close()


class Tab:
    """One tab on a book; what the browser complains about is collected in `problems`."""

    def __init__(self, context: Any, address: str) -> None:
        self.page = context.new_page()
        # A busy machine is no fault of the page.
        self.page.set_default_timeout(PATIENCE * 1000)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._listen)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.ready()

    def _listen(self, message: Any) -> None:
        if message.type == "error" and "Failed to load" not in message.text:
            self.problems.append(message.text)

    def ready(self) -> None:
        """Wait until the text stands there."""
        self.page.wait_for_selector(".line")

    def texts(self) -> list[str]:
        """The lines in their order, as the page shows them."""
        script = "lines => lines.map(line => [line.dataset.line, line.textContent.replace('\\u200b', '')])"
        return [text for _, text in self.page.eval_on_selector_all("[data-line]", script)]

    def ids(self) -> list[str]:
        """The lines' ids, in the order in which they stand in the text."""
        return list(self.page.eval_on_selector_all("[data-line]", "lines => lines.map(l => l.dataset.line)"))

    def cursor(self) -> str:
        """The character under the cursor."""
        return str(self.page.locator(".line > .cursor").inner_text()).replace("\u200b", "")

    def at(self, line: int, place: int) -> None:
        """Click on a character of the text."""
        self.page.locator("[data-line]").nth(line).locator("[data-at]").nth(place).click()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def compose(self, steps: list[str], text: str) -> None:
        """What an input method does: it shows what is being composed, and then puts the text in."""
        session = self.page.context.new_cdp_session(self.page)
        for step in steps:
            ends = {"selectionStart": len(step), "selectionEnd": len(step)}
            session.send("Input.imeSetComposition", {"text": step, **ends})
        session.send("Input.insertText", {"text": text})
        session.detach()

    def paste(self, text: str) -> None:
        """A paste of this text."""
        self.page.evaluate(
            """text => {
                const data = new DataTransfer();
                data.setData("text/plain", text);
                const init = { clipboardData: data, bubbles: true, cancelable: true };
                document.activeElement.dispatchEvent(new ClipboardEvent("paste", init));
            }""",
            text,
        )

    def saved(self) -> None:
        """Wait until the server has it on its disk."""
        self.until(SAVED)

    def until(self, condition: str) -> None:
        """Wait until this holds in the page; its policy forbids what Playwright has for that."""
        for _ in range(PATIENCE * 40):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(condition)

    def until_text(self, text: str) -> None:
        """Wait until the text of the page holds this."""
        self.until(f"document.querySelector('#sheet').textContent.includes('{text}')")

    def reload(self) -> None:
        self.page.reload()
        self.ready()


def lines_on_disk(book: Path, page: int) -> list[str]:
    """The texts of a page's lines, as the folder of the book has them."""
    return [
        line["text"] for line in json.loads((book / f"p{page}.json").read_text(encoding="utf-8"))["lines"]
    ]
