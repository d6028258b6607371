"""Pages of boxes whose ids are their places in the order that is right, and the rules drawn on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tongguocr.geometry import Box
from tongguocr.layout import order_lines
from tongguocr.layout.frame import Rule
from tongguocr.page import Char, Kind, Line, Page

CELL = 40.0
STEP = 60.0
RIGHT = 1000.0


def page_of(*boxes: Box, kinds: Sequence[Kind] = ()) -> Page:
    """Lines of square characters, numbered as they are to be read."""
    kinds = (*kinds, *["main"] * (len(boxes) - len(kinds)))
    lines = [
        Line(f"{k:02}", box, kind=kind, chars=cells(box))
        for k, (box, kind) in enumerate(zip(boxes, kinds, strict=True))
    ]
    return Page("", 0, 0, tuple(lines))


def cells(box: Box) -> tuple[Char, ...]:
    count = max(round((box[3] - box[1]) / CELL), 1)
    high = (box[3] - box[1]) / count
    return tuple(Char("", (box[0], box[1] + k * high, box[2], box[1] + (k + 1) * high)) for k in range(count))


def column(number: int, top: float, length: float) -> Box:
    """The so-manieth column from the right, from `top`, of so many characters."""
    x = RIGHT - STEP * number
    return (x - CELL, top, x, top + CELL * length)


def columns(numbers: Sequence[int], top: float, length: float) -> list[Box]:
    return [column(number, top, length) for number in numbers]


def across(y: float, numbers: tuple[int, int] = (0, 9)) -> Rule:
    """A rule from column to column."""
    return ((RIGHT + 20 - STEP * (numbers[1] + 1), y), (RIGHT + 20 - STEP * numbers[0], y))


def down(number: float, top: float, foot: float) -> Rule:
    """A rule to the right of the so-manieth column."""
    x = RIGHT + 10 - STEP * number
    return ((x, top), (x, foot))


def assert_order(page: Page, rules: Sequence[Rule] | None, keep_kinds: bool = False) -> list[str]:
    """The lines come out by their ids, whichever order they went in; their kinds then."""
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(len(page.lines))
        mixed = replace(page, lines=tuple(page.lines[k] for k in shuffled))
        found = order_lines(mixed, keep_kinds=keep_kinds, rules=rules)
        assert [line.id for line in found.lines] == sorted(line.id for line in page.lines)
    return [line.kind for line in found.lines]
