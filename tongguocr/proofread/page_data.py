"""A page as the browser has it, and back: `page.Page` in, `models.PageData` out, lines both ways.

The browser wants every character in its place, so a line whose file has none, or others than its text, gets
cells of equal length along its box. Lines that nobody edits keep what their file says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from tongguocr.formats.doubts import reason_for
from tongguocr.formats.txt import characters
from tongguocr.geometry import Box, make_box
from tongguocr.layout.columns import number_columns
from tongguocr.page import Char, Direction, Line, Page
from tongguocr.proofread.models import CharData, LineData, PageData

PageCache: TypeAlias = dict[str, tuple[Line, LineData]]
"""What was made of a page's lines the last time, by their ids."""


def page_data(page: Page, cache: PageCache | None = None) -> PageData:
    """The page with columns and rows told, and every character in its place.

    With a cache, only lines that are others than the last time are made anew: most edits are of one line.
    """
    bare = tuple(replace(line, column=None, row=None, chars=()) for line in page.lines)
    placed = number_columns(replace(page, lines=bare)).lines if bare else ()
    before, lines = dict(cache or {}), []
    for line, place in zip(page.lines, placed, strict=True):
        old, data = before.get(line.id, (None, None))
        if old is not line or data is None:
            data = line_data(spelled(line))
        data = data.model_copy(update={"column": place.column, "row": place.row})
        lines.append(data)
        if cache is not None:
            cache[line.id] = line, data
    # The page is ours, and was checked when it came in: checking it again would take most of the time.
    return PageData.model_construct(width=page.width, height=page.height, lines=lines)


def line_data(line: Line) -> LineData:
    """One line, whose characters spell its text."""
    return LineData.model_construct(
        id=line.id,
        box=line.box,
        points=None if line.polygon is None else list(line.polygon),
        kind=line.kind,
        direction=line.direction,
        text=line.text,
        confidence=line.confidence,
        chars=[_char_data(char) for char in line.chars],
    )


def _char_data(char: Char) -> CharData:
    return CharData.model_construct(
        text=char.text,
        box=char.box,
        confidence=char.confidence,
        candidates=list(char.candidates),
        picture=char.picture,
        surprise=char.surprise,
        doubt=reason_for(char) is not None,
    )


def line_from(data: LineData) -> Line:
    """The line that a browser sends; raises a ValueError where its characters do not spell its text."""
    chars = tuple(
        Char(
            char.text,
            make_box(*char.box),
            char.confidence,
            tuple(char.candidates),
            char.picture,
            char.surprise,
        )
        for char in data.chars
    )
    if chars and "".join(char.text for char in chars) != data.text:
        raise ValueError(f"the characters of the line {data.id!r} do not spell its text")
    outline = tuple(data.points) if data.points else None
    box = make_box(*data.box)
    line = Line(data.id, box, data.text, data.kind, data.direction, data.confidence, outline, chars)
    return spelled(line)


def spelled(line: Line) -> Line:
    """The line with characters that spell its text: its own, or the text's in cells along its box."""
    if all(char.text for char in line.chars) and "".join(char.text for char in line.chars) == line.text:
        return line
    return replace(line, chars=spread(characters(line.text), line.box, line.direction, line.confidence))


def spread(
    texts: Sequence[str], box: Box, direction: Direction, confidence: float | None = None
) -> tuple[Char, ...]:
    """Characters in cells of equal length, as many as the box is to hold."""
    count = len(texts)
    return tuple(
        Char(text, cell(box, direction, k / count, (k + 1) / count), confidence)
        for k, text in enumerate(texts)
    )


def cell(box: Box, direction: Direction, start: float, stop: float) -> Box:
    """The part of a box between two places along it, from 0 to 1 in the direction of its text."""
    x0, y0, x1, y1 = box
    if direction in ("bottom-to-top", "right-to-left"):
        start, stop = 1 - stop, 1 - start
    if direction in ("top-to-bottom", "bottom-to-top"):
        return (x0, y0 + start * (y1 - y0), x1, y0 + stop * (y1 - y0))
    return (x0 + start * (x1 - x0), y0, x0 + stop * (x1 - x0), y1)


def along(box: Box, direction: Direction) -> tuple[float, float]:
    """Where a box begins and ends on the way of the text, growing as one reads."""
    x0, y0, x1, y1 = box
    return {
        "top-to-bottom": (y0, y1),
        "bottom-to-top": (-y1, -y0),
        "left-to-right": (x0, x1),
        "right-to-left": (-x1, -x0),
    }[direction]


def stretch(box: Box, direction: Direction, start: float, stop: float) -> Box:
    """The box with another beginning and end on the way of the text, as `along` tells them."""
    x0, y0, x1, y1 = box
    return {
        "top-to-bottom": (x0, start, x1, stop),
        "bottom-to-top": (x0, -stop, x1, -start),
        "left-to-right": (start, y0, stop, y1),
        "right-to-left": (-stop, y0, -start, y1),
    }[direction]


def count_doubts(page: Page) -> int:
    """How many characters should be looked at."""
    return sum(reason_for(char) is not None for line in page.lines for char in line.chars)
