"""Text without places -> the lines of a block: for engines that say what they read and not where.

In: the lines as an engine wrote them, and the block's lines as the layout gave them. Out: the characters of
each given line, evenly along it. Where both have as many lines, line goes to line. Where not, whole lines are
joined, split or left out so that each given line gets about as many characters as its ink has room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from tongguocr.engines.align_by_position import thickness
from tongguocr.engines.base import BlockInput, LineReading, char_box
from tongguocr.engines.prepare import character_size, to_grey
from tongguocr.geometry import height, width
from tongguocr.page import Char, Line

# What it costs, in characters, when lines do not agree.
JOINED = 0.5
"""Two written lines go into one given line."""
SPLIT = 1.5
"""A written line goes on in the next given line."""
SKIPPED = 0.6
"""A given line gets nothing: this part of the characters that it has room for."""
MOST = 4
"""Lines are joined, or one is split, up to this many; more are joined only where nothing else is left."""


def align_by_length(written: Sequence[Sequence[Char]], block: BlockInput) -> tuple[LineReading, ...]:
    """The characters of the written lines, which have no boxes yet, on the block's lines, in order."""
    written = [line for line in written if line]
    if not block.lines:
        return ()
    if len(written) == len(block.lines):
        runs = [list(line) for line in written]
    else:
        runs = _share_out(written, room(block))
    return tuple(_place(run, line, block) for run, line in zip(runs, block.lines, strict=True))


def room(block: BlockInput) -> list[float]:
    """How many characters each line holds, by the pitch that the block's ink shows."""
    size = character_size(to_grey(block.crop.pixels), block.lines) or 1.0
    middle = sorted(thickness(line) for line in block.lines)[len(block.lines) // 2]
    pitch = min(max(size / middle, 0.4), 1.5)
    along = [height(line.box) if line.is_vertical else width(line.box) for line in block.lines]
    return [
        max(length / (pitch * thickness(line)), 1.0) for length, line in zip(along, block.lines, strict=True)
    ]


def _share_out(written: Sequence[Sequence[Char]], rooms: Sequence[float]) -> list[list[Char]]:
    """The run of each given line, by the cheapest way to walk along both in order."""
    if len(written) == 1:
        return _split(written[0], rooms)
    if len(rooms) == 1:
        return [[char for line in written for char in line]]
    runs: list[list[Char]] = []
    for (i, j), (k, m) in pairwise(_walk([len(line) for line in written], rooms)):
        chars = [char for line in written[i:k] for char in line]
        runs += _split(chars, rooms[j:m])
    return runs


def _walk(lengths: Sequence[int], rooms: Sequence[float]) -> list[tuple[int, int]]:
    """The stations (written, given) of the way: between two of them, these lines go to those."""
    start, end = (0, 0), (len(lengths), len(rooms))
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {start: (0.0, start)}
    for i in range(end[0] + 1):
        for j in range(end[1] + 1):
            if (i, j) not in best:
                continue
            cost = best[i, j][0]
            for k, m, price in _steps(i, j, lengths, rooms):
                if (k, m) not in best or cost + price < best[k, m][0]:
                    best[k, m] = (cost + price, (i, j))
    way = [end]
    while way[-1] != start:
        way.append(best[way[-1]][1])
    return way[::-1]


def _steps(i: int, j: int, lengths: Sequence[int], rooms: Sequence[float]) -> list[tuple[int, int, float]]:
    """Where to go from here, and at what price: one to one, several to one, one to several, none to one."""
    steps: list[tuple[int, int, float]] = []
    # With many more lines on one side than MOST allows, the end would be out of reach.
    reach = max(MOST, len(lengths) - len(rooms) + 1)
    for n in range(1, min(reach, len(lengths) - i) + 1):
        if j < len(rooms):
            steps.append((i + n, j + 1, abs(sum(lengths[i : i + n]) - rooms[j]) + JOINED * (n - 1)))
    for n in range(2, min(MOST, len(rooms) - j) + 1):
        if i < len(lengths):
            steps.append((i + 1, j + n, abs(lengths[i] - sum(rooms[j : j + n])) + SPLIT * (n - 1)))
    if j < len(rooms):
        steps.append((i, j + 1, SKIPPED * rooms[j]))
    return steps


def _split(chars: Sequence[Char], rooms: Sequence[float]) -> list[list[Char]]:
    """A run over several lines, in proportion to their room."""
    total = sum(rooms)
    cuts = [0, *(round(len(chars) * part / total) for part in accumulate(rooms))]
    return [list(chars[a:b]) for a, b in pairwise(cuts)]


def _place(run: Sequence[Char], line: Line, block: BlockInput) -> LineReading:
    """Evenly along the line; the first character is at the end where the line begins."""
    count = len(run)
    places = [(k + 0.5) / count for k in range(count)]
    if line.direction in ("right-to-left", "bottom-to-top"):
        places.reverse()
    boxes = [block.crop.to_page(char_box(line, at, count)) for at in places]
    chars = tuple(replace(char, box=box) for char, box in zip(run, boxes, strict=True))
    return LineReading(chars, "read" if chars else "empty")
