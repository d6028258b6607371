"""Against invention: how long a block's text may be, when it repeats itself, and what is done then.

A model that writes freely can write on after the page has ended. Two things are watched while it writes: the
number of characters that the block's lines can hold, and tails that repeat. A repeated tail on fresh places
of the page is a refrain (南無阿彌陀佛 five times is text); on places that were read already it is a loop.
Characters read where others were read before are a loop too, whatever they say; after the last line they are
no more than an end that was missed, and are dropped. On a fault, or where a line of several got no text, the
block's lines are split in two and the parts read by themselves; a single line that still fails comes out
marked and cut.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, dist
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from tongguocr.crops import CropSettings, expanded_region, line_mask
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, Stop, Surplus
from tongguocr.geometry import Point, centre, height, intersection, union, width
from tongguocr.page import Block, Char, Crop, Line

if TYPE_CHECKING:
    from tongguocr.engines.glm.engine import HfEngine

LINE_END = "\n"


PITCH = 0.35
"""The closest that characters follow each other, in thicknesses of the line: flat type in wide columns has
0.55, and a column given whole that is partly double-row holds up to twice as many."""
THINNEST = 0.4
"""Of the block's median thickness: a line thinner than that is a badly drawn box, not tiny type."""
SLACK = 6
"""Characters above what fits, so that a box cut short costs nothing."""
LONGEST_UNIT = 13
"""The longest repeated unit that is looked for: twelve characters and a transition."""
STUCK = 0.4
"""A repetition that visits at most this many different places a token is a loop: it stands still."""
FRESH = 0.6
"""A repetition that visits at least this many different places a token is a refrain, left to the cap."""
CELL = 0.5
"""Places this near, in characters, count as one."""
REREAD = 0.22
"""A character this near to an earlier one reads its place again: rows of notes are 0.5 of one apart."""
UNREADABLE_MARKS = frozenset("□■▢○〇〓")
"""Marks for what cannot be read stand in long rows, and are no loop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When writing has gone too far."""

    most: int = 1500
    """Characters of a block, whatever its lines can hold."""
    refrains: tuple[int, int, int] = (10, 8, 6)
    """Repeats that prove a loop when places are unknown: of one character, of two to four, of more."""
    stuck_repeats: int = 4
    """Repeats that prove a loop when their places were read before."""
    rereads: int = 2
    """Characters in a row that read a place again and prove a loop."""


def character_cap(lines: Sequence[Line], limits: Limits = Limits()) -> int:
    """The most characters that these lines can hold."""
    sides = [(width(line.box), height(line.box)) for line in lines]
    extents = [pair if line.is_vertical else pair[::-1] for pair, line in zip(sides, lines, strict=True)]
    least = THINNEST * median(across for across, _ in extents) if extents else 0.0
    fitting = [along / max(across, least, 1.0) / PITCH for across, along in extents]
    return min(sum(ceil(max(count, 1.0)) for count in fitting) + SLACK, limits.most)


def find_loop(
    items: Sequence[Hashable],
    places: Sequence[Point] | None = None,
    limits: Limits = Limits(),
    free: frozenset[Hashable] | None = None,
) -> int | None:
    """How much to keep of a sequence whose tail is a loop: all before it and its unit once; else None.

    `places` are where each item was read, in characters.
    """
    exempt = UNREADABLE_MARKS if free is None else free
    for unit in range(1, min(LONGEST_UNIT, len(items) // 2) + 1):
        repeats = _repeats(items, unit)
        if repeats < min(limits.stuck_repeats, *limits.refrains) or exempt.issuperset(items[-unit:]):
            continue
        if _is_loop(unit, repeats, places, limits):
            return len(items) - (repeats - 1) * unit
    return None


def _repeats(items: Sequence[Hashable], unit: int) -> int:
    """How often the last `unit` items stand at the end, one after another."""
    repeats, end = 1, len(items)
    while end >= (repeats + 1) * unit and all(
        items[end - k] == items[end - repeats * unit - k] for k in range(1, unit + 1)
    ):
        repeats += 1
    return repeats


def _is_loop(unit: int, repeats: int, places: Sequence[Point] | None, limits: Limits) -> bool:
    enough = limits.refrains[0 if unit == 1 else 1 if unit <= 4 else 2]
    if places is None:
        return repeats >= enough
    stretch = places[len(places) - unit * repeats :]
    cells = {(round(x / CELL), round(y / CELL)) for x, y in stretch}
    share = len(cells) / len(stretch)
    if share >= FRESH:
        return False
    return repeats >= (limits.stuck_repeats if share <= STUCK else enough)


@dataclass
class Watch:
    """Follows one block while it is written, token by token."""

    cap: int
    """Characters."""
    lines: int
    limits: Limits = Limits()
    free: frozenset[Hashable] = frozenset()
    tokens: list[int] = field(default_factory=list)
    places: list[Point] = field(default_factory=list)
    characters: int = 0
    breaks: list[int] = field(default_factory=list)
    """Which tokens are transitions."""
    read: dict[tuple[int, int], list[Point]] = field(default_factory=dict)
    """Where characters were read, by cells."""
    reread: list[int] = field(default_factory=list)
    """Which of the last tokens began a character in a place that was read before."""

    def add(self, token: int, place: Point, *, starts_character: bool, ends_line: bool) -> Stop | None:
        """Take the next token; the reason to stop now, or None."""
        self.tokens.append(token)
        self.places.append(place)
        self.characters += starts_character
        if ends_line:
            self.breaks.append(len(self.tokens) - 1)
        if starts_character and self._reads_again(place):
            # After the last line there is nothing to read again: the end was missed.
            ended = sum(at < self.kept("end") for at in self.breaks)
            return "loop" if ended + 1 < self.lines else "end"
        if find_loop(self.tokens, self.places, self.limits, self.free) is not None:
            return "loop"
        # A character takes up to four byte tokens, and a line given whole may hold a few short ones.
        too_long = len(self.tokens) > 4 * self.cap or len(self.breaks) > 4 * (self.lines + 2)
        return "cap" if too_long or self.characters > self.cap else None

    def _reads_again(self, place: Point) -> bool:
        """Whether this character and those just before it stand where others were read."""
        reach = REREAD
        column, row = (int(value // reach) for value in place)
        near = (
            other
            for x in (column - 1, column, column + 1)
            for y in (row - 1, row, row + 1)
            for other in self.read.get((x, y), ())
        )
        known = any(dist(place, other) < reach for other in near)
        self.reread = [*self.reread, len(self.tokens) - 1] if known else []
        self.read.setdefault((column, row), []).append(place)
        return len(self.reread) >= self.limits.rereads

    def kept(self, stop: Stop) -> int:
        """How many tokens are worth keeping: not the one that went beyond the cap, not a loop."""
        if stop != "cap" and len(self.reread) >= self.limits.rereads:
            first = self.reread[0]
            return first - 1 if first - 1 in self.breaks else first
        if stop == "loop":
            found = find_loop(self.tokens, self.places, self.limits, self.free)
            return len(self.tokens) if found is None else found
        return len(self.tokens) - (stop == "cap")


@dataclass(frozen=True)
class Guarded(Engine):
    """An engine whose answers are checked: what is too long or repeats itself is read again in parts."""

    engine: Engine
    limits: Limits = Limits()

    @property
    def least_confidence(self) -> float | None:
        return self.engine.least_confidence

    @property
    def calibrated(self) -> bool:
        """As the engine itself."""
        return self.engine.calibrated

    @property
    def full_model(self) -> HfEngine | None:
        """As the engine itself."""
        return self.engine.full_model

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Read, look for faults, and read what has them again in halves."""
        if not blocks:
            return []
        readings = self.engine.read(blocks)
        faults = [find_fault(block, read, self.limits) for block, read in zip(blocks, readings, strict=True)]
        again = [
            k
            for k, (fault, reading) in enumerate(zip(faults, readings, strict=True))
            if len(blocks[k].lines) > 1 and (fault != "end" or lost(reading))
        ]
        parts = self.read([part for k in again for part in split_block(blocks[k])])
        halves = {k: (parts[2 * n], parts[2 * n + 1]) for n, k in enumerate(again)}
        return [
            join(*halves[k]) if k in halves else mark(block, reading, faults[k], self.limits)
            for k, (block, reading) in enumerate(zip(blocks, readings, strict=True))
        ]


def lost(reading: BlockReading) -> bool:
    """Whether a line got no text: rather read it again by itself than lose it."""
    return any(line.status == "empty" for line in reading.lines)


def find_fault(block: BlockInput, reading: BlockReading, limits: Limits = Limits()) -> Stop:
    """What is wrong with a reading: what the engine says itself, else what its text shows."""
    if reading.stop != "end":
        return reading.stop
    if sum(len(run) for run in _runs(reading)) > character_cap(block.lines, limits):
        return "cap"
    return "end" if _first_loop(reading, _size(block), limits) is None else "loop"


def _runs(reading: BlockReading) -> list[tuple[Char, ...]]:
    return [line.chars for line in reading.lines] + [part.chars for part in reading.surplus]


def _size(block: BlockInput) -> float:
    return max(median(_thickness(line) for line in block.lines), 1.0) if block.lines else 1.0


def _thickness(line: Line) -> float:
    return width(line.box) if line.is_vertical else height(line.box)


def _first_loop(reading: BlockReading, size: float, limits: Limits) -> int | None:
    """Characters and line ends to keep of the whole text, where its end is a loop."""
    items: list[str] = []
    places: list[Point] = []
    for number, run in enumerate(_runs(reading)):
        if number and run:
            items.append(LINE_END)
            places.append(places[-1] if places else (0.0, 0.0))
        items += [char.text for char in run]
        places += [(x / size, y / size) for x, y in (centre(char.box) for char in run)]
    return find_loop(items, places, limits)


def mark(block: BlockInput, reading: BlockReading, fault: Stop, limits: Limits = Limits()) -> BlockReading:
    """A reading that cannot be split further: its line says what happened, its text is cut."""
    if fault == "end" or not reading.lines:
        return reading
    line = reading.lines[0]
    chars = line.chars[: character_cap(block.lines, limits)]
    if fault == "loop":
        size = _size(block)
        places = [(x / size, y / size) for x, y in (centre(char.box) for char in chars)]
        chars = chars[: find_loop([char.text for char in chars], places, limits)]
    marked = LineReading(chars, "failed" if fault == "loop" else "capped")
    return replace(reading, lines=(marked, *reading.lines[1:]), stop=fault, written=None)


def join(first: BlockReading, second: BlockReading) -> BlockReading:
    """The readings of a block's two parts as one."""
    count = len(first.lines)
    moved = tuple(Surplus(part.after + count, part.chars) for part in second.surplus)
    return BlockReading(first.lines + second.lines, first.surplus + moved)


def split_block(block: BlockInput) -> tuple[BlockInput, BlockInput]:
    """Two blocks of about half the lines each, cut where the lines stand furthest apart."""
    count = len(block.lines)
    middle = count / 2
    cuts = range(max(1, count // 3), max(count - count // 3, 1) + 1) if count > 2 else range(1, 2)
    at = max(cuts, key=lambda k: (_gap(block.lines[k - 1], block.lines[k]), -abs(k - middle)))
    return take_lines(block, 0, at), take_lines(block, at, count)


def _gap(before: Line, after: Line) -> float:
    """Free space between two lines, below 0 where they share some: a note's rows stay together."""
    a, b = before.box, after.box
    apart = max(a[0] - b[2], b[0] - a[2]) if before.is_vertical else max(a[1] - b[3], b[1] - a[3])
    return round(apart / max(_thickness(before), 1.0), 1)


def take_lines(block: BlockInput, start: int, stop: int) -> BlockInput:
    """Some of a block's lines as a block of their own: other lines are painted over, the rest is cut off."""
    crop, lines = block.crop, block.lines[start:stop]
    high, wide = crop.pixels.shape[:2]
    box = union(line.box for line in lines)
    region = expanded_region(box, wide, high, CropSettings(margin=0.0))
    region = intersection(region, crop.to_canvas(crop.region)) or region
    x0, y0, x1, y1 = (round(value) for value in region)
    pixels = crop.pixels[y0:y1, x0:x1].copy()
    own = line_mask(lines, (x0, y0, x1, y1))
    foreign = line_mask(block.lines[:start] + block.lines[stop:], (x0, y0, x1, y1))
    pixels[foreign & ~own] = np.array(crop.background, np.uint8)
    offset = crop.to_page((x0, y0, x1, y1))[:2]
    owner = Block(crop.block.start + start, crop.block.start + stop, crop.to_page(box))
    part = Crop(owner, pixels, crop.to_page((x0, y0, x1, y1)), offset, crop.background)
    moved = tuple(
        replace(
            line,
            box=(line.box[0] - x0, line.box[1] - y0, line.box[2] - x0, line.box[3] - y0),
            polygon=tuple((x - x0, y - y0) for x, y in line.polygon) if line.polygon else line.polygon,
        )
        for line in lines
    )
    return BlockInput(part, moved)
