"""Real pages with labelled character boxes -> line images like any other real ink.

In: pages whose characters have boxes, links to the next of their line, and labels where these are known. Out:
for each run of labelled characters its ink and cuts, so that the recogniser learns from the detector's pages
too. Their boxes tell the cuts, which for other line images are guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import PurePath

import numpy as np

from tongguocr.layout.link import chains_of
from tongguocr.training.detector.real_pages import RealPage
from tongguocr.training.synth.line_cuts import extract_ink
from tongguocr.training.synth.real_ink import LineImage

PAPER = 0.08
"""Paper around a run, in characters."""


def lines_of_page(page: RealPage, known: Callable[[str], bool]) -> Iterator[LineImage]:
    """All runs of known characters of one page."""
    number = 0
    for chain in chains_of(page.following):
        for is_known, run in groupby(
            chain.tolist(), lambda k: bool(page.labels[k]) and known(page.labels[k])
        ):
            if is_known:
                yield _cut_out(page, list(run), number)
                number += 1


def _cut_out(page: RealPage, run: list[int], number: int) -> LineImage:
    boxes = page.boxes[run]
    paper = PAPER * float(np.median(boxes[:, 3] - boxes[:, 1]))
    (left, top), (right, bottom) = boxes[:, :2].min(0) - paper, boxes[:, 2:].max(0) + paper
    x0, y0 = max(round(float(left)), 0), max(round(float(top)), 0)
    grey = page.pixels[y0 : round(float(bottom)) + 1, x0 : round(float(right)) + 1]
    between = (boxes[:-1, 3] + boxes[1:, 1]) / 2
    cuts = np.concatenate([boxes[:1, 1], between, boxes[-1:, 3]]) - y0
    text = "".join(page.labels[k] for k in run)
    return LineImage(_name(page.name, number), text, extract_ink(grey), cuts.astype(np.float32))


def _name(image: str, number: int) -> str:
    """BOOK__PAGE_NUMBER, as line images are called; a page's name begins with its book's."""
    stem = PurePath(image).stem
    return f"{stem.rpartition('-')[0] or stem}__{stem}_{number}"
