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
from typing import TYPE_CHECKING, BinaryIO, get_args

if TYPE_CHECKING:
    from PIL import Image

    from tongguocr.engines.base import Engine
    from tongguocr.layout import WritingMode
    from tongguocr.layout.detection import LineDetector
    from tongguocr.page import Page, Pixels
    from tongguocr.reader import Reader, Setup
    from tongguocr.sources import SourcePage


def read(
    image: str | Path | bytes | BinaryIO | Image.Image | Pixels | Page,
    *,
    lines: str | Path | None = None,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    turn: bool = True,
    engine: str | Engine = "tongguocr",
    language_model: bool = True,
    reread: bool = False,
    device: str = "auto",
) -> Page:
    """Read one page: its image file, the file's bytes, an open file, a Pillow image, pixels, or a page.

    A page may have its lines already; `lines` is a file that has them (our JSON, PAGE XML, ALTO). Without
    either, `detector` finds them and `direction` may say how they follow each other. A page that lies on its
    side or upside down is read upright, and its `angle` says so, unless `turn` is off. Where the picture
    leaves a character open, our own engine's candidates are weighed by a language model, unless
    `language_model` is off, and with `reread` lines with doubtful characters are read again, larger.
    `device` says where our models compute: auto, cpu, cuda, directml or coreml; an engine that is given open
    stays where it is. Arguments that make no sense are a ValueError or a TypeError, an image that cannot be
    read is an `errors.InputError`: one sentence each.
    """
    from tongguocr.engines import find_engine
    from tongguocr.reader import Reader, Setup, check_device, open_lines
    from tongguocr.sources.given import page_of

    _check_options(direction, turn, language_model, reread, detector, engine, device)
    if lines is not None and not (isinstance(lines, str | Path) and str(lines)):
        raise TypeError(f"lines must be the path of a file or a folder, not {lines!r:.40}.")
    if lines is not None:
        _refuse_looking(detector, direction, turn)
    page = page_of(image)
    finder = None if lines or page.lines else detector
    name = engine if isinstance(engine, str) else None
    check_device(Setup(name, detector=finder, device=device))
    if isinstance(engine, str):
        setup = Setup(engine, detector=None, device=find_engine(engine).device(device), reread=reread)
        opened = _open(setup if language_model else replace(setup, language=None))
    else:
        opened = Reader(engine)
    reader = Reader(
        engine=opened.engine,
        detector=_open_detector(finder, device) if finder else None,
        direction=direction,
        given=open_lines(Path(lines)) if lines else None,
        turn=turn,
        language=opened.language,
        calibration=opened.calibration,
    )
    return reader.read(page, Path(page.image).stem)


def read_all(
    source: str | Path | bytes | BinaryIO,
    pages: str | None = None,
    *,
    password: str | None = None,
    detector: str = "tongguocr",
    direction: WritingMode | None = None,
    turn: bool = True,
    engine: str | Engine = "tongguocr",
    language_model: bool = True,
    reread: bool = False,
    device: str = "auto",
) -> Iterator[Page]:
    """Read the pages of an image, folder, ZIP, PDF, DjVu or IIIF manifest one after the other.

    A file may also be given as its bytes or open. `pages` picks some, as in "1-3,7"; `password` opens a PDF,
    and is a ValueError where there is surely none. A source that cannot be opened is refused at once, a page
    that cannot be read when it is its turn.
    """
    from tongguocr.engines import find_engine
    from tongguocr.sources import open_source, takes_password
    from tongguocr.sources.given import source_of

    _check_options(direction, turn, language_model, reread, detector, engine, device)
    if isinstance(engine, str):
        find_engine(engine)
    for name, value in (("pages", pages), ("password", password)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be text, not {value!r:.40}.")
    given = source_of(source)
    if password is not None and not takes_password(given):
        raise ValueError(f"password is for PDFs, and {given} is none.")
    listed = open_source(given, pages, password=password)
    return _read_each(listed, detector, direction, turn, engine, language_model, reread, device)


def _read_each(
    listed: Iterator[SourcePage],
    detector: str,
    direction: WritingMode | None,
    turn: bool,
    engine: str | Engine,
    language_model: bool,
    reread: bool,
    device: str,
) -> Iterator[Page]:
    for page in listed:
        yield read(
            page.load_page(),
            detector=detector,
            direction=direction,
            turn=turn,
            engine=engine,
            language_model=language_model,
            reread=reread,
            device=device,
        )


def _check_options(
    direction: object,
    turn: object,
    language_model: object,
    reread: object,
    detector: object,
    engine: object,
    device: object,
) -> None:
    """Refuse options by which nothing can be meant."""
    from tongguocr.devices import DEVICES
    from tongguocr.layout import WritingMode
    from tongguocr.layout.detect import DETECTORS

    modes = get_args(WritingMode)
    if direction is not None and direction not in modes:
        raise ValueError(f"direction must be one of {', '.join(modes)} or None, not {direction!r:.40}.")
    for name, value in (("turn", turn), ("language_model", language_model), ("reread", reread)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r:.40}.")
    if detector not in DETECTORS:
        raise ValueError(f"detector must be one of {', '.join(DETECTORS)}, not {detector!r:.40}.")
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device!r:.40}.")
    if not isinstance(engine, str) and not callable(getattr(engine, "read", None)):
        raise TypeError(f"engine must be an engine's name or an engine, not {type(engine).__name__}.")


def _refuse_looking(detector: str, direction: object, turn: bool) -> None:
    """Refuse what says how lines are looked for, where they are given."""
    asked = {"detector": detector != "tongguocr", "direction": direction is not None, "turn": not turn}
    if name := next((name for name, is_asked in asked.items() if is_asked), ""):
        raise ValueError(f"{name} is for lines that are looked for; with lines= they are known.")


def _open_detector(name: str, device: str) -> LineDetector | None:
    from tongguocr.reader import Setup

    return _open(Setup(None, detector=name, device=device if name == "tongguocr" else "auto")).detector


@lru_cache(maxsize=8)
def _open(setup: Setup) -> Reader:
    """A part that was opened before is not opened again."""
    from tongguocr.reader import open_reader

    return open_reader(setup)
