"""Pages that are read in the background: numbers of pages in, their lines and text out, as they come.

Each of a few threads keeps one process that reads with one thread; a page that brings it down or takes too
long costs no more than that page. Pages come in their order, but the one that somebody looks at comes first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.proofread.pictures import keep_thumbnail
from tongguocr.reader import Reader, Setup, open_reader, take_lines
from tongguocr.sources import SourcePage

TIME_LIMIT = 600.0
"""Seconds a page."""
END_TIMEOUT = 10.0
"""Seconds for a process to go, once it was killed."""


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """One page to be read."""

    number: int
    source: SourcePage
    setup: Setup
    keep_lines: bool = False
    """Whether the lines stay that the page has when its turn comes."""
    known: Page | None = None
    """With those lines."""
    thumbnail: Path | None = None
    asked: bool = False
    """Whether somebody asked for it, so that it is read even if it was read before."""
    spare: bool = False
    """Whether a page is left alone that somebody has corrected or marked meanwhile."""


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """What became of a page."""

    task: ReadingTask
    page: Page | None
    reason: str = ""
    """Why there is no page: a sentence."""


class BackgroundReading:
    """A queue of pages, and the processes that read them."""

    def __init__(
        self,
        workers: int,
        begun: Callable[[ReadingTask], ReadingTask | None],
        done: Callable[[ReadingResult], None],
    ) -> None:
        """`begun` is asked what is to be read now, if anything still is; `done` is told what became of it."""
        self.begun, self.done = begun, done
        self._tasks: deque[ReadingTask] = deque()
        self._wait = threading.Condition()
        self._closed = False
        self._pools: list[Pool[ReadingTask, Page | str]] = []
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]

    def start(self) -> None:
        """Begin to read."""
        for thread in self._threads:
            thread.start()

    def add(self, task: ReadingTask, first: bool = False) -> None:
        """One page more, before all others if it is `first`; it takes the place of the same page."""
        with self._wait:
            for other in [one for one in self._tasks if one.number == task.number]:
                self._tasks.remove(other)
            (self._tasks.appendleft if first else self._tasks.append)(task)
            self._wait.notify()

    def prefer(self, number: int) -> None:
        """Somebody looks at this page: if it waits, it is the next one."""
        with self._wait:
            for task in self._tasks:
                if task.number == number:
                    self._tasks.remove(task)
                    self._tasks.appendleft(task)
                    return

    def close(self) -> None:
        """Begin nothing more; what is being read is given up."""
        with self._wait:
            self._closed = True
            self._tasks.clear()
            self._wait.notify_all()
        for pool in list(self._pools):
            for worker in list(pool.workers):
                worker.process.kill()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(END_TIMEOUT)

    def _work(self) -> None:
        """One thread: it keeps one process, and outlives whatever happens to it."""
        while self._wait_for_task():
            pool = Pool[ReadingTask, Page | str](make_worker, 1, TIME_LIMIT)
            self._pools.append(pool)
            given: list[ReadingTask] = []
            with pool:
                try:
                    for task, result in pool.run(self._next_tasks(given)):
                        given.clear()
                        self._tell(task, result)
                except InputError as error:
                    for task in given:
                        self._tell(task, str(error))
            self._pools.remove(pool)

    def _wait_for_task(self) -> bool:
        """Whether there is something to read; models are not loaded before there is."""
        with self._wait:
            while not self._tasks and not self._closed:
                self._wait.wait()
            return not self._closed

    def _tell(self, task: ReadingTask, result: Page | str | WorkerFailure) -> None:
        if self._closed:
            return
        if isinstance(result, WorkerFailure):
            result = f"{task.source.name}: the page {result.reason}."
        page = result if isinstance(result, Page) else None
        self.done(ReadingResult(task, page, result if isinstance(result, str) else ""))

    def _next_tasks(self, given: list[ReadingTask]) -> Iterator[ReadingTask]:
        """The tasks as they come; each is put down until it is done."""
        while True:
            with self._wait:
                while not self._tasks and not self._closed:
                    self._wait.wait()
                if self._closed:
                    return
                task = self._tasks.popleft()
            begun = self.begun(task)
            if begun is not None:
                given.append(begun)
                yield begun


def make_worker() -> Callable[[ReadingTask], Page | str]:
    """What a process does; models are opened with the first page that wants them."""
    return read_one


def read_one(task: ReadingTask) -> Page | str:
    """The page as it was read, or why it could not be."""
    try:
        page = task.source.load_page()
        if task.thumbnail is not None and page.pixels is not None and not task.thumbnail.exists():
            keep_thumbnail(page.pixels, task.thumbnail)
        if task.known is not None:
            page = take_lines(page, task.known, task.source.file)
        read = _open(task.setup).read(page, task.source.name)
        return replace(read, pixels=None)
    except InputError as error:
        return str(error)
    except Exception as error:
        # A fault of ours on one page must not cost the others.
        return f"{task.source.name}: {type(error).__name__}: {error}"


@lru_cache(maxsize=2)
def _open(setup: Setup) -> Reader:
    return open_reader(setup)
