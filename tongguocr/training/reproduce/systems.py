"""Who stands in tables 3 and 4 beside a model trained here: readers that anybody can run, from scan to text.

Ours as it is shipped; PP-OCRv6 through RapidOCR, as it comes and with its lines in our order; Tesseract as it
comes. With given lines all of them read the annotated ones. A reader that is not installed is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tongguocr.engines import EngineOptions, find_engine
from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.reader import Setup, look_for_white, open_reader, without_text

ReadText: TypeAlias = Callable[[Page], list[str]]
"""A page with its annotated lines in; its text in lines out."""


@dataclass(frozen=True, slots=True)
class System:
    """One reader: an engine, whose lines it reads, in whose order."""

    engine: str
    detector: str | None = "tongguocr"
    """What finds lines, which then are put in our order; None: the engine takes pages whole, as it comes."""
    title: str = ""


SYSTEMS = {
    "tongguocr": System("tongguocr", title="TongGuOCR, the small model of the package"),
    "rapidocr": System("rapidocr", None, "RapidOCR (PP-OCRv6), as it comes"),
    "rapidocr-ordered": System("rapidocr", "rapidocr", "RapidOCR (PP-OCRv6), in our order"),
    "tesseract": System("tesseract", None, "Tesseract, as it comes"),
}


def open_system(name: str, given_lines: bool) -> ReadText:
    """What reads, by its name in the table; an InputError where it is not installed."""
    if name not in SYSTEMS:
        raise InputError(f"There is no reader {name!r}; take one of {', '.join(SYSTEMS)}.")
    system = SYSTEMS[name]
    if given_lines:
        reader = open_reader(Setup(system.engine, detector=None))
        return lambda page: [line.text for line in reader.read(look_for_white(without_text(page))).lines]
    if system.detector is None:
        return _open_whole(system.engine)
    reader = open_reader(Setup(system.engine, detector=system.detector))
    return lambda page: [line.text for line in reader.read(replace(page, lines=())).lines]


def _open_whole(engine: str) -> ReadText:
    open_whole = find_engine(engine).open_whole
    assert open_whole is not None
    read = open_whole(EngineOptions())

    def read_text(page: Page) -> list[str]:
        assert page.pixels is not None
        return read(page.pixels)

    return read_text
