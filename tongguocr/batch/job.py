"""One page of a job: what is to be done, what became of it, and the work itself, in whichever process.

In: a `Task`, a page on its way, and what reads it. Out: its files, and an `Outcome`. Who does which page is
run.py's business, and where the processes are is pool.py's or cluster.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from tongguocr.batch.results import json_of, write_results
from tongguocr.errors import DiskFullError, InputError
from tongguocr.formats import Style, format_of, read_page
from tongguocr.page import Page, turn_pixels
from tongguocr.sources import SourcePage

ReadPage: TypeAlias = Callable[[Page, str], Page]
"""A page with pixels, and its name in; the same with lines and text out."""

State: TypeAlias = Literal["read", "converted", "done", "elsewhere", "failed"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where and how a job is spread over a Ray cluster (cluster.py)."""

    address: str | None = None
    """As Ray takes it: auto, HOST:PORT. None: a cluster on this machine, for this job."""
    workers: int | None = None
    """How many workers read; None: as many as there is room for."""
    threads: int = 1
    """Processors for each worker that has neither a GPU nor a server."""
    gpus_each: float = 0.0
    """How much of a GPU each worker that reads gets."""
    find: Callable[[], ReadPage] | None = None
    """Opens what finds lines, if workers of their own do that; what reads then gets pages with lines."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done."""

    out: Path
    formats: tuple[str, ...] = ("txt", "json")
    workers: int = 1
    time_limit: float = 300.0
    """Seconds for one page."""
    style: Style = field(default_factory=Style)
    again: bool = False
    """Remove what these pages have in these formats, and do everything anew."""
    cluster: Cluster | None = None
    """Where the working processes are, if not here."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What pages are read with, in words: results made otherwise do not count as done (record.py)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one page."""

    name: str
    state: State
    """Read now; written from its JSON; done before; read by another process meanwhile; not read, and why."""
    reason: str = ""
    characters: int = 0
    warning: str = ""
    """What is to be said of a page that was read: it has no text, or text that should not be trusted."""
    disk_full: bool = False
    """It failed for want of room, as every other page would."""


@dataclass(frozen=True, slots=True)
class Task:
    """One page on its way to a working process."""

    page: SourcePage
    paths: tuple[Path, ...]
    unfinished: Path
    style: Style
    loaded: Page | None = None
    """The page as another process loaded it, if one did."""


def process_page(read: ReadPage, task: Task) -> Outcome:
    """Load, read and write one page, in a working process."""
    page = task.page
    try:
        result = read(task.loaded or page.load_page(), page.name)
        write_results(result, task.paths, task.unfinished, task.style)
    except Exception as error:
        return failure_outcome(error, page)
    return Outcome(page.name, "read", "", count_characters(result), " ".join(result.warnings))


def convert_page(task: Task) -> Outcome:
    """Write one page that was read before, from its JSON; its image is loaded only if a format needs it."""
    page = task.page
    try:
        result = read_page(json_of(page.name, task.paths[0].parent))
        if any(format_of(path).image for path in task.paths):
            result = add_scan(result, page)
        write_results(result, task.paths, task.unfinished, task.style)
    except Exception as error:
        return failure_outcome(error, page)
    return Outcome(page.name, "converted")


def add_scan(known: Page, page: SourcePage) -> Page:
    """A page that was read before, with its pixels, and the JPEG that they come from, out of its source."""
    scan = page.loader()
    pixels = turn_pixels(scan.pixels, known.angle)
    if pixels.shape[:2] != (known.height, known.width):
        raise InputError(
            f"{page.file}: page {page.name} has {pixels.shape[1]} x {pixels.shape[0]} pixels now,"
            f" and had {known.width} x {known.height} when it was read."
        )
    return replace(known, pixels=pixels, jpeg=scan.jpeg)


def count_characters(page: Page) -> int:
    """How many characters were read on a page."""
    return sum(len(line.text) for line in page.lines)


def failure_outcome(error: Exception, page: SourcePage) -> Outcome:
    """What went wrong with a page, as one sentence."""
    if isinstance(error, InputError):
        return Outcome(page.name, "failed", str(error), disk_full=isinstance(error, DiskFullError))
    if isinstance(error, MemoryError):
        return Outcome(page.name, "failed", f"{page.file}: page {page.name} does not fit into memory.")
    # A fault of ours on one page must not cost the others; it is named as what it is.
    return Outcome(page.name, "failed", f"{page.file}: {type(error).__name__}: {error}")
