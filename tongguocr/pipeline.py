"""The paper's inference procedure (3.1, 3.3), the whole way: page -> lines -> blocks -> crops -> text.

In: a page with its pixels and its lines in reading order. Out: the same page with text, confidence and
characters in its lines. Finding the lines is layout's work, and there is no layout yet: they are given.
"""

from __future__ import annotations

from dataclasses import replace

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.crops import CropSettings
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
