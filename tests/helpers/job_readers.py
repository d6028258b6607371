"""Small jobs: pages of one shade, and readers that read a page as its shade, or come to grief over it.

As a program, `python job_readers.py IN OUT LOG WORKERS`, it is a job that tests may kill.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from paths import EXAMPLES
from PIL import Image

from tongguocr.batch import RECORD, Job, Outcome, ReadPage, results, run_job, run_with_progress
from tongguocr.batch.listing import list_source, name_pages
from tongguocr.errors import InputError
from tongguocr.page import Line, Page
from tongguocr.reader import Setup
from tongguocr.sources import SourcePage

FAULT, REFUSED, KILLED, CRASHED, HANGS, TOO_LARGE, ENDS = 13, 14, 15, 16, 17, 18, 19
DOUBTFUL = 20
"""Read, with a warning."""


def write_pages(folder: Path, shades: dict[str, int]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, shade in shades.items():
        Image.fromarray(np.full((30, 20), shade, np.uint8)).save(folder / f"{name}.png")
    return folder


def write_columns(root: Path) -> Path:
    """Three images of one column of the example in `in`, and in `lines` the lines of the first two."""
    page = json.loads((EXAMPLES / "page.json").read_text(encoding="utf-8"))
    x0, y0, x1, y1 = (round(value) for value in page["lines"][0]["box"])
    box = (max(x0 - 20, 0), max(y0 - 20, 0), x1 + 20, y1 + 20)
    with Image.open(EXAMPLES / "page.jpg") as image:
        cut = np.asarray(image.convert("L").crop(box))
    line = {"id": "l1", "box": [x0 - box[0], y0 - box[1], x1 - box[0], y1 - box[1]]}
    lines = {"format": "tongguocr-page", "version": 1, "width": cut.shape[1], "height": cut.shape[0]}
    (root / "in").mkdir()
    (root / "lines").mkdir()
    for name in ("p1", "p2", "p3"):
        Image.fromarray(cut).save(root / "in" / f"{name}.png")
        if name != "p3":
            (root / "lines" / f"{name}.json").write_text(json.dumps({**lines, "lines": [line]}))
    return root


def pages_of(*sources: Path) -> list[SourcePage]:
    return name_pages([list_source(str(source)) for source in sources])


def read_shade(page: Page, name: str, log: Path | None = None, pause: float = 0.0) -> Page:
    """Reads a page as the character of its shade; some shades are the end of it."""
    assert page.pixels is not None
    shade = int(page.pixels[0, 0])
    if shade == FAULT:
        raise ZeroDivisionError("a fault\nof ours")
    if shade == REFUSED:
        raise InputError(f"{page.image}: this page is refused.")
    if shade == TOO_LARGE:
        raise MemoryError
    if shade == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if shade == CRASHED:
        os.kill(os.getpid(), signal.SIGSEGV)
    if shade == ENDS:
        os._exit(3)
    time.sleep(600 if shade == HANGS else pause)
    if log:
        handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(handle, f"{name}\n".encode())
        os.close(handle)
    warnings = (f"shade {shade} is hard to read.",) if shade == DOUBTFUL else ()
    return replace(page, lines=(Line("l1", (0, 0, 20, 30), chr(0x4E00 + shade)),), warnings=warnings)


def open_shades(log: Path | None = None, pause: float = 0.0) -> ReadPage:
    return partial(read_shade, log=log, pause=pause)


def open_on_full_disk(log: Path, room: int) -> ReadPage:
    """Reads shades where the disk has room for the files of so many pages, of all processes together."""

    def full(path: Path) -> None:
        if len(log.read_text().split()) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    results.flush = full
    return open_shades(log)


class Quick:
    """In place of a `Reader`: it reads a page as the character of its shade."""

    def read(self, page: Page, name: str) -> Page:
        return read_shade(page, name)

    __call__ = read


def open_quick(setup: Setup) -> Quick:
    """In place of `open_reader`."""
    return Quick()


def read_notes(page: Page, name: str) -> Page:
    lines = (Line("l1", (10, 0, 20, 30), "大學"), Line("l2", (5, 0, 10, 30), "程子曰", "note"))
    return replace(page, lines=lines)


def open_notes() -> ReadPage:
    return read_notes


def open_refused() -> ReadPage:
    raise InputError("weights: there are none.")


def do(
    pages: list[SourcePage], job: Job, prepare: Callable[[], ReadPage] = open_shades
) -> dict[str, Outcome]:
    return {outcome.name: outcome for outcome in run_job(pages, prepare, job)}


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, hidden files too, but for the record of what it was made from."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != RECORD]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def command(source: Path, out: Path, log: Path, workers: int = 2) -> list[str]:
    return [sys.executable, __file__, str(source), str(out), str(log), str(workers)]


def main() -> int:
    source, out, log = (Path(argument) for argument in sys.argv[1:4])
    job = Job(out, ("txt", "json"), int(sys.argv[4]))
    return run_with_progress(pages_of(source), partial(open_shades, log, 0.05), job)


if __name__ == "__main__":
    sys.exit(main())
