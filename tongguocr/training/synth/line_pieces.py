"""Pieces of real lines, to be set in an order that no book has, so that ink is read and not remembered.

In: line images with their cuts. Out: pieces of a few characters of lines of about one width, cut where there
is hardly any ink, to be set below each other (real_blocks.py; stage files call it `patchwork`); and lines
without the characters that a vocabulary lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.training.synth.line_cuts import ink_at
from tongguocr.training.synth.real_ink import LineImage, Lines, characters, gather

Numbers: TypeAlias = NDArray[np.int64]

CLEAN = 0.03
"""Ink that a cut may cross, as a share of the line's width."""
MOST = 4
"""Characters of a piece at most."""
TRIES = 8
"""Lines looked at for one that can be cut where it is wanted."""
AS_WIDE = 0.12
"""Lines whose widths differ by less than this share may stand in for each other."""
EDGE = 0.06
"""Paper before a line's first character and behind its last, in characters, where the image has it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters `first:stop` of a line, and the rows of its image that show them."""

    number: int
    """Which line of `Lines`."""
    first: int
    stop: int
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PieceSampler:
    """Lines, and where they may be cut."""

    lines: Lines
    clean_cuts: tuple[Numbers, ...]
    """For each line, which of its cuts cross hardly any ink; its two ends are always among them."""

    @staticmethod
    def of(lines: Lines) -> PieceSampler:
        """A sampler over all of these lines."""
        return PieceSampler(lines, tuple(_clean_cuts(lines, k) for k in range(len(lines))))

    def sample(self, among: Numbers, longest: int, rng: np.random.Generator) -> Piece:
        """A random piece of at most `longest` characters of the lines `among`, if one can be cut so."""
        for _ in range(TRIES):
            number = int(among[rng.integers(len(among))])
            cuts = self.clean_cuts[number]
            begin, most = int(rng.integers(len(cuts) - 1)), int(rng.integers(1, min(longest, MOST) + 1))
            last = begin + 1
            while last + 1 < len(cuts) and cuts[last + 1] - cuts[begin] <= most:
                last += 1
            piece = self._piece(number, int(cuts[begin]), int(cuts[last]))
            if piece.stop - piece.first <= longest and piece.bottom - piece.top > 1:
                break
        return piece

    def _piece(self, number: int, first: int, stop: int) -> Piece:
        cuts, high = self.lines.cuts[number], float(self.lines.sizes[number, 1])
        paper = EDGE * float(cuts[-1] - cuts[0]) / (len(cuts) - 1)
        top = max(float(cuts[first]) - paper * (first == 0), 0.0)
        bottom = min(float(cuts[stop]) + paper * (stop == len(cuts) - 1), high)
        return Piece(number, first, stop, top, bottom)


def known_runs(line: LineImage, known: Callable[[str], bool]) -> list[LineImage]:
    """The line, or what is left of it when characters that are not known are cut out, where ink allows it."""
    chars = characters(line.text)
    if all(map(known, chars)):
        return [line]
    clean = _clean_cuts(gather([line]), 0).tolist()
    runs = []
    for is_known, group in groupby(range(len(chars)), lambda k: known(chars[k])):
        places = list(group)
        ends = [k for k in clean if places[0] <= k <= places[-1] + 1]
        if is_known and len(ends) > 1:
            runs.append(_cut_out(line, chars, ends[0], ends[-1]))
    return runs


def _cut_out(line: LineImage, chars: tuple[str, ...], first: int, stop: int) -> LineImage:
    top, bottom = int(line.cuts[first]), max(int(line.cuts[stop]), int(line.cuts[first]) + 1)
    return LineImage(
        line.name, "".join(chars[first:stop]), line.ink[top:bottom], line.cuts[first : stop + 1] - top
    )


def _clean_cuts(lines: Lines, number: int) -> Numbers:
    """Which cuts of a line cross hardly any ink."""
    width, height = lines.sizes[number].tolist()
    start, cuts = int(lines.starts[number]), lines.cuts[number]
    ink = lines.ink[start : start + width * height].reshape(height, width)
    clean = ink_at(ink, cuts) <= CLEAN * 255
    # Two cuts in one place have no character between them.
    clean &= np.concatenate([[True], np.diff(cuts) > 1])
    clean[[0, -1]] = True
    return np.flatnonzero(clean)


def sort_by_width(lines: Lines, numbers: Numbers) -> Numbers:
    """The numbers of these lines, narrow ones first."""
    return numbers[np.argsort(lines.sizes[numbers, 0], kind="stable")]


def as_wide(lines: Lines, by_width: Numbers, number: int) -> Numbers:
    """Those of the lines `by_width`, which are sorted so, that are about as wide as line `number`."""
    wide, width = lines.sizes[by_width, 0], float(lines.sizes[number, 0])
    low, high = np.searchsorted(wide, (width * (1 - AS_WIDE), width * (1 + AS_WIDE)), side="left")
    return by_width[low : max(int(high), int(low) + 1)]
