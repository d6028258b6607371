"""A job: pages in, results in a folder, and what became of each page.

This process leads: it claims pages, hands them to its working processes and notes what failed. They load,
read and write. A page is done when all its files are there, so a job that was stopped, at whatever moment,
goes on where it was; and several jobs may fill one folder, each page being read by one of them.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tongguocr.batch.claims import FOLDER, Claims
from tongguocr.batch.pool import Lost, Pool
from tongguocr.batch.results import (
    FAILED,
    missing,
    one_line,
    remove,
    result_paths,
    write_failures,
    write_results,
)
from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.formats import Style
from tongguocr.page import Page, bare_page
from tongguocr.sources import SourcePage

if TYPE_CHECKING:
    from tongguocr.batch.cluster import Cluster, ClusterPool

ReadPage: TypeAlias = Callable[[Page, str], Page]
"""A page with pixels, and its name in; the same with lines and text out."""

State: TypeAlias = Literal["read", "done", "elsewhere", "failed"]

PAUSE = 0.5
"""Seconds between two looks at pages that another process reads."""


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one page."""

    name: str
    state: State
    """Read now; done before; read by another process meanwhile; not read, for this reason."""
    reason: str = ""
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One page on its way to a working process."""

    page: SourcePage
    paths: tuple[Path, ...]
    unfinished: Path
    style: Style
    loaded: Page | None = None
    """The page as another process loaded it, if one did."""


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
    with Claims(job.out) as claims, _open_pool(prepare, job) as pool:
        if job.again:
            _remove_results(pages, job, claims)
        if claims.alone:
            remove(job.out / FAILED)
        try:
            for source, reason in problems:
                yield _fail(claims, source, source, reason)
            yield from _Run(job, claims, pool).outcomes(pages)
        finally:
            write_failures(claims.failures(), job.out)


def _open_pool(prepare: Callable[[], ReadPage], job: Job) -> Pool[Task, Outcome] | ClusterPool:
    if job.cluster is None:
        return Pool(partial(_worker, prepare), job.workers, job.time_limit)
    from tongguocr.batch.cluster import ClusterPool

    return ClusterPool(prepare, job, job.cluster)


def _remove_results(pages: Sequence[SourcePage], job: Job, claims: Claims) -> None:
    if not claims.alone:
        raise InputError(f"{job.out}: another process is at work here; nothing can be done anew meanwhile.")
    for page in pages:
        for path in result_paths(page.name, job.out, job.formats):
            remove(path)


class _Run:
    """One process's way through the pages."""

    def __init__(self, job: Job, claims: Claims, pool: Pool[Task, Outcome] | ClusterPool) -> None:
        self.job, self.claims, self.pool = job, claims, pool
        self.settled: deque[Outcome] = deque()
        self.taken: deque[SourcePage] = deque()
        """Pages that other processes read, to be looked at again."""
        self.ever_taken: set[str] = set()

    def outcomes(self, pages: Sequence[SourcePage]) -> Iterator[Outcome]:
        waiting: Sequence[SourcePage] = pages
        while waiting:
            for task, result in self.pool.run(self._claimed(waiting)):
                yield from self._flush()
                yield self._finish(task, result)
            yield from self._flush()
            waiting, before = list(self.taken), len(waiting)
            self.taken.clear()
            if len(waiting) == before:
                time.sleep(PAUSE)

    def _flush(self) -> Iterator[Outcome]:
        while self.settled:
            yield self.settled.popleft()

    def _claimed(self, pages: Iterable[SourcePage]) -> Iterator[Task]:
        """The pages that fall to this process; what became of the others is settled on the way."""
        for page in pages:
            if self.taken and not self._lacking(self.taken[0]):
                self.settled.append(Outcome(self.taken.popleft().name, "elsewhere"))
            try:
                paths = self._claim(page)
            except OSError as error:
                reason = (
                    f"{page.file}: page {page.name} cannot be claimed in {self.job.out / FOLDER} ({error})."
                )
                self.settled.append(Outcome(page.name, "failed", one_line(reason)))
                continue
            if paths:
                yield Task(page, paths, self.claims.unfinished, self.job.style)

    def _claim(self, page: SourcePage) -> tuple[Path, ...]:
        """The page's files that are to be made, if it is ours now."""
        if not self._lacking(page):
            state: State = "elsewhere" if page.name in self.ever_taken else "done"
            self.settled.append(Outcome(page.name, state))
        elif not self.claims.take(page.name):
            self.taken.append(page)
            self.ever_taken.add(page.name)
        elif failure := self.claims.failure(page.name):
            self.claims.release(page.name)
            self.settled.append(Outcome(page.name, "failed", failure.reason))
        elif lacking := self._lacking(page):
            # Looked at again: between the first look and the claim another process may have done it.
            return lacking
        else:
            self.claims.release(page.name)
            self.settled.append(Outcome(page.name, "elsewhere"))
        return ()

    def _lacking(self, page: SourcePage) -> tuple[Path, ...]:
        return missing(result_paths(page.name, self.job.out, self.job.formats))

    def _finish(self, task: Task, result: Outcome | Lost) -> Outcome:
        page = task.page
        if isinstance(result, Lost):
            result = Outcome(page.name, "failed", f"{page.file}: page {page.name} {result.reason}.")
        if result.state == "failed":
            result = _fail(self.claims, page.name, page.file, result.reason)
        self.claims.release(page.name)
        return result


def _fail(claims: Claims, name: str, file: str, reason: str) -> Outcome:
    reason = one_line(reason)
    with contextlib.suppress(InputError):  # On a full disk even this fails; the outcome still tells.
        claims.note_failure(name, file, reason)
    return Outcome(name, "failed", reason)


def _worker(prepare: Callable[[], ReadPage]) -> Callable[[Task], Outcome]:
    return partial(do_page, prepare())


def do_page(read: ReadPage, task: Task) -> Outcome:
    """Load, read and write one page, in a working process."""
    page = task.page
    try:
        result = read(task.loaded or load_page(page), page.name)
        write_results(result, task.paths, task.unfinished, task.style)
    except Exception as error:
        return failed_by(error, page)
    return Outcome(page.name, "read", characters=count_characters(result))


def count_characters(page: Page) -> int:
    return sum(len(line.text) for line in page.lines)


def failed_by(error: Exception, page: SourcePage) -> Outcome:
    """What went wrong with a page, as one sentence."""
    if isinstance(error, InputError):
        return Outcome(page.name, "failed", str(error))
    if isinstance(error, MemoryError):
        return Outcome(page.name, "failed", f"{page.file}: page {page.name} does not fit into memory.")
    # A fault of ours on one page must not cost the others; it is named as what it is.
    return Outcome(page.name, "failed", f"{page.file}: {type(error).__name__}: {error}")


def load_page(page: SourcePage) -> Page:
    """The page with its pixels, named after its file."""
    return bare_page(Path(page.file).name, page.load())
