"""Lines in, transition tokens out: which way the eye moves from one line's end to the next line's start.

Paper, section 3.2, "Line-to-Line Transition Modeling". The displacement between two anchors is divided by
the image's width and height and rounded to one of 24 tokens. docs/tokens.md gives the reason for each rule
that the paper leaves open.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tongguocr.geometry import Point, centre, cross_section, height, width
from tongguocr.page import Line

HORIZONTAL = ("left", "right", "far_left", "far_right")
"""The paper's R_x."""
VERTICAL = ("up", "down", "far_up", "far_down")
"""The paper's R_y."""
TRANSITIONS: tuple[str, ...] = (
    *(f"<{x}>" for x in HORIZONTAL),
    *(f"<{y}>" for y in VERTICAL),
    *(f"<{x}|{y}>" for x in HORIZONTAL for y in VERTICAL),
)
"""The paper's R in a fixed order, on which token ids depend: R_x, R_y, then the pairs, x before y."""

MAX_GUESSED_CELLS = 1000
"""No column is longer; it also keeps a box without breadth from overflowing."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares of the image's width and height; the values are the paper's."""

    delta: float = 0.01
    """An offset below it is negligible; one of exactly delta is kept."""
    tau: float = 0.5
    """An offset above it is far; one of exactly tau is not."""

    def __post_init__(self) -> None:
        if not 0 <= self.delta <= self.tau:
            raise ValueError(f"The thresholds need 0 <= delta <= tau, not {self.delta} and {self.tau}.")


THRESHOLDS = Thresholds()


def transition(dx: float, dy: float, thresholds: Thresholds = THRESHOLDS) -> str:
    """The token for one displacement, already divided by the image's width (dx) and height (dy).

    Where both offsets are negligible the larger one still names the token, never as a far one. Equal ones
    count as horizontal and no movement at all as `<left>`, because columns advance to the left.
    """
    keep_x, keep_y = (abs(offset) >= thresholds.delta and offset != 0 for offset in (dx, dy))
    if not keep_x and not keep_y:
        return _token("left" if dx <= 0 else "right") if abs(dx) >= abs(dy) else _token(_label_y(dy))
    far_x, far_y = ("far_" if abs(offset) > thresholds.tau else "" for offset in (dx, dy))
    labels = [far_x + _label_x(dx)] * keep_x + [far_y + _label_y(dy)] * keep_y
    return _token(*labels)


def _label_x(dx: float) -> str:
    return "left" if dx < 0 else "right"


def _label_y(dy: float) -> str:
    return "up" if dy < 0 else "down"


def _token(*labels: str) -> str:
    return f"<{'|'.join(labels)}>"


def transitions_of(
    lines: Sequence[Line], width: float, height: float, thresholds: Thresholds = THRESHOLDS
) -> list[str]:
    """The paper's r_1 ... r_{n-1}, for lines in reading order on an image of this size."""
    if not (width > 0 and height > 0):
        raise ValueError(f"An image needs a width and a height, not {width} x {height}.")
    tokens = []
    for line, following in pairwise(lines):
        (x0, y0), (x1, y1) = end_anchor(line), start_anchor(following)
        tokens.append(transition((x1 - x0) / width, (y1 - y0) / height, thresholds))
    return tokens


def start_anchor(line: Line) -> Point:
    """The centre of the line's first character, estimated where characters have no boxes."""
    return centre(line.chars[0].box) if line.chars else _estimate(line, at_end=False)


def end_anchor(line: Line) -> Point:
    """The centre of the line's last character, estimated where characters have no boxes."""
    return centre(line.chars[-1].box) if line.chars else _estimate(line, at_end=True)


def joins_previous(char: str) -> bool:
    """Whether a code point belongs to the character before it: marks, variation selectors, joiners."""
    return unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf")


def count_cells(line: Line) -> int:
    """How many character cells a line has: its characters, or what its box would hold if it has no text."""
    if line.text:
        return max(1, sum(not joins_previous(char) for char in line.text))
    sides = (height(line.box), width(line.box))
    length, breadth = sides if line.is_vertical else sides[::-1]
    return max(1, round(min(length / breadth, MAX_GUESSED_CELLS))) if breadth > 0 else 1


def _estimate(line: Line, at_end: bool) -> Point:
    """Half a cell in from the line's start or end, in the middle of the line there."""
    axis = 1 if line.is_vertical else 0
    low, high = line.box[axis], line.box[axis + 2]
    half_cell = (high - low) / count_cells(line) / 2
    runs_backwards = line.direction in ("bottom-to-top", "right-to-left")
    along = high - half_cell if at_end != runs_backwards else low + half_cell
    across = _middle(line, along, axis)
    return (across, along) if line.is_vertical else (along, across)


def _middle(line: Line, along: float, axis: int) -> float:
    """The line's middle at this place: a skewed column's box is wider than the column."""
    cut = cross_section(line.polygon, along, axis) if line.polygon else None
    low, high = cut or (line.box[1 - axis], line.box[3 - axis])
    return (low + high) / 2
