"""Jobs: whole books that are read page by page, in a folder where every page that is done stays.

A job is a folder of the store: `source/` with the file as it came, `pages/` with our JSON (and what is to be
said of it) or one sentence for each page that is done, `job.json` with the rest, written last: a folder
without it is an upload that broke off. So nothing but the files says how far a job is, and a server that
starts with the same folder goes on where the last one ended. Between jobs pages take turns.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.files import make_folder, read_bytes, write_bytes
from tongguocr.formats.page_json import load_json, render_json
from tongguocr.layout import WritingMode
from tongguocr.serve.bounded import list_source, load_page, without_folder
from tongguocr.serve.models import Models
from tongguocr.serve.observe import Metrics
from tongguocr.serve.queue import Bounds, RequestQueue, StatusError
from tongguocr.serve.workers import Readers
from tongguocr.sources import SourcePage

SOURCE, PAGES, ABOUT = "source", "pages", "job.json"
ERROR, WARNING = ".error", ".warning"
"""Instead of a page's JSON, the sentence why there is none; beside it, what is to be said of the page."""
FAULT = "The server made a mistake with this page; its log says more."


@dataclass(frozen=True, slots=True)
class JobOptions:
    """How the pages of a job are read."""

    direction: WritingMode | None = None
    turn: bool | None = None
    password: str | None = field(default=None, repr=False)
    """Of its PDF, which is opened anew for each page, also by a server that starts again."""


@dataclass
class Job:
    """One book, and how far it is; pages count from 1."""

    id: str
    folder: Path
    name: str
    options: JobOptions
    names: tuple[str, ...]
    """What the results of each page are called."""
    created: float
    finished: float | None = None
    """When its last page was done, or it was cancelled."""
    cancelled: bool = False
    done: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    """Pages that were not read, and why."""
    warnings: dict[int, str] = field(default_factory=dict)
    """What is to be said of pages that were read: they have no text, or text that should not be trusted."""
    waiting: deque[int] = field(default_factory=deque)
    reading: set[int] = field(default_factory=set)
    sources: tuple[SourcePage, ...] = ()
    """Its pages as they can be loaded; empty until somebody asks."""

    @property
    def state(self) -> str:
        """waiting, reading, done or cancelled."""
        if self.finished is not None:
            return "cancelled" if self.cancelled else "done"
        return "reading" if self.done or self.failed or self.reading else "waiting"

    @property
    def complete(self) -> bool:
        """Whether each page has been read or has failed."""
        return len(self.done) + len(self.failed) == len(self.names)

    def result(self, number: int) -> Path:
        """The file of a page that was read."""
        return self.folder / PAGES / f"{number:05d}.json"

    def source(self, number: int, bounds: Bounds) -> SourcePage:
        """A page as it came; touches the disk the first time."""
        self.sources = self.sources or list_source(self.folder / SOURCE, bounds, self.options.password)
        return self.sources[number - 1]

    def save(self) -> None:
        """Write what the files of pages do not say."""
        about = {
            "name": self.name,
            "options": asdict(self.options),
            "pages": self.names,
            "created": self.created,
            "finished": self.finished,
            "cancelled": self.cancelled,
        }
        write_bytes(json.dumps(about, ensure_ascii=False).encode(), self.folder / ABOUT)


def load_job(folder: Path) -> Job:
    """The job in a folder of the store; what was being read when the server ended waits again."""
    path = folder / ABOUT
    about: Any = load_json(read_bytes(path), path)
    try:
        names, options = tuple(map(str, about["pages"])), JobOptions(**about["options"])
        job = Job(folder.name, folder, about["name"], options, names, about["created"], about["finished"])
        job.cancelled = bool(about["cancelled"])
    except (KeyError, TypeError):
        raise InputError(f"{path}: this is not a job of this server.") from None
    for number in range(1, len(names) + 1):
        if job.result(number).exists():
            job.done.add(number)
            if warning := _read_sentence(job.result(number).with_suffix(WARNING)):
                job.warnings[number] = warning
        elif sentence := _read_sentence(job.result(number).with_suffix(ERROR)):
            job.failed[number] = sentence
        elif job.finished is None:
            job.waiting.append(number)
    return job


def _read_sentence(path: Path) -> str:
    return read_bytes(path).decode(errors="replace") if path.exists() else ""


class JobStore:
    """All jobs of a server, in a folder."""

    def __init__(
        self, folder: Path, bounds: Bounds = Bounds(), clock: Callable[[], float] = time.time
    ) -> None:
        self.folder, self.bounds, self.clock = folder, bounds, clock
        make_folder(folder)
        self.jobs: dict[str, Job] = {}
        for entry in sorted(folder.iterdir()):
            if (entry / ABOUT).is_file():
                self.jobs[entry.name] = load_job(entry)
            elif (entry / SOURCE).is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        self.sweep()

    @property
    def unfinished(self) -> list[Job]:
        """Jobs with pages that are to be read."""
        return [job for job in self.jobs.values() if job.finished is None]

    def count(self, state: str) -> int:
        """How many jobs are in a state."""
        return sum(job.state == state for job in self.jobs.values())

    def refuse_if_full(self) -> None:
        """Raise a StatusError while there is no room for another job."""
        if len(self.unfinished) >= self.bounds.jobs:
            raise StatusError(503, f"{self.bounds.jobs} jobs are waiting already; try again later.")

    def new_folder(self) -> Path:
        """A folder for a job that is coming, with a place for its file."""
        folder = self.folder / secrets.token_hex(16)
        make_folder(folder / SOURCE)
        make_folder(folder / PAGES)
        return folder

    def add(self, folder: Path, name: str, options: JobOptions, sources: tuple[SourcePage, ...]) -> Job:
        """A job of these pages, whose file lies in its folder already."""
        names = tuple(page.name for page in sources)
        job = Job(folder.name, folder, name, options, names, self.clock(), sources=sources)
        job.waiting.extend(range(1, len(names) + 1))
        job.save()
        self.jobs[job.id] = job
        return job

    def find(self, id: str) -> Job:
        """The job of this name."""
        self.sweep()
        if id not in self.jobs:
            raise StatusError(404, "There is no such job here; its results may have been kept long enough.")
        return self.jobs[id]

    def keep(self, job: Job, number: int, answer: bytes | str, warning: str = "") -> None:
        """A page is done: our JSON, or the sentence why there is none. Of a cancelled job nothing is kept."""
        if job.finished is not None:
            return
        path = job.result(number)
        if isinstance(answer, bytes):
            if warning:
                write_bytes(warning.encode(), path.with_suffix(WARNING))
            write_bytes(answer, path)
            job.done.add(number)
            job.warnings |= {number: warning} if warning else {}
        else:
            write_bytes(answer.encode(), path.with_suffix(ERROR))
            job.failed[number] = answer
        if job.complete:
            job.finished = self.clock()
            job.save()

    def give_up(self, job: Job, number: int, sentence: str) -> None:
        """What was read of a page cannot be kept: until the server starts again, it counts as failed."""
        job.failed[number] = sentence
        if job.complete:
            job.finished = self.clock()

    def cancel(self, job: Job) -> None:
        """Read no more of it; what has been read stays."""
        job.finished, job.cancelled = self.clock(), True
        job.waiting.clear()
        job.save()

    def remove(self, job: Job) -> None:
        """The job with all its files."""
        del self.jobs[job.id]
        shutil.rmtree(job.folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove jobs that have been finished for as long as they are kept."""
        oldest = self.clock() - self.bounds.job_kept_seconds
        for job in [job for job in self.jobs.values() if (job.finished or oldest) < oldest]:
            self.remove(job)


class JobReader:
    """Reads the pages of all jobs, as many at a time as there are workers."""

    def __init__(self, store: JobStore, readers: Readers, queue: RequestQueue, metrics: Metrics) -> None:
        self.store, self.readers, self.queue, self.metrics = store, readers, queue, metrics
        self._turns = deque(store.unfinished)
        self._wake = asyncio.Event()

    def add(self, job: Job) -> None:
        """Read this job as well."""
        self._turns.append(job)
        self._wake.set()

    async def run(self) -> None:
        """Read until cancelled."""
        await asyncio.gather(*(self._work() for _ in range(self.queue.workers)))

    async def _work(self) -> None:
        while not self.queue.ending:
            while (found := self._next()) is None:
                self._wake.clear()
                await self._wake.wait()
            job, number = found
            job.reading.add(number)
            try:
                await self._read(job, number)
            finally:
                job.reading.discard(number)

    def _next(self) -> tuple[Job, int] | None:
        """The next page of the job whose turn it is; jobs without any are left out."""
        while self._turns:
            job = self._turns.popleft()
            if job.waiting:
                self._turns.append(job)
                return job, job.waiting.popleft()
        return None

    async def _read(self, job: Job, number: int) -> None:
        async def is_cancelled() -> bool:
            return job.finished is not None

        def work() -> tuple[bytes, str]:
            page = job.source(number, self.store.bounds)
            return self.readers.call(read_job_page, page, job.options, self.store.bounds)

        answer: bytes | str
        warning = ""
        try:
            with self.metrics.reading():
                answer, warning = await self.queue.run_page(work, is_cancelled)
        except InputError as error:
            if self.queue.ending or job.finished is not None:
                return
            answer = without_folder(str(error), job.folder / SOURCE)
        except Exception:
            traceback.print_exc()
            answer = FAULT
        try:
            self.store.keep(job, number, answer, warning)
        except InputError as error:
            # The disk is full, say: whoever runs the server must know, and the next start tries again.
            print(f"tongguocr: {error}", file=sys.stderr, flush=True)
            self.store.give_up(job, number, "The server could not keep what was read of this page.")


def read_job_page(
    models: Models, source: SourcePage, options: JobOptions, bounds: Bounds
) -> tuple[bytes, str]:
    """A page of a job, in our JSON, and what is to be said of it."""
    page = models.read(load_page(source, bounds), None, options.direction, options.turn)
    return render_json(page), " ".join(page.warnings)
