"""Plain text: one line of the page a line, in reading order.

Only line feeds and carriage returns end a line; every other character, a full-width space at a line's start
included, stays. Lines of the file without anything but white space are layout, not text, and are left out.
Notes may stand in brackets behind the text that they explain, or be left out; `flow` joins what reads on. The
fold's running titles and folio numbers, which would cut into the text, are written only if asked for. Between
two pages of a book is a row with nothing but a form feed, which reading passes over.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8
from tongguocr.formats.style import NOTES, Notes, Style
from tongguocr.formats.unread import NOT_READ, is_unread
from tongguocr.page import Kind, Line, Page

PAGE_BREAK = b"\f\n"
_LINE_END = re.compile(r"\r\n|\n|\r")


def parse_txt(data: bytes, path: Path) -> Page:
    """The page in a text file, without an image: lines l1, l2 ... with zero boxes."""
    rows = _LINE_END.split(decode_utf8(data, path))
    texts = [row for row in rows if row.strip()]
    lines = tuple(Line(f"l{n}", (0, 0, 0, 0), text) for n, text in enumerate(texts, start=1))
    return Page("", 0, 0, lines)


def render_txt(page: Page, path: Path, style: Style = Style()) -> bytes:
    """The page's text as a file: UTF-8, a line feed after every line, empty lines kept empty.

    Notes are lines of their own unless the style says otherwise. With `flow` the lines of one paragraph are
    joined: all that follow each other and are of one kind, notes in brackets being part of the text around
    them.
    """
    rows = text_rows(page, style.notes or "lines", style.fold)
    if style.flow:
        runs = (join_words(text for _, text in run) for _, run in groupby(rows, lambda row: row[0]))
        return "".join(f"{text}\n" for text in runs if text).encode()
    return "".join(f"{text}\n" for _, text in rows).encode()


def book_pieces(pages: Iterable[Page], style: Style = Style()) -> Iterator[bytes]:
    """The text of several pages, piece by piece, as one file."""
    for n, page in enumerate(pages):
        text = f"[{NOT_READ}]\n".encode() if is_unread(page) else render_txt(page, Path(), style)
        yield PAGE_BREAK + text if n else text


def text_rows(page: Page, notes: Notes, fold: bool = False) -> list[tuple[Kind, str]]:
    """The rows of the page's text, each with its kind; notes in brackets belong to the main text.

    Lines of the fold are among them only if `fold` says so.
    """
    if notes not in NOTES:
        raise InputError(f"notes: {notes!r} is not one of {', '.join(NOTES)}.")
    rows: list[tuple[Kind, str]] = []
    lines = (line for line in page.lines if fold or line.kind != "fold")
    for kind, run in groupby(lines, lambda line: line.kind):
        texts = [line.text for line in run]
        if kind != "note" or notes == "lines":
            rows += [(kind, text) for text in texts]
        elif notes == "inline" and any(texts):
            before = rows.pop()[1] if rows and rows[-1][0] == "main" else ""
            rows.append(("main", f"{before}〔{join_words(texts)}〕"))
    return rows


def join_words(words: Iterable[str]) -> str:
    """Words as one text: a space between them, but none beside an ideograph or another wide character."""
    text = ""
    for word in filter(None, words):
        if text and not any(
            c.isspace() or unicodedata.east_asian_width(c) in "WF" for c in (text[-1], word[0])
        ):
            text += " "
        text += word
    return text


def has_line_break(text: str) -> bool:
    """Whether the text would be more than one row of a file."""
    return "\n" in text or "\r" in text


def characters(text: str) -> list[str]:
    """The text's characters, each with the variation selectors and marks that follow it."""
    found: list[str] = []
    for c in text:
        if found and unicodedata.category(c) in ("Mn", "Me", "Mc"):
            found[-1] += c
        else:
            found.append(c)
    return found
