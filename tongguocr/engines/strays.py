"""A page as read -> the page with every character in its line, or in a line of its own, or gone.

A crop shows more than its lines: a neighbouring fold cut through, the edge of a woodcut, a line of another
block. What is read of that comes to the line nearest in the text, though it does not stand there. In: lines
with their characters, some of them stray by their places. Out: a stray that stands in another line, where
nothing was read, goes there; what was read twice in one place is dropped, and so is what is not sure; the
rest are lines of their own (`python -m bench.strays` has what each rule costs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.align_by_position import thickness
from tongguocr.engines.base import LineReading
from tongguocr.geometry import Box, centre, height, union, width
from tongguocr.page import Char, Line, Page

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StrayRule:
    """What becomes of characters that stand outside of their line."""

    far: float = 0.1
    """In thicknesses of the line: a centre that lies no farther outside of its box is the line's."""
    least: float = 0.7
    """Strays that are less sure go."""
    same: float = 0.5
    """In its own shorter side: two characters whose centres are nearer to each other are one, read twice."""


def settle_strays(page: Page, known: Collection[str], rule: StrayRule = StrayRule()) -> Page:
    """The page without strays in its lines; as it is where there are none.

    Lines whose ids are not `known` were made of what was read beside all others (`fill_page`): all is stray.
    """
    lines = page.lines
    strays = [_strays(line, known, rule) for line in lines]
    if not any(strays):
        return page
    staying = [_without(line.chars, far) for line, far in zip(lines, strays, strict=True)]
    places = np.array([centre(c.box) for chars in staying for c in chars]).reshape(-1, 2)
    moved: dict[int, list[Char]] = defaultdict(list)
    beside: dict[int, list[int]] = defaultdict(list)
    for n, line in enumerate(lines):
        for k in sorted(strays[n]):
            char = line.chars[k]
            if not char.text or _is_read(char, places, rule) or _is_unsure(char, rule):
                continue
            home = _home(char, lines, known)
            if home is None:
                beside[n].append(k)
            else:
                moved[home].append(char)
    return replace(page, lines=tuple(_write(lines, known, staying, moved, beside)))


def outside(char: Char, line: Line) -> float:
    """How far the character's centre lies outside of its line's box, in the line's thickness; 0 inside."""
    (x, y), (x0, y0, x1, y1) = centre(char.box), line.box
    return float(np.hypot(max(x0 - x, 0, x - x1), max(y0 - y, 0, y - y1))) / thickness(line)


def _strays(line: Line, known: Collection[str], rule: StrayRule) -> set[int]:
    """The numbers of the line's characters that do not stand in it."""
    if line.id not in known:
        return set(range(len(line.chars)))
    return {k for k, char in enumerate(line.chars) if outside(char, line) > rule.far}


def _is_read(char: Char, places: Floats, rule: StrayRule) -> bool:
    """Whether another character was read where this one stands."""
    side = max(min(width(char.box), height(char.box)), 1.0)
    return bool((np.abs(places - centre(char.box)).max(1) < rule.same * side).any()) if len(places) else False


def _without(chars: Sequence[Char], numbers: Collection[int]) -> list[Char]:
    return [char for k, char in enumerate(chars) if k not in numbers]


def _is_unsure(char: Char, rule: StrayRule) -> bool:
    return char.confidence is not None and char.confidence < rule.least


def _home(char: Char, lines: Sequence[Line], known: Collection[str]) -> int | None:
    """The line that was found where the character stands; None where there is none."""
    (x, y) = centre(char.box)
    holding = [n for n, line in enumerate(lines) if line.id in known and _holds(line.box, x, y)]
    return min(holding, key=lambda n: thickness(lines[n]), default=None)


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _write(
    lines: Sequence[Line],
    known: Collection[str],
    staying: Sequence[Sequence[Char]],
    moved: dict[int, list[Char]],
    beside: dict[int, list[int]],
) -> list[Line]:
    """The lines in their order; runs of strays before or behind the line with which they were read."""
    written: list[Line] = []
    names = {line.id for line in lines}
    for n, line in enumerate(lines):
        if line.id not in known:
            kept = [line.chars[k] for k in beside[n]]
            written += [_around(line, kept)] if kept else []
            continue
        own = list(staying[n])
        for char in moved[n]:
            own.insert(_place_in(char, own, line), char)
        numbered = groupby(enumerate(beside[n]), lambda pair: pair[1] - pair[0])
        runs = [[k for _, k in run] for _, run in numbered]
        made = [(run[0] == 0, _of_its_own([line.chars[k] for k in run], line, names)) for run in runs]
        written += [new for first, new in made if first]
        written.append(_with(line, own) if len(own) != len(line.chars) or moved[n] else line)
        written += [new for first, new in made if not first]
    return written


def _place_in(char: Char, chars: Sequence[Char], line: Line) -> int:
    """Before which of a line's characters another one stands, along its direction."""
    axis = 1 if line.is_vertical else 0
    sign = -1 if line.direction in ("right-to-left", "bottom-to-top") else 1
    at = sign * centre(char.box)[axis]
    return sum(sign * centre(other.box)[axis] < at for other in chars)


def _of_its_own(chars: Sequence[Char], line: Line, names: set[str]) -> Line:
    """Strays as a line beside the one with which they were read."""
    number = next(k for k in range(1, len(names) + 2) if f"{line.id}+{k}" not in names)
    names.add(f"{line.id}+{number}")
    return _around(Line(f"{line.id}+{number}", line.box, kind=line.kind, direction=line.direction), chars)


def _around(line: Line, chars: Sequence[Char]) -> Line:
    """The line with these characters and their box."""
    return replace(_with(line, chars), box=union(char.box for char in chars))


def _with(line: Line, chars: Sequence[Char]) -> Line:
    """The line with these characters."""
    read = LineReading(tuple(chars), "read" if chars else "empty")
    return replace(line, text=read.text, chars=read.chars, confidence=read.confidence)
