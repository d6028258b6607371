"""What stands in a book for a page that could not be read, and the day that a book names as its own.

A book of a thousand pages is not given up for one of them: its place is kept by a page without lines, and
every format that holds books says there in one sentence that it is no blank leaf.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from tongguocr.page import Page

NOT_READ = "This page could not be read."


def unread_page(image: str = "") -> Page:
    """A page in the place of one that could not be read; `image` is its image's name."""
    return Page(image, 0, 0, warnings=(NOT_READ,))


def is_unread(page: Page) -> bool:
    """Whether the page only keeps the place of one that could not be read."""
    return not page.lines and page.warnings == (NOT_READ,)


def today() -> date:
    """The day, or that of SOURCE_DATE_EPOCH, by which builds are told to come out the same on every day."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(told), UTC) if told.isdecimal() else datetime.now(UTC)).date()
