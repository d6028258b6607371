"""The paper's inference procedure (3.1, 3.3), the whole way: page -> lines -> blocks -> crops -> text.

In: a page with its pixels. Out: the same page with lines in reading order, and in them text, confidence and
characters. Lines are found by a detector, or they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.crops import CropSettings
from tongguocr.errors import InputError
from tongguocr.layout import Writing
from tongguocr.page import Page
from tongguocr.recognise import Engine, fill_page, make_inputs

DEFAULT_ENGINE = "tongguocr"
"""Whatever reads best on the measured sets; `python -m bench.recogniser` tells."""


def read_lines(
    page: Page,
    engine: Engine,
    blocks: BlockSettings = BlockSettings(),
    crops: CropSettings = CropSettings(),
) -> Page:
    """Read every line of the page; text that the lines had before is not looked at and not kept."""
    bare = replace(page, lines=tuple(replace(x, text="", chars=(), confidence=None) for x in page.lines))
    cut = cut_blocks(bare, blocks)
    return fill_page(bare, cut, engine.read(make_inputs(bare, cut, crops)))


def line_finder(
    given: Path | None = None, detector: str = "tongguocr", direction: Writing | None = None
) -> Callable[[Page], Page]:
    """What gives a page its lines: a file that has them for this very page, or a detector by its name."""
    if given is None:
        from tongguocr.layout.detect import find_lines, open_detector

        opened = open_detector(detector)
        return lambda page: find_lines(page, opened, direction)
    from tongguocr.formats import read_page

    known = read_page(given)

    def take(page: Page) -> Page:
        if (known.width, known.height) not in ((0, 0), (page.width, page.height)):
            raise InputError(
                f"{given}: its lines are for an image of {known.width} x {known.height} pixels,"
                f" and {page.image} has {page.width} x {page.height}."
            )
        return replace(page, lines=known.lines)

    return take
