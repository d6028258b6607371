"""Engine and detector, loaded once: pictures in; pages with text, or replies in tokens, out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tongguocr.engines import ENGINES
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.errors import InputError
from tongguocr.layout import WritingMode
from tongguocr.page import Line, Page, Pixels, bare_page, guess_direction
from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, Reader, Setup, open_reader, take_lines
from tongguocr.serve.answers import Reply, reply_of_model, reply_of_page, whole_block, without_border

SERVED = tuple(name for name, entry in ENGINES.items() if not entry.remote)
NO_DETECTOR = "none"


@dataclass(frozen=True)
class Models:
    """What reads."""

    name: str
    """What clients call it."""
    reader: Reader
    full_model: HfEngine | None = None
    """The full-size model, which can write about a picture without lines."""

    def read(self, page: Page, known: Page | None = None, direction: WritingMode | None = None) -> Page:
        """The page with its text, by the lines that are known or else found."""
        if known is not None:
            return self.reader.read_lines(take_lines(page, known, page.image))
        if self.reader.detector is None:
            raise InputError(f"{page.image}: this server has no detector; send the page's lines with it.")
        return self.reader.read_lines(self.reader.find_lines(page, direction=direction))

    def reply(self, pixels: Pixels, most: int, rivals: int) -> Reply:
        """What is written in a picture, in at most so many tokens."""
        page = bare_page("picture", pixels)
        if self.full_model is not None:
            # Lines matter only to models that want characters of one size.
            lines = self.reader.find_lines(page).lines if self.full_model.image_settings.character else ()
            return reply_of_model(self.full_model, whole_block(pixels, lines), most, rivals)
        if self.reader.detector is None:
            box = without_border(pixels)
            page = replace(page, lines=(Line("l1", box, direction=guess_direction(box)),))
        return reply_of_page(self.reader.read(page), most)


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
    if model and ENGINES[engine].own_models:
        raise InputError(f"--model {model}: the engine {engine} has its own.")
    full_size = ENGINES[engine].full_size
    setup = Setup(
        engine,
        weights=Path(model) if model and not full_size else None,
        model=model,
        detector=None if detector == NO_DETECTOR else detector,
        threads=threads,
    )
    reader = open_reader(setup, check)
    assert reader.engine is not None
    full_model = reader.engine.full_model
    if full_model is not None:
        _make_ready(full_model, threads, check)
    return Models(_name(engine, model), reader, full_model)


def _make_ready(full_model: HfEngine, threads: int, check: Callable[[], None]) -> None:
    """Before each token it is asked whether to go on: a full-size model may need minutes for a page."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    full_model.check = check


def _name(engine: str, model: str | None) -> str:
    if not ENGINES[engine].full_size or model is None:
        return engine
    return Path(model).resolve().name if Path(model).exists() else model
