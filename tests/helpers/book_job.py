"""`tongguocr read` with a reader that reads pages as the characters of their shades, slowly: to be killed.

As a program, `python book_job.py PAUSE ARGUMENT …`, it is the command with these arguments.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from job_readers import read_shade

from tongguocr import cli
from tongguocr.batch import book
from tongguocr.page import Page
from tongguocr.reader import Setup


class Slow:
    """In place of a `Reader`."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def read(self, page: Page, name: str) -> Page:
        return read_shade(page, name, pause=self.pause)

    __call__ = read


class OpenSlow:
    """In place of `open_reader`; it goes to the processes of a job."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def __call__(self, setup: Setup) -> Slow:
        return Slow(self.pause)


def slowly(open_page: Callable[..., Any], pause: float) -> Callable[..., Any]:
    """A page of a book is opened, after a while."""

    def opened(*given: Any) -> Any:
        time.sleep(pause)
        return open_page(*given)

    return opened


def command(pause: float, *arguments: object) -> list[str]:
    return [sys.executable, str(Path(__file__)), str(pause), *map(str, arguments)]


if __name__ == "__main__":
    import tongguocr.reader

    wait = float(sys.argv[1])
    tongguocr.reader.open_reader = OpenSlow(wait)  # type: ignore[assignment]
    book._open_page = slowly(book._open_page, wait / 2)
    sys.exit(cli.main(["read", *sys.argv[2:]]))
