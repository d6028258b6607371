"""Engine and detector, loaded once: pictures in; pages with text, or replies in tokens, out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tongguocr.engines import ENGINES, SHIPPED, Engine, open_engine
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.engines.guard import Guarded
from tongguocr.errors import InputError
from tongguocr.layout import WritingMode
from tongguocr.page import Line, Page, Pixels, guess_direction
from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, read_lines
from tongguocr.serve.answers import Reply, reply_of_model, reply_of_page, whole_block, without_border

SERVED = tuple(name for name in ENGINES if name != "server")
NO_DETECTOR = "none"

Find = Callable[[Page, WritingMode | None], Page]


@dataclass(frozen=True)
class Models:
    """What reads."""

    name: str
    """What clients call it."""
    engine: Engine
    find: Find | None = None
    """What finds a page's lines, where there is a detector."""
    scribe: HfEngine | None = None
    """The full-size model, which can write about a picture without lines."""
    check: Callable[[], None] = lambda: None
    """Raises where reading should stop."""

    def read(self, page: Page, known: Page | None = None, direction: WritingMode | None = None) -> Page:
        """The page with its text, by the lines that are known or else found."""
        if known is not None:
            page = take_lines(page, known)
        elif self.find is not None:
            page = self.find(page, direction)
        else:
            raise InputError(f"{page.image}: this server has no detector; send the page's lines with it.")
        self.check()
        return read_lines(page, self.engine)

    def reply(self, pixels: Pixels, most: int, rivals: int) -> Reply:
        """What is written in a picture, in at most so many tokens."""
        high, wide = pixels.shape[:2]
        page = Page("picture", wide, high, pixels=pixels)
        if self.scribe is not None:
            # Lines matter only to models that want characters of one size.
            wanted = self.find is not None and self.scribe.manner.character
            lines = self.find(page, None).lines if self.find and wanted else ()
            return reply_of_model(self.scribe, whole_block(pixels, lines), most, rivals)
        if self.find is None:
            box = without_border(pixels)
            page = replace(page, lines=(Line("l1", box, direction=guess_direction(box)),))
        else:
            page = self.find(page, None)
        self.check()
        return reply_of_page(read_lines(page, self.engine), most)


def take_lines(page: Page, known: Page) -> Page:
    """The page with the lines of another, which must be as large."""
    if (known.width, known.height) not in ((0, 0), (page.width, page.height)):
        raise InputError(
            f"{page.image}: its lines are for an image of {known.width} x {known.height} pixels,"
            f" and it has {page.width} x {page.height}."
        )
    return replace(page, lines=known.lines)


def open_models(
    engine: str = DEFAULT_ENGINE,
    model: str | None = None,
    detector: str = DEFAULT_DETECTOR,
    threads: int = 0,
    check: Callable[[], None] = lambda: None,
) -> Models:
    """Load what is named; `model` is the folder of the engine's weights, or for hf a name on the hub."""
    if engine not in SERVED:
        raise InputError(f"There is no engine {engine!r} to serve with; take one of {', '.join(SERVED)}.")
    if engine == "hf" and not model:
        raise InputError("The engine hf needs --model: a folder, or a name on the hub.")
    if model and engine not in ("hf", "tongguocr"):
        raise InputError(f"--model {model}: the engine {engine} has its own.")
    find = open_finder(detector, threads)
    opened = open_engine(
        engine, Path(model) if model and engine == "tongguocr" else SHIPPED, threads, model=model
    )
    scribe = opened.engine if isinstance(opened, Guarded) and isinstance(opened.engine, HfEngine) else None
    if scribe is not None:
        _make_ready(scribe, threads, check)
    return Models(_name(engine, model), opened, find, scribe, check)


def open_finder(detector: str, threads: int) -> Find | None:
    """The detector by its name."""
    from tongguocr.layout.detect import find_lines, open_detector

    if detector == NO_DETECTOR:
        return None
    opened = open_detector(detector, None, threads)
    return lambda page, direction: find_lines(page, opened, direction)


def _make_ready(scribe: HfEngine, threads: int, check: Callable[[], None]) -> None:
    """Before each token it is asked whether to go on: a full-size model may need minutes for a page."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    scribe.check = check


def _name(engine: str, model: str | None) -> str:
    if engine != "hf" or model is None:
        return engine
    return Path(model).resolve().name if Path(model).exists() else model
