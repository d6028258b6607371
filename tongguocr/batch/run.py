"""A job: pages in, results in a folder, and what became of each page.

This process leads: it locks pages, hands them to its working processes and records what failed. They load,
read and write. A page is done when all its files are there, so a job that was stopped, at whatever moment,
goes on where it was; and several jobs may fill one folder, each page being read by one of them.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.batch.job import Job, Outcome, ReadPage, State, Task, convert_page, process_page
from tongguocr.batch.locks import FOLDER, PageLocks
from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.batch.record import record_job
from tongguocr.batch.results import (
    FAILED,
    WARNINGS,
    json_of,
    missing,
    one_line,
    record_warning,
    remove,
    result_paths,
    write_failures,
)
from tongguocr.errors import InputError
from tongguocr.files import NO_ROOM, make_folder
from tongguocr.sources import SourcePage

if TYPE_CHECKING:
    from tongguocr.batch.cluster import ClusterPool

POLL_SECONDS = 0.5
"""Seconds between two looks at pages that another process reads."""
WARNINGS_LOCK = "\0warnings"
"""What is locked while the table of warnings is written: no page is called so."""


def run_job(
    pages: Sequence[SourcePage],
    prepare: Callable[[], ReadPage],
    job: Job,
    problems: Iterable[tuple[str, str]] = (),
) -> Generator[Outcome, None, None]:
    """Read all pages that are not done; one outcome a page, as they come.

    `prepare` is called in every working process and must be a function of a module. `problems` are sources
    that could not be opened, with the reason: they count as pages that failed.
    """
    make_folder(job.out)
    with (
        PageLocks(job.out) as locks,
        _open_pool(prepare, job) as pool,
        Pool(_make_converter, job.workers, job.time_limit) as converters,
    ):
        if job.again:
            _remove_results(pages, job, locks)
        record_job(pages, job, locks)
        if locks.alone:
            remove(job.out / FAILED)
        locks.reserve()
        try:
            for source, reason in problems:
                yield _fail(locks, source, source, reason)
            yield from _Scheduler(job, locks, pool, converters).outcomes(pages)
        finally:
            locks.free_reserve()
            write_failures(locks.failures(), job.out)


def _open_pool(prepare: Callable[[], ReadPage], job: Job) -> Pool[Task, Outcome] | ClusterPool:
    if job.cluster is None:
        return Pool(partial(_make_worker, prepare), job.workers, job.time_limit)
    from tongguocr.batch.cluster import ClusterPool

    return ClusterPool(prepare, job, job.cluster)


def _remove_results(pages: Sequence[SourcePage], job: Job, locks: PageLocks) -> None:
    if not locks.alone:
        raise InputError(f"{job.out}: another process is at work here; nothing can be done anew meanwhile.")
    for page in pages:
        for path in result_paths(page.name, job.out, job.formats):
            remove(path)


class _Scheduler:
    """Which pages this process reads, and what becomes of the others."""

    def __init__(
        self,
        job: Job,
        locks: PageLocks,
        pool: Pool[Task, Outcome] | ClusterPool,
        converters: Pool[Task, Outcome],
    ) -> None:
        self.job, self.locks, self.pool, self.converters = job, locks, pool, converters
        self.settled: deque[Outcome] = deque()
        self.elsewhere: deque[SourcePage] = deque()
        """Pages that other processes have locked, to be looked at again."""
        self.ever_elsewhere: set[str] = set()
        self.disk_full = False
        """Then no further page is begun; those under way come to their end."""

    def outcomes(self, pages: Sequence[SourcePage]) -> Iterator[Outcome]:
        waiting: Sequence[SourcePage] = pages
        while waiting:
            known = {page.name for page in waiting if self._was_read(page)}
            # Those first for which no model need be loaded.
            converted = self.converters.run(self._tasks(page for page in waiting if page.name in known))
            done = self.pool.run(self._tasks(page for page in waiting if page.name not in known))
            for task, result in chain(converted, done):
                yield from self._flush()
                yield self._finish(task, result)
                if self.disk_full and self.job.cluster:
                    return  # Its pages are handed out already.
            yield from self._flush()
            if self.disk_full:
                return
            waiting, before = list(self.elsewhere), len(waiting)
            self.elsewhere.clear()
            if len(waiting) == before:
                time.sleep(POLL_SECONDS)

    def _flush(self) -> Iterator[Outcome]:
        while self.settled:
            yield self.settled.popleft()

    def _tasks(self, pages: Iterable[SourcePage]) -> Iterator[Task]:
        """A task for each page that this process gets; outcomes of the others go to `settled`."""
        for page in pages:
            if self.disk_full:
                return
            if self.elsewhere and not self._missing(self.elsewhere[0]):
                self.settled.append(Outcome(self.elsewhere.popleft().name, "elsewhere"))
            try:
                paths = self._lock(page)
            except OSError as error:
                self.disk_full = error.errno in NO_ROOM
                reason = (
                    f"{page.file}: page {page.name} cannot be claimed in {self.job.out / FOLDER} ({error})."
                )
                self.settled.append(Outcome(page.name, "failed", one_line(reason), disk_full=self.disk_full))
                continue
            if paths:
                yield Task(page, paths, self.locks.unfinished, self.job.style)

    def _lock(self, page: SourcePage) -> tuple[Path, ...]:
        """The files of a page that this process has to make; none if it is done, or another's."""
        if not self._missing(page):
            state: State = "elsewhere" if page.name in self.ever_elsewhere else "done"
            self.settled.append(Outcome(page.name, state))
        elif not self.locks.acquire(page.name):
            self.elsewhere.append(page)
            self.ever_elsewhere.add(page.name)
        elif failure := self.locks.failure(page.name):
            self.locks.release(page.name)
            self.settled.append(Outcome(page.name, "failed", failure.reason))
        elif absent := self._missing(page):
            # Looked at again: between the first look and the lock another process may have done it.
            return absent
        else:
            self.locks.release(page.name)
            self.settled.append(Outcome(page.name, "elsewhere"))
        return ()

    def _was_read(self, page: SourcePage) -> bool:
        """Whether the page's JSON is there: other formats are written from it, and nothing is read again."""
        return not self.job.again and json_of(page.name, self.job.out).exists()

    def _missing(self, page: SourcePage) -> tuple[Path, ...]:
        """The page's result files that are not there yet."""
        return missing(result_paths(page.name, self.job.out, self.job.formats))

    def _finish(self, task: Task, result: Outcome | WorkerFailure) -> Outcome:
        page = task.page
        if isinstance(result, WorkerFailure):
            result = Outcome(page.name, "failed", f"{page.file}: page {page.name} {result.reason}.")
        if result.state == "failed":
            self.disk_full |= result.disk_full
            result = replace(
                _fail(self.locks, page.name, page.file, result.reason), disk_full=result.disk_full
            )
        elif result.state == "read":
            self._record_warning(page, result.warning)
        self.locks.release(page.name)
        return result

    def _record_warning(self, page: SourcePage, warning: str) -> None:
        """One process after the other: all write one table. The page itself is still locked."""
        if not warning and not (self.job.out / WARNINGS).exists():
            return
        while not self.locks.acquire(WARNINGS_LOCK):
            time.sleep(POLL_SECONDS / 10)
        with contextlib.suppress(InputError):  # On a full disk even this fails; the outcome still tells.
            record_warning(page.name, page.file, warning, self.job.out)
        self.locks.release(WARNINGS_LOCK)


def _fail(locks: PageLocks, name: str, file: str, reason: str) -> Outcome:
    reason = one_line(reason)
    with contextlib.suppress(InputError):  # On a full disk even this fails; the outcome still tells.
        locks.record_failure(name, file, reason)
    return Outcome(name, "failed", reason)


def _make_converter() -> Callable[[Task], Outcome]:
    return convert_page


def _make_worker(prepare: Callable[[], ReadPage]) -> Callable[[Task], Outcome]:
    return partial(process_page, prepare())
