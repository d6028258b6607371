"""A browser for the tests of one file, and a book and a server for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_page import Tab, open_browser
from proofread_books import write_book
from proofread_server import Desk, open_desk


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # As long as it is open its event loop counts as running, and tests of other files run loops of their own.
    with open_browser() as opened:
        yield opened


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_book(tmp_path / "book")


@pytest.fixture
def desk(browser: Any, book: Path) -> Iterator[Desk]:
    with open_desk(book, "--no-read") as opened:
        yield opened


@pytest.fixture
def open_tab(browser: Any, desk: Desk) -> Iterator[Callable[..., Tab]]:
    """A tab of its own storage, of this size and colour scheme."""
    contexts: list[Any] = []

    def open_one(width: int = 1280, height: int = 800, **options: Any) -> Tab:
        context = browser.new_context(viewport={"width": width, "height": height}, locale="en-GB", **options)
        contexts.append(context)
        return Tab(context, desk.address)

    yield open_one
    for context in contexts:
        context.close()
