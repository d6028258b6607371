"""Plain text: one line of the page a line, in reading order.

Only line feeds and carriage returns end a line; every other character, a full-width space at a line's start
included, stays. Lines of the file without anything but white space are layout, not text, and are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from tongguocr.files import decode_utf8, read_bytes
from tongguocr.page import Line, Page

_LINE_END = re.compile(r"\r\n|\n|\r")


def read_text(path: Path) -> Page:
    """A page without an image: lines l1, l2 ... with zero boxes."""
    rows = _LINE_END.split(decode_utf8(read_bytes(path), path))
    texts = [row for row in rows if row.strip()]
    lines = tuple(Line(f"l{n}", (0, 0, 0, 0), text) for n, text in enumerate(texts, start=1))
    return Page("", 0, 0, lines)


def render_text(page: Page) -> bytes:
    """The page's text as a file: UTF-8, a line feed after every line, empty lines kept empty."""
    return "".join(f"{line.text}\n" for line in page.lines).encode()
