"""The paper's inference procedure (3.1, 3.2), the whole way: page -> lines -> blocks -> crops -> text.

In: a `Setup`, which says what pages are read with, and pages with pixels. Out: the same pages with lines in
reading order, and in them text, confidence and characters. This is the only place where detector, blocks,
crops and engine are put together: commands, jobs, the service and the comparison all read with a `Reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from tongguocr.blocks import cut_blocks
from tongguocr.crops import crop_blocks
from tongguocr.devices import AUTO, CPU
from tongguocr.engines import find_engine, open_engine
from tongguocr.engines.base import Engine, fill_page, make_inputs
from tongguocr.engines.calibration import Calibration, calibrate, load_calibration
from tongguocr.engines.language_model import SHIPPED_LANGUAGE, load_language
from tongguocr.engines.rescore import rescore
from tongguocr.engines.strays import StrayRule, settle_strays
from tongguocr.engines.trust import find_warnings
from tongguocr.errors import InputError
from tongguocr.formats import LINE_ENDINGS, read_page
from tongguocr.layout import WritingMode
from tongguocr.layout.columns import number_columns
from tongguocr.layout.detect import find_lines, open_detector
from tongguocr.layout.detection import LineDetector
from tongguocr.layout.polarity import is_white_on_black
from tongguocr.layout.skew import LEAST_SKEW
from tongguocr.page import Block, Page, turn_page
from tongguocr.straight import as_read, as_scanned
from tongguocr.weights import SHIPPED

DEFAULT_ENGINE = "tongguocr"
"""Whatever reads best on the measured sets; `python -m bench.recogniser` tells."""

DEFAULT_DETECTOR = "tongguocr"
"""Likewise, and `python -m bench.layout` tells."""

GivenLines: TypeAlias = Callable[[Page, str], Page]
"""Puts known lines on a page, which is told by its name."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What pages are read with: all that another process needs to know to open it."""

    engine: str | None = DEFAULT_ENGINE
    """None: lines are found, and not read."""
    weights: Path | None = None
    """Of the engine; without it, those of the package."""
    second: str | None = None
    """Another engine, whose opinion is heard on every line."""
    url: str | None = None
    model: str | None = None
    """Where the engine server finds its server, and which of its models; for hf, a folder or hub name."""
    lines: Path | None = None
    """A file with the lines of one page, or a folder with one such file a page."""
    detector: str | None = DEFAULT_DETECTOR
    """What finds lines where none are given; None: a page has the lines that it has."""
    detector_weights: Path | None = None
    language: Path | None = SHIPPED_LANGUAGE
    """The folder of the language model that chooses among our engine's candidates; None: nobody does."""
    direction: WritingMode | None = None
    turn: bool = True
    """Whether pages that lie on their side or upside down are turned, if the detector tells."""
    reread: bool = False
    """Whether our own engine, read alone, reads lines of which it is unsure again."""
    threads: int = 0
    """Of each model; 0 means one a core."""
    device: str = AUTO
    """Where models compute (docs/devices.md); what has no choice computes where it always does."""


@dataclass(frozen=True)
class Reader:
    """Detector and engine, opened once, for page after page."""

    engine: Engine | None
    detector: LineDetector | None = None
    direction: WritingMode | None = None
    """How lines follow each other; without it, this is seen on the page."""
    given: GivenLines | None = None
    """Lines from files, which come before all others."""
    check: Callable[[], None] = lambda: None
    """Called between finding lines and reading them; raises where reading should stop."""
    turn: bool = True
    """Whether a page that lies on its side or upside down is turned first, if the detector tells."""
    language: Path | None = None
    """The folder of the language model that is heard where the picture leaves a character open."""
    calibration: Calibration | None = None
    """What makes confidence true; it is of these weights, and of text with or without a language model."""
    strays: StrayRule | None = field(default_factory=StrayRule)
    """What becomes of characters that were read outside of their line; None: they stay in it."""

    def read(self, page: Page, name: str = "") -> Page:
        """The page with everything that is written on it, in the order in which it is read.

        Lines are those given for a page of this name, or those that the page has already, or found.
        """
        found = self.find_lines(page, name)
        return found if self.engine is None else self.read_lines(found)

    __call__ = read
    """A reader is what jobs want: a function of a page and its name."""

    def find_lines(
        self,
        page: Page,
        name: str = "",
        direction: WritingMode | None = None,
        turn: bool | None = None,
    ) -> Page:
        """The page with its lines, their kinds and their order (3.1); `direction` and `turn` if not as ever.

        Lines that are known stand where they stand: only a page whose lines are looked for is turned.
        """
        if self.given is not None:
            return self.given(page, name)
        if page.lines or self.detector is None:
            return look_for_white(page)
        turn = self.turn if turn is None else turn
        return find_lines(page, self.detector, direction or self.direction, turn)

    def read_lines(self, page: Page) -> Page:
        """The page with the text of the lines that it has; text that they had is neither seen nor kept."""
        # Upright and black on white, however the page was scanned.
        bare = number_columns(as_read(without_text(page)))
        # 3.1.1 and 3.1.2, blocks: of all ways to cut the lines into runs, the one with the least penalty.
        read = as_scanned(self.read_blocks(bare, cut_blocks(bare)), page)
        least = self.engine.least_confidence if self.engine is not None else None
        return replace(read, warnings=find_warnings(read, least))

    def read_blocks(self, page: Page, blocks: Sequence[Block]) -> Page:
        """The page with the text of its lines, which were cut into these blocks and have no text yet."""
        if self.engine is None:
            raise ValueError("this reader has no engine")
        self.check()
        # 3.1.3, crops: every block on a square canvas, what is not its own masked.
        crops = crop_blocks(page, blocks)
        # 3.2, recognition: the characters of a block, with transitions from line to line.
        readings = self.engine.read(make_inputs(page, crops))
        # Block after block back into the lines, in reading order.
        filled = fill_page(page, blocks, readings)
        # Context: another of the candidates, where the picture leaves a character open (docs/language.md).
        model = load_language(self.language) if self.language is not None else None
        judged = filled if model is None else rescore(filled, model)
        # Confidence: how often characters like this one were right on real lines (docs/language.md).
        sure = judged if self.calibration is None else calibrate(judged, self.calibration, model)
        # Every character in its line: what was read outside of all lines goes, or is a line of its own.
        known = {line.id for line in page.lines}
        return sure if self.strays is None else settle_strays(sure, known, self.strays)


def open_reader(setup: Setup, check: Callable[[], None] = lambda: None) -> Reader:
    """Open what is asked for, once: lines that are given, the detector where none are, the engine."""
    check_device(setup)
    given = open_lines(setup.lines) if setup.lines is not None else None
    detector = None
    if given is None and setup.detector is not None:
        device = setup.device if setup.detector == "tongguocr" else AUTO
        detector = open_detector(setup.detector, setup.detector_weights, setup.threads, device)
    language = setup.language if speaks_to_context(setup.engine, setup.second) else None
    engine, calibration = _open_engines(setup), _open_calibration(setup, language)
    return Reader(engine, detector, setup.direction, given, check, setup.turn, language, calibration)


def takes_device(setup: Setup) -> bool:
    """Whether anything that would be opened can be told to compute on the setup's device."""
    if setup.device in (AUTO, CPU) or (setup.lines is None and setup.detector == "tongguocr"):
        return True
    names = (name for name in (setup.engine, setup.second) if name is not None)
    return any(setup.device in find_engine(name).devices for name in names)


def where_it_can(setup: Setup) -> Setup:
    """The setup of a part of what reads: on its device if it can be told to, else where it likes."""
    return setup if takes_device(setup) else replace(setup, device=AUTO)


def check_device(setup: Setup) -> None:
    """Refuse a device that would be asked for in vain."""
    if takes_device(setup):
        return
    raise InputError(
        f"The device {setup.device} is for our own models, and nothing that reads here can be told to use it."
    )


def _open_calibration(setup: Setup, language: Path | None) -> Calibration | None:
    """What our own engine's weights were fitted with; a second opinion has a measure of its own."""
    if not speaks_to_context(setup.engine, setup.second):
        return None
    return load_calibration(setup.weights or SHIPPED, language is not None)


def speaks_to_context(engine: str | None, second: str | None = None) -> bool:
    """Whether a language model is heard on what is read: only our own engine was measured with it, alone."""
    return engine == "tongguocr" and second is None


def _open_engines(setup: Setup) -> Engine | None:
    """The engine, or two of them behind one face."""
    if setup.engine is None:
        return None
    if setup.second == setup.engine:
        raise InputError(f"--second {setup.second}: a second opinion must be another engine's.")
    options = (setup.weights, setup.threads, setup.url, setup.model)
    # Another engine is opinion enough.
    reread = setup.reread and setup.second is None
    first = open_engine(setup.engine, *options, find_engine(setup.engine).device(setup.device), reread)
    if setup.second is None:
        return first
    from tongguocr.engines.second_opinion import second_opinion

    other = open_engine(setup.second, *options, find_engine(setup.second).device(setup.device), reread)
    return second_opinion(first, other)


def open_lines(path: Path) -> GivenLines:
    """The lines in a file, for one page, or in a folder with a file for each page."""
    if path.is_dir():
        return lambda page, name: _lines_from(lines_file(path, name), page)
    known = read_page(path)
    return lambda page, name: take_lines(page, known, path)


def _lines_from(path: Path, page: Page) -> Page:
    return take_lines(page, read_page(path), path)


def lines_file(folder: Path, name: str) -> Path:
    """The file in a folder that has the lines of the page of this name."""
    paths = [folder / f"{name}{suffix}" for suffix in LINE_ENDINGS]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise InputError(f"{folder}: there are no lines for the page {name} ({name}.json, {name}.xml …).")
    return found


def take_lines(page: Page, known: Page, source: object) -> Page:
    """The page with the lines of another, which must be as large; `source` is where that one comes from.

    If the other was turned to be read, so is this one, and its boxes fit.
    """
    page = turn_page(page, (known.angle - page.angle) % 360)
    if (known.width, known.height) not in ((0, 0), (page.width, page.height)):
        raise InputError(
            f"{source}: its lines are for an image of {known.width} x {known.height} pixels,"
            f" and {page.image} has {page.width} x {page.height}."
        )
    # Other programs tell of slants that matter to nobody.
    skew = known.skew if abs(known.skew) >= LEAST_SKEW else 0.0
    return look_for_white(replace(page, lines=known.lines, skew=skew, inverted=known.inverted))


def look_for_white(page: Page) -> Page:
    """A page with lines that somebody else found, knowing whether it is white on black."""
    if page.inverted or page.pixels is None or not is_white_on_black(page.lines, page.pixels):
        return page
    return replace(page, inverted=True)


def without_text(page: Page) -> Page:
    """The page with its lines as if they had not been read yet."""
    return replace(page, lines=tuple(line.without_text() for line in page.lines))
