"""Reading from Python: one page, or all pages of a source, in; pages with text out.

    from tongguocr import read

    page = read("page.jpg")
    print(page.text)

Detector and engine are opened once for each choice and kept. What the parts need is imported when something
is read, so that `import tongguocr` stays quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tongguocr.engines.base import Engine
    from tongguocr.layout import WritingMode
    from tongguocr.page import Page, Pixels
    from tongguocr.reader import Reader, Setup


def read(
    image: str | Path | Pixels | Page,
    *,
    lines: str | Path | None = None,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    turn: bool = True,
    engine: str | Engine = "tongguocr",
    language_model: bool = True,
) -> Page:
    """Read one page: its image file, its pixels, or a page whose lines are known already.

    `lines` is a file that has the page's lines (our JSON, PAGE XML, ALTO); without it, `detector` finds them
    and `direction` may say how they follow each other. A page that lies on its side or upside down is read
    upright, and its `angle` says so, unless `turn` is off. Where the picture leaves a character open, our own
    engine's candidates are weighed by a language model, unless `language_model` is off.
    """
    from tongguocr.page import Page
    from tongguocr.reader import Reader, Setup, open_lines

    page = image if isinstance(image, Page) else _load(image)
    if isinstance(engine, str):
        setup = Setup(engine, detector=None)
        opened = _open(setup if language_model else replace(setup, language=None))
    else:
        opened = Reader(engine)
    reader = Reader(
        engine=opened.engine,
        detector=None if lines or page.lines else _open(Setup(None, detector=detector)).detector,
        direction=direction,
        given=open_lines(Path(lines)) if lines else None,
        turn=turn,
        language=opened.language,
        calibration=opened.calibration,
    )
    return reader.read(page, Path(page.image).stem)


def read_all(
    source: str | Path,
    pages: str | None = None,
    *,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    turn: bool = True,
    engine: str | Engine = "tongguocr",
    language_model: bool = True,
) -> Iterator[Page]:
    """Read the pages of an image, folder, PDF or IIIF manifest one after the other; `pages` as in "1-3,7"."""
    from tongguocr.sources import open_source

    for page in open_source(str(source), pages):
        yield read(
            page.load_page(),
            detector=detector,
            direction=direction,
            turn=turn,
            engine=engine,
            language_model=language_model,
        )


def _load(image: str | Path | Pixels) -> Page:
    from tongguocr.page import bare_page
    from tongguocr.sources import load_pixels

    if isinstance(image, str | Path):
        return bare_page(Path(image).name, load_pixels(Path(image)))
    return bare_page("", image)


@lru_cache(maxsize=8)
def _open(setup: Setup) -> Reader:
    """A part that was opened before is not opened again."""
    from tongguocr.reader import open_reader

    return open_reader(setup)
