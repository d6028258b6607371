"""Corrected text: a page whose lines were edited in, the same page with characters that spell its lines out.

The text of a line rules. Where it no longer equals the line's characters, somebody corrected it, in JSON, in
PAGE or ALTO with another program, or in Python: then old characters and new text are aligned. A character
that the text keeps keeps its box, confidence and candidates. One that takes another's place takes its box;
where several take the place of others they share it; one that came in between stands between its neighbours.
What is new has neither confidence nor candidates: nobody measured how sure a correction is. For the same
reason a line whose characters changed, white space aside, loses its own confidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from tongguocr.alignment import DELETION, INSERTION, MATCH, align
from tongguocr.formats.txt import characters
from tongguocr.geometry import Box, make_box
from tongguocr.page import Char, Line, Page

CROWDED = 0.5
"""Characters that came in between need this part of a usual character's length each; where there is less,
they reach to the middles of their neighbours."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A box as the line is read: from where to where along it, and across."""

    start: float
    stop: float
    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.start + self.stop) / 2


def follow_text(page: Page) -> Page:
    """The page with characters that spell each line's text, or none; the page itself where they all do."""
    lines = tuple(follow_line(line) for line in page.lines)
    changed = any(new is not old for new, old in zip(lines, page.lines, strict=True))
    return replace(page, lines=lines) if changed else page


def follow_line(line: Line) -> Line:
    """The line with characters that spell its text; a line without characters has none to correct."""
    before = "".join(char.text for char in line.chars)
    if not line.chars or before == line.text:
        return line
    same = "".join(before.split()) == "".join(line.text.split())
    chars = tuple(_follow(line)) if line.text else ()
    return replace(line, chars=chars, confidence=line.confidence if same else None)


def _follow(line: Line) -> Iterator[Char]:
    """The line's characters as its text has them."""
    old, new = line.chars, characters(line.text)
    for first, stop, start, end in _runs([char.text for char in old], new):
        if [char.text for char in old[first:stop]] == new[start:end]:
            yield from old[first:stop]
        elif start < end:
            boxes = _boxes(line, first, stop, end - start)
            yield from (Char(text, box) for text, box in zip(new[start:end], boxes, strict=True))


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Stretches that are the same or differ, in order: from and to in the old, from and to in the new."""
    places = [(0, 0, "")]
    for step in align(old, new):
        i, j, _ = places[-1]
        places.append((i + (step != INSERTION), j + (step != DELETION), step))
    kinds = [step == MATCH for _, _, step in places[1:]]
    cuts = [0, *(n for n, (a, b) in enumerate(pairwise(kinds), 1) if a != b), len(kinds)]
    for a, b in pairwise(cuts):
        yield places[a][0], places[b][0], places[a][1], places[b][1]


def _boxes(line: Line, first: int, stop: int, count: int) -> list[Box]:
    """Boxes for so many new characters in the place of the old ones from `first` to before `stop`."""
    old = [_stretch(char.box, line) for char in line.chars]
    if stop - first == count:
        return [char.box for char in line.chars[first:stop]]
    if taken := old[first:stop]:
        ends = min(part.start for part in taken), max(part.stop for part in taken)
        beside = taken
    else:
        ends = _between(old, first, _stretch(line.box, line), count)
        beside = old[max(first - 1, 0) : first + 1]
    low, high = min(part.low for part in beside), max(part.high for part in beside)
    edges = [ends[0] + (ends[1] - ends[0]) * n / count for n in range(count + 1)]
    return [_box(_Stretch(a, b, low, high), line) for a, b in pairwise(edges)]


def _between(old: Sequence[_Stretch], place: int, line: _Stretch, count: int) -> tuple[float, float]:
    """From where to where so many characters stand that came in before the old one at `place`."""
    length = median(part.stop - part.start for part in old) * count
    start = old[place - 1].stop if place else line.start
    stop = old[place].start if place < len(old) else line.stop
    if stop - start < CROWDED * length:
        start = old[place - 1].middle if place else start
        stop = old[place].middle if place < len(old) else stop
    # At the ends of a line there may be much blank: the new ones stand beside the old.
    if not place:
        start = max(start, stop - length)
    if place == len(old):
        stop = min(stop, start + length)
    return min(start, stop), max(start, stop)


def _stretch(box: Box, line: Line) -> _Stretch:
    x0, y0, x1, y1 = box
    start, stop, low, high = (y0, y1, x0, x1) if line.is_vertical else (x0, x1, y0, y1)
    if line.direction in ("bottom-to-top", "right-to-left"):
        start, stop = -stop, -start
    return _Stretch(start, stop, low, high)


def _box(part: _Stretch, line: Line) -> Box:
    start, stop = part.start, part.stop
    if line.direction in ("bottom-to-top", "right-to-left"):
        start, stop = -stop, -start
    if line.is_vertical:
        return make_box(part.low, start, part.high, stop)
    return make_box(start, part.low, stop, part.high)
