"""A table of doubtful characters for proofreading: pages in, CSV out.

One row for each character whose confidence is below the threshold, that the language model changed, or that
it finds odd in its place: where it stands, what was read, what else it may be, its box in the image as it
lies, the line with the character in 【】, and why it is listed. No confidence is no doubt.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.numbers import plain, to_decimal
from tongguocr.page import Char, Line, Page, as_it_lies

THRESHOLD = 0.8
MAX_CANDIDATES = 4
_CANDIDATE_COLUMNS = [
    f"{name}{n}" for n in range(1, MAX_CANDIDATES + 1) for name in ("candidate", "candidate_confidence")
]
COLUMNS = (
    "page",
    "line",
    "position",
    "character",
    "confidence",
    *_CANDIDATE_COLUMNS,
    "x0",
    "y0",
    "x1",
    "y1",
    "context",
    "reason",
    "picture",
    "surprise",
)
"""`position` counts the line's characters from 1. `reason` is one of REASONS; `picture` is what the picture
alone says, where the language model chose otherwise; `surprise` the bits by which it finds this odd."""
REASONS = ("unsure", "changed", "odd")
"""The picture is not sure; the language model chose another of its candidates; the picture is sure, and the
character is unlikely after the text before it. Of several one is told: changed, then unsure."""


def render_doubts(page: Page, path: Path) -> bytes:
    """The table of one page."""
    return render_table([page])


def write_doubts(pages: Iterable[Page], path: Path) -> None:
    """The table of all the pages, whole or not at all."""
    with open_whole(path) as file:
        file.writelines(_pieces(pages, THRESHOLD))


def render_table(pages: Iterable[Page], threshold: float = THRESHOLD, excel: bool = False) -> bytes:
    """The table in UTF-8; `excel` adds the byte order mark by which Excel knows that it is."""
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold: {threshold} is not between 0 and 1.")
    return (codecs.BOM_UTF8 if excel else b"") + b"".join(_pieces(pages, threshold))


def _pieces(pages: Iterable[Page], threshold: float) -> Iterator[bytes]:
    """The head of the table, then the rows of page after page."""
    yield _render_rows([COLUMNS])
    for n, page in enumerate(pages, start=1):
        yield _render_rows(_page_rows(page, n, threshold))


def _render_rows(rows: Iterable[Sequence[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def _page_rows(page: Page, number: int, threshold: float) -> Iterator[list[object]]:
    """The page's rows, in reading order; a page whose image has no name goes by its number."""
    for line in as_it_lies(page).lines:
        for index, char in enumerate(line.chars):
            if reason := reason_for(char, threshold):
                name = page.image or str(number)
                yield [
                    name,
                    line.id,
                    index + 1,
                    *_readings(char),
                    *map(to_decimal, char.box),
                    _context(line, index),
                    reason,
                    char.picture or "",
                    "" if char.surprise is None else plain(char.surprise),
                ]


def reason_for(char: Char, threshold: float = THRESHOLD) -> str | None:
    """Why a character is listed, or None."""
    unsure, changed, odd = REASONS
    if char.picture is not None:
        return changed
    if char.confidence is not None and char.confidence < threshold:
        return unsure
    return odd if char.surprise is not None else None


def _readings(char: Char) -> list[object]:
    """The character, its confidence, and its candidates with theirs; missing ones are empty."""
    listed: list[object] = [char.text, char.confidence if char.confidence is None else plain(char.confidence)]
    for text, confidence in char.candidates[:MAX_CANDIDATES]:
        listed += [text, plain(confidence)]
    return listed + [""] * (2 + 2 * MAX_CANDIDATES - len(listed))


def _context(line: Line, index: int) -> str:
    texts = [char.text for char in line.chars]
    return f"{''.join(texts[:index])}【{texts[index]}】{''.join(texts[index + 1 :])}"
