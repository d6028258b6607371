"""Real paper that nobody has written on: labelled pages in, pictures of it out, as lines without text.

A page has it between its columns, below a column that ends early, and beside notes. Rules stand on it, the
other side shows through, and the neighbours' ink reaches in. A recogniser that has never seen such places
writes text out of them. What is as dark as the page's lines is left out: it may be text without a label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tongguocr.page import Pixels
from tongguocr.training.detector.line_pages import line_boxes
from tongguocr.training.synth.line_cuts import extract_ink
from tongguocr.training.synth.real_ink import LineImage, page_of

Floats = NDArray[np.float32]

NARROWEST, SHORTEST = 4, 24
"""Pixels of a place, across and along the columns, at least."""
MOST_OF_A_PAGE = 8
DARKEST = 0.6
"""What has more than this share of the lines' contrast in its middle may be text."""
APART = 4.0
"""Pixels between a line's end and a place below it: the last character may reach beyond its box."""
INTO = (-0.15, 0.2)
"""How far a place reaches into its neighbours, in shares of its breadth; less than 0: it keeps away."""


def bare_lines(
    pages: Iterable[tuple[dict[str, Any], Pixels]], held_out: Collection[str], rng: np.random.Generator
) -> Iterator[LineImage]:
    """Places without text of all pages (entries and pictures, see detector/line_pages.py), but of those held
    out, told by their pictures' names without the ending."""
    for entry, pixels in pages:
        stem = PurePath(str(entry["image"])).stem
        lines = line_boxes(entry)
        if stem in held_out or not len(lines):
            continue
        taken = np.concatenate([lines, line_boxes(entry, "unlabelled"), line_boxes(entry, "erased")])
        paper = float(np.percentile(pixels, 85))
        dark = float(np.median([np.percentile(_cut(pixels, box), 5) for box in lines]))
        places = [box for box in free_places(lines, taken) if _is_bare(pixels, box, paper, dark)]
        for number in rng.permutation(len(places))[:MOST_OF_A_PAGE].tolist():
            shown = _cut(pixels, _reach(places[number], rng))
            if min(shown.shape) >= NARROWEST:
                cuts = np.array([0, len(shown)], np.float32)
                yield LineImage(f"bare__{stem}_{number}", "", extract_ink(shown, dark), cuts)


def held_out_stems(names: Iterable[str]) -> frozenset[str]:
    """The names of page pictures, without book and ending, out of the names of their lines."""
    return frozenset(page_of(name).partition("__")[2] for name in names)


def free_places(lines: Floats, taken: Floats) -> Iterator[NDArray[np.float64]]:
    """Boxes inside of the block of lines that nothing takes: rests of columns, and gaps between columns."""
    top, bottom = float(lines[:, 1].min()), float(lines[:, 3].max())
    edges = sorted({(float(x0), float(x1)) for x0, x1 in lines[:, [0, 2]]})
    gaps = [(a[1], b[0]) for a, b in pairwise(edges)]
    for left, right in (*edges, *gaps):
        if right - left < NARROWEST:
            continue
        beside = taken[(taken[:, 0] < right - 2) & (taken[:, 2] > left + 2)]
        at = top
        for start, stop in (*sorted(beside[:, [1, 3]].tolist()), (bottom + APART, bottom)):
            end = min(start - APART, bottom)
            if end - at >= SHORTEST:
                yield np.array([left, at, right, end])
            at = max(at, stop + APART)


def _cut(pixels: Pixels, box: NDArray[Any]) -> Pixels:
    x0, y0, x1, y1 = np.maximum(box.round().astype(int), 0).tolist()
    return pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]


def _is_bare(pixels: Pixels, box: NDArray[np.float64], paper: float, dark: float) -> bool:
    """Whether the middle of a place is much paler than the lines."""
    aside = (box[2] - box[0]) / 5
    inside = _cut(pixels, box + np.array([aside, 0, -aside, 0]))
    return bool(inside.size) and paper - float(np.percentile(inside, 5)) < DARKEST * (paper - dark)


def _reach(box: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The place as a crop might show it: with slices of its neighbours, or without all of its edges."""
    left, right = rng.uniform(*INTO, 2) * (box[2] - box[0])
    return box + np.array([-left, 0, right, 0])
