"""Character boxes of a page, given without saying which line they belong to: which line each one is in.

A character belongs to the line around its centre. A line gets its characters only if they spell its text,
white space aside: in the order of their places along the line, or in the order of the label file, where
stray boxes of a neighbour are left out if that can be done in one way only. Otherwise the line gets none:
nothing is invented, and `chars` is complete or empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tongguocr.geometry import Point, centre, cross_section
from tongguocr.page import Char, Line


def attach_chars(lines: Sequence[Line], chars: Sequence[Char]) -> tuple[Line, ...]:
    """The lines with their characters."""
    members: list[list[Char]] = [[] for _ in lines]
    for char in chars:
        line = _line_around(char, lines)
        if line is not None:
            members[line].append(char)
    return tuple(
        replace(line, chars=_spelling(line, found)) for line, found in zip(lines, members, strict=True)
    )


def _line_around(char: Char, lines: Sequence[Line]) -> int | None:
    """The line that the character's centre lies in; of several, one whose text has it, then the nearest.

    Outlines come first: only a character in no line's outline goes by the boxes.
    """
    point = centre(char.box)
    for outlines in (True, False):
        around = [
            (char.text not in line.text, distance, i)
            for i, line in enumerate(lines)
            if (distance := _distance_to_axis(point, line, outlines)) is not None
        ]
        if around:
            return min(around)[2]
    return None


def _distance_to_axis(point: Point, line: Line, outlines: bool) -> float | None:
    """How far across the line the point lies from its middle; None outside the line."""
    x0, y0, x1, y1 = line.box
    if not (x0 <= point[0] <= x1 and y0 <= point[1] <= y1):
        return None
    along, across = (1, 0) if line.is_vertical else (0, 1)
    edges: tuple[float, float] | None = (line.box[across], line.box[across + 2])
    if outlines and line.polygon:
        edges = cross_section(line.polygon, point[along], along)
    if edges is None or not edges[0] <= point[across] <= edges[1]:
        return None
    return abs(point[across] - (edges[0] + edges[1]) / 2)


def _spelling(line: Line, found: Sequence[Char]) -> tuple[Char, ...]:
    """Those of the characters that spell the line's text, or none."""
    text = "".join(line.text.split())
    axis, sign = (
        (1 if line.is_vertical else 0),
        (-1 if line.direction in ("right-to-left", "bottom-to-top") else 1),
    )
    along = sorted(found, key=lambda char: sign * centre(char.box)[axis])
    for order in (along, list(found)):
        if "".join(char.text for char in order) == text:
            return tuple(order)
    for order in (along, list(found)):
        first = _embedding(text, order)
        last = [len(order) - 1 - i for i in reversed(_embedding(text[::-1], order[::-1], reverse=True))]
        if first and first == last:
            return tuple(order[i] for i in first)
    return ()


def _embedding(text: str, chars: Sequence[Char], reverse: bool = False) -> list[int]:
    """The earliest characters that spell the text in this order, by their places; empty where they do not."""
    taken, at = [], 0
    for i, char in enumerate(chars):
        part = char.text[::-1] if reverse else char.text
        if at < len(text) and text.startswith(part, at):
            taken.append(i)
            at += len(part)
    return taken if at == len(text) else []
