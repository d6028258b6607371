"""Blocks -> text: the table of engines (paper 3.2, 3.3). What an engine is, says base.py.

To add one: a module beside these with a class that follows `base.Engine`, an entry in ENGINES, a test. What
an engine needs is imported by its opener, so that this module and the commands' help stay quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tongguocr.devices import AUTO, CARDS, CPU
from tongguocr.errors import InputError, need
from tongguocr.weights import SHIPPED

if TYPE_CHECKING:
    from tongguocr.engines.base import Engine
    from tongguocr.engines.server import ServerEngine
    from tongguocr.page import Pixels

    WholeReader: TypeAlias = Callable[[Pixels], list[str]]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine may be opened with; each takes what concerns it."""

    weights: Path | None = None
    """A folder of exported weights; without it, those of the package."""
    threads: int = 0
    """0 means one a core."""
    url: str | None = None
    """Where a server is."""
    model: str | None = None
    """Which of the server's models; for hf, a folder or a name on the hub."""
    device: str = AUTO
    """Where it computes: one of those that its entry names."""
    reread: bool = False
    """Whether our own engine reads doubtful lines again (reread.py)."""


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine of the table: how it is opened, and what has to be known of it before."""

    open: Callable[[EngineOptions], Engine]
    """Opens it; an engine that writes freely comes with its guard."""
    open_whole: Callable[[EngineOptions], WholeReader] | None = None
    """Opens what gives a whole page's lines of text, as the engine's own users get them: by its own detector,
    in its own order. None where it only reads blocks."""
    remote: bool = False
    """Whether the reading is done elsewhere, by a server: its `url` and `model` must be given."""
    full_size: bool = False
    """Whether its model may fill a machine, so that one process has it unless more are asked for."""
    takes: tuple[str, ...] = ("weights", "url", "model")
    """Which of these options concern it; others are refused where nothing else takes them."""
    devices: tuple[str, ...] = (CPU,)
    """Where it can compute if it is asked to; left to itself, it takes what it likes."""

    def device(self, wanted: str) -> str:
        """The device that is wanted if the engine has a choice, else its own."""
        return wanted if wanted in self.devices else AUTO


def open_engine(
    name: str,
    weights: Path | None = None,
    threads: int = 0,
    url: str | None = None,
    model: str | None = None,
    device: str = AUTO,
    reread: bool = False,
) -> Engine:
    """An engine by its name, with the options of `EngineOptions`; a server is contacted when it reads."""
    entry = find_engine(name)
    if device not in (AUTO, *entry.devices):
        raise InputError(f"The engine {name} cannot be told to compute on {device!r}: {_choices(entry)}.")
    return entry.open(EngineOptions(weights, threads, url, model, device, reread))


def _choices(entry: EngineEntry) -> str:
    return f"take one of {', '.join((AUTO, *entry.devices))}"


def find_engine(name: str) -> EngineEntry:
    """The entry of this name in the table."""
    if name not in ENGINES:
        raise InputError(f"There is no engine {name!r}; take one of {', '.join(ENGINES)}.")
    return ENGINES[name]


def _open_tongguocr(options: EngineOptions) -> Engine:
    from tongguocr.engines.guard import Guarded, Limits
    from tongguocr.engines.reread import read_twice
    from tongguocr.engines.tongguocr import OnnxEngine, OnnxSettings

    limits = Limits()
    settings = OnnxSettings(limits)
    engine = OnnxEngine(options.weights or SHIPPED, settings, options.threads, options.device)
    return read_twice(engine) if options.reread else Guarded(engine, limits)


def _open_rapidocr(options: EngineOptions) -> Engine:
    from tongguocr.engines.rapidocr import RapidOcrEngine

    return RapidOcrEngine(threads=options.threads)


def _open_rapidocr_whole(options: EngineOptions) -> WholeReader:
    from tongguocr.engines.rapidocr import open_whole

    return open_whole()


def _open_tesseract(options: EngineOptions) -> Engine:
    from tongguocr.engines.tesseract import TesseractEngine

    return TesseractEngine()


def _open_tesseract_whole(options: EngineOptions) -> WholeReader:
    from tongguocr.engines.tesseract import TesseractEngine

    return TesseractEngine().read_whole


def _open_server(options: EngineOptions) -> Engine:
    from tongguocr.engines.guard import Guarded

    return Guarded(_server_engine(options))


def _open_server_whole(options: EngineOptions) -> WholeReader:
    return _server_engine(options).read_whole


def _server_engine(options: EngineOptions) -> ServerEngine:
    need("The engine server", "server", "httpx")
    from tongguocr.engines.server import open_server

    return open_server(options.url, options.model)


def _open_hf(options: EngineOptions) -> Engine:
    from tongguocr.engines.glm.engine import HfEngine
    from tongguocr.engines.guard import Guarded

    if not (options.model or options.weights):
        raise InputError("The engine hf needs --model: a folder, or a name on the hub.")
    return Guarded(HfEngine(options.model or str(options.weights), device=options.device))


ENGINES: dict[str, EngineEntry] = {
    "tongguocr": EngineEntry(_open_tongguocr, takes=("weights",), devices=(CPU, *CARDS)),
    "rapidocr": EngineEntry(_open_rapidocr, _open_rapidocr_whole, takes=()),
    "tesseract": EngineEntry(_open_tesseract, _open_tesseract_whole, takes=()),
    "server": EngineEntry(_open_server, _open_server_whole, remote=True, takes=("url", "model")),
    "hf": EngineEntry(_open_hf, full_size=True, takes=("weights", "model"), devices=(CPU, "cuda")),
}
"""All engines, by the names that the commands know them by."""
