"""The paper's inference procedure (3.1, 3.2), the whole way: page -> lines -> blocks -> crops -> text.

In: a page with its pixels. Out: the same page with lines in reading order, and in them text, confidence and
characters. Lines are found by a detector, or they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.crops import CropSettings
from tongguocr.engines import SHIPPED, Engine, fill_page, make_inputs
from tongguocr.errors import InputError
from tongguocr.formats import LINE_ENDINGS, read_page
from tongguocr.layout import WritingMode
from tongguocr.page import Page

DEFAULT_ENGINE = "tongguocr"
"""Whatever reads best on the measured sets; `python -m bench.recogniser` tells."""

DEFAULT_DETECTOR = "tongguocr"
"""Likewise, and `python -m bench.layout` tells."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What pages are read with: all that another process needs to know to open it."""

    engine: str = DEFAULT_ENGINE
    weights: Path = SHIPPED
    second: str | None = None
    """Another engine, whose opinion is heard on every line."""
    url: str | None = None
    model: str | None = None
    """Where the engine server finds its server, and which of its models."""
    lines: Path | None = None
    """A file with the lines of one page, or a folder with one such file a page."""
    detector: str = DEFAULT_DETECTOR
    detector_weights: Path | None = None
    direction: WritingMode | None = None
    threads: int = 0
    """Of each model; 0 means one a core."""


def read_page_image(
    page: Page,
    find: Callable[[Page], Page],
    engine: Engine,
    blocks: BlockSettings = BlockSettings(),
    crops: CropSettings = CropSettings(),
) -> Page:
    """The page with everything that is written on it, in the order in which it is read."""
    # 3.1, layout: lines, their kinds and their order. Text that given lines have is neither seen nor kept.
    found = _without_text(find(page))
    # 3.1.1 and 3.1.2, blocks: of all ways to cut the lines into runs, the one with the least penalty.
    cut = cut_blocks(found, blocks)
    # 3.1.3, crops: every block on a square canvas, what is not its own masked.
    inputs = make_inputs(found, cut, crops)
    # 3.2, recognition: the characters of a block, with transitions from line to line.
    readings = engine.read(inputs)
    # Block after block back into the lines, in reading order.
    return fill_page(found, cut, readings)


def read_lines(
    page: Page,
    engine: Engine,
    blocks: BlockSettings = BlockSettings(),
    crops: CropSettings = CropSettings(),
) -> Page:
    """Read every line of a page that has them; text that the lines had before is not looked at."""
    return read_page_image(page, lambda known: known, engine, blocks, crops)


def open_reader(setup: Setup) -> Callable[[Page, str], Page]:
    """Load the models once: what comes back reads page after page, each with its name."""
    find, engine = open_finder(setup), open_engines(setup)
    return lambda page, name: read_page_image(page, lambda bare: find(bare, name), engine)


def open_finder(setup: Setup) -> Callable[[Page, str], Page]:
    """What gives pages, each with its name, their lines."""
    if (folder := setup.lines) is not None and folder.is_dir():
        return lambda page, name: line_finder(lines_file(folder, name))(page)
    find = line_finder(setup.lines, setup.detector, setup.direction, setup.detector_weights, setup.threads)
    return lambda page, name: find(page)


def open_engines(setup: Setup) -> Engine:
    """The engine, or two of them behind one face."""
    first = _open(setup.engine, setup)
    if setup.second is None:
        return first
    if setup.second == setup.engine:
        raise InputError(f"--second {setup.second}: a second opinion must be another engine's.")
    from tongguocr.engines.second_opinion import second_opinion

    return second_opinion(first, _open(setup.second, setup))


def _open(engine: str, setup: Setup) -> Engine:
    from tongguocr.engines import open_engine

    return open_engine(engine, setup.weights, setup.threads, setup.url, setup.model)


def line_finder(
    given: Path | None = None,
    detector: str = DEFAULT_DETECTOR,
    direction: WritingMode | None = None,
    weights: Path | None = None,
    threads: int = 0,
) -> Callable[[Page], Page]:
    """What gives a page its lines: a file that has them for this very page, or a detector by its name."""
    if given is None:
        from tongguocr.layout.detect import find_lines, open_detector

        opened = open_detector(detector, weights, threads)
        return lambda page: find_lines(page, opened, direction)
    known = read_page(given)

    def take(page: Page) -> Page:
        if (known.width, known.height) not in ((0, 0), (page.width, page.height)):
            raise InputError(
                f"{given}: its lines are for an image of {known.width} x {known.height} pixels,"
                f" and {page.image} has {page.width} x {page.height}."
            )
        return replace(page, lines=known.lines)

    return take


def lines_file(folder: Path, name: str) -> Path:
    """The file in a folder that has the lines of the page of this name."""
    paths = [folder / f"{name}{suffix}" for suffix in LINE_ENDINGS]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise InputError(f"{folder}: there are no lines for the page {name} ({name}.json, {name}.xml …).")
    return found


def _without_text(page: Page) -> Page:
    return replace(page, lines=tuple(replace(x, text="", chars=(), confidence=None) for x in page.lines))
