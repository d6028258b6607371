"""Markdown: a Page in, a text to read and edit out.

The page's image is the heading. Main text is a paragraph whose rows are the lines of the page, with notes in
〔〕 behind the text before them; margins, and the centre fold if it is asked for, stand apart as quotations
with a label. What Markdown would take for markup is escaped, so that the text reads as it was. In a book each
page's heading has its number, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tongguocr.formats.style import Style
from tongguocr.formats.txt import join_words, text_rows
from tongguocr.formats.unread import NOT_READ, is_unread
from tongguocr.page import Kind, Page

LABEL: dict[Kind, str] = {"note": "Note", "margin": "Margin", "fold": "Fold"}
_MARKUP = re.compile(r"[\\`*_\[\]<>&~|$]")
_AT_START = re.compile(r"^(\d+)([.)])|^([#+=:-])")
_BLANKS = re.compile(r"^[ \t]+|[ \t]+$")


def render_markdown(page: Page, path: Path, style: Style = Style()) -> bytes:
    """The page as CommonMark; empty lines are left out. With the style's `flow` a paragraph is one row."""
    return _render(page, escape(page.image) or "Page", style)


def book_pieces(pages: Iterable[Page], style: Style = Style()) -> Iterator[bytes]:
    """Several pages, piece by piece, as one file: each below a heading with its number and its image."""
    for n, page in enumerate(pages, start=1):
        heading = f"{n}: {escape(page.image)}" if page.image else f"{n}"
        yield (b"\n" if n > 1 else b"") + _render(page, heading, style)


def _render(page: Page, heading: str, style: Style) -> bytes:
    rows = [(kind, text) for kind, text in text_rows(page, style.notes or "inline", style.fold) if text]
    parts = [f"# {heading}", *([f"*{NOT_READ}*"] if is_unread(page) else [])]
    for kind, run in groupby(rows, lambda row: row[0]):
        found = [text for _, text in run]
        # A backslash at its end keeps a row a row; a bare line feed would be shown as a space.
        texts = "\\\n".join(escape(text) for text in ([join_words(found)] if style.flow else found))
        parts.append(texts if kind == "main" else _quotation(LABEL[kind], texts))
    return ("\n\n".join(parts) + "\n").encode()


def escape(text: str) -> str:
    """The text as Markdown shows it unchanged."""
    text = _MARKUP.sub(r"\\\g<0>", text)
    text = _AT_START.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", text)
    # Blanks at the ends would be dropped, or make the row code.
    return _BLANKS.sub(lambda found: "".join(f"&#{ord(c)};" for c in found[0]), text)


def _quotation(label: str, texts: str) -> str:
    return "\n".join(f"> {row}" for row in f"**{label}**\\\n{texts}".split("\n"))
