"""Reading from Python: one page, or all pages of a source, in; pages with text out.

    from tongguocr import read

    page = read("page.jpg")
    print(page.text)

Detector and engine are opened once for each choice and kept. What the parts need is imported when something
is read, so that `import tongguocr` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tongguocr.engines import Engine
    from tongguocr.layout import WritingMode
    from tongguocr.page import Page, Pixels


def read(
    image: str | Path | Pixels | Page,
    *,
    lines: str | Path | None = None,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    engine: str | Engine = "tongguocr",
) -> Page:
    """Read one page: its image file, its pixels, or a page whose lines are known already.

    `lines` is a file that has the page's lines (our JSON, PAGE XML, ALTO); without it, `detector` finds them
    and `direction` may say how they follow each other.
    """
    from tongguocr.page import Page
    from tongguocr.reader import line_finder, read_lines

    page = image if isinstance(image, Page) else _load(image)
    if lines:
        page = line_finder(Path(lines))(page)
    elif not page.lines:
        page = _open_finder(detector, direction)(page)
    return read_lines(page, _open_engine(engine) if isinstance(engine, str) else engine)


def read_all(
    source: str | Path,
    pages: str | None = None,
    *,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    engine: str | Engine = "tongguocr",
) -> Iterator[Page]:
    """Read the pages of an image, folder, PDF or IIIF manifest one after the other; `pages` as in "1-3,7"."""
    from tongguocr.batch import load_page
    from tongguocr.sources import open_source

    for page in open_source(str(source), pages):
        yield read(load_page(page), detector=detector, direction=direction, engine=engine)


def _load(image: str | Path | Pixels) -> Page:
    from tongguocr.page import bare_page
    from tongguocr.sources import load_pixels

    if isinstance(image, str | Path):
        return bare_page(Path(image).name, load_pixels(Path(image)))
    return bare_page("", image)


@lru_cache(maxsize=4)
def _open_finder(detector: str, direction: WritingMode | None) -> Callable[[Page], Page]:
    from tongguocr.reader import line_finder

    return line_finder(None, detector, direction)


@lru_cache(maxsize=4)
def _open_engine(name: str) -> Engine:
    from tongguocr.engines import open_engine

    return open_engine(name)
