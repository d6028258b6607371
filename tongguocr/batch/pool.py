"""Processes that work through tasks: one that dies or takes too long costs its task, and is replaced.

In: what makes the working function (called once in every process: models are loaded there), and tasks. Out:
each task with its result, or with the reason why it has none, as they come. Every process has a pipe of its
own and one task at a time, so that it is always known whose fault a death is.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from time import monotonic
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from tongguocr.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")
Prepare: TypeAlias = Callable[[], Callable[[Task], Result]]
"""Makes the working function; it is sent to the processes, so it must be a function of a module."""

START_LIMIT = 600.0
"""Seconds until a process must have loaded its models."""
LONGEST_WAIT = 3600.0
"""Seconds; a limit without end is allowed, and no system can wait for that."""
GRACE = 10.0
"""Seconds for a killed process to go. One that hangs in a lost network drive does not, and is left behind."""
FALSE_STARTS = 3
"""So many processes in a row may die while they load; then the job is given up."""
MANY = 8
"""More processes than this are started only if they are asked for: each takes half a gigabyte."""


def share_cores(tasks: int, workers: int | None = None, threads: int | None = None) -> tuple[int, int]:
    """How many processes, and threads in each: one a core with one thread reads most."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers or max(min(cores // (threads or 1), MANY), 1), max(tasks, 1))
    return workers, threads or max(cores // workers, 1)


@dataclass(frozen=True, slots=True)
class Lost:
    """A task without a result."""

    reason: str
    """What became of it, to stand behind "it": "took longer than 300 seconds"."""


class Pool(Generic[Task, Result]):
    """A few processes, started when there is work for them and kept until the end."""

    def __init__(self, prepare: Prepare[Task, Result], workers: int, time_limit: float) -> None:
        self.prepare, self.most, self.time_limit = prepare, workers, time_limit
        self.workers: list[_Worker] = []
        self.false_starts = 0

    def __enter__(self) -> Pool[Task, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | Lost]]:
        """All tasks; the next one is asked for only when there is a process free for it."""
        waiting = iter(tasks)
        left = True
        while left or any(worker.busy for worker in self.workers):
            while left and (worker := self._free()) is not None:
                task = next(waiting, self)
                if isinstance(task, Pool):
                    left = False
                else:
                    self._give(worker, task)
            yield from self._collect()

    def _free(self) -> _Worker | None:
        """A process without a task, a new one while there may be more."""
        idle = next((worker for worker in self.workers if not worker.busy), None)
        if idle is None and len(self.workers) < self.most:
            # Not started before it has a task: a job with nothing to do loads no models.
            idle = _Worker(self.prepare, self.time_limit)
            self.workers.append(idle)
        return idle

    def _give(self, worker: _Worker, task: Task) -> None:
        while not worker.give(task):
            # It died while it had nothing to do.
            worker = self._replace(worker)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.end()
        new = _Worker(self.prepare, self.time_limit)
        self.workers[self.workers.index(worker)] = new
        return new

    def _collect(self) -> Iterator[tuple[Task, Result | Lost]]:
        """What has come by now, or comes first."""
        busy = [worker for worker in self.workers if worker.busy]
        if not busy:
            return
        patience = min(max(min(worker.deadline for worker in busy) - monotonic(), 0.0), LONGEST_WAIT)
        heard = wait([worker.pipe for worker in busy], patience)
        for worker in busy:
            if worker.pipe in heard:
                yield from self._hear(worker)
            elif monotonic() >= worker.deadline:
                yield from self._lose(worker, f"took longer than {worker.limit:g} seconds and was given up")

    def _hear(self, worker: _Worker) -> Iterator[tuple[Task, Result | Lost]]:
        try:
            word, value = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._lose(worker, f"ended the process that read it ({worker.epitaph()})")
            return
        if word == "refused":
            raise InputError(value)
        if word == "ready":
            self.false_starts = 0
            worker.begin()
        else:
            task = worker.task
            worker.task, worker.busy = None, False
            yield task, value

    def _lose(self, worker: _Worker, reason: str) -> Iterator[tuple[Task, Result | Lost]]:
        """A process is gone with its task; one that was still loading did not die of it."""
        task = worker.task
        new = self._replace(worker)
        if worker.ready:
            yield task, Lost(reason)
            return
        self.false_starts += 1
        if self.false_starts >= FALSE_STARTS:
            raise InputError(f"No process that reads can be started ({worker.epitaph()}).")
        self._give(new, task)


class _Worker:
    """One process, seen from outside."""

    def __init__(self, prepare: Prepare[Any, Any], time_limit: float) -> None:
        # Fresh processes, on every system: a forked one may inherit a lock that a thread of ours held.
        context = get_context("spawn")
        self.pipe: Connection[Any, Any]
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, prepare), daemon=True)
        self.process.start()
        theirs.close()
        self.time_limit, self.limit = time_limit, START_LIMIT
        self.deadline = monotonic() + self.limit
        self.ready = self.busy = False
        self.task: Any = None

    def give(self, task: Any) -> bool:
        """Whether the process took the task."""
        try:
            self.pipe.send(task)
        except OSError:
            return False
        self.task, self.busy = task, True
        if self.ready:
            self.begin()
        return True

    def begin(self) -> None:
        """The task's time runs from here."""
        self.ready, self.limit = True, self.time_limit
        self.deadline = monotonic() + self.limit

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join(GRACE)

    def epitaph(self) -> str:
        """How the process ended, in words."""
        self.process.join(GRACE)
        code = self.process.exitcode or 0
        if code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name
        return f"{name}, perhaps for want of memory" if name == "SIGKILL" else name


def _serve(pipe: Connection[Any, Any], prepare: Prepare[Any, Any]) -> None:
    """The process's own life: load, then one task after the other until the pipe is closed."""
    _stand_alone()
    try:
        work = prepare()
    except InputError as error:
        pipe.send(("refused", str(error)))
        return
    except Exception as error:
        pipe.send(
            ("refused", f"Reading cannot begin: {type(error).__name__}: {' '.join(str(error).split())}")
        )
        return
    pipe.send(("ready", None))
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(("done", work(task)))


def _stand_alone() -> None:
    # Ctrl-C reaches every process of a terminal; the one that leads the job decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Image libraries complain on standard error, past Python; what matters goes through the pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End at once when the leading process is gone, however it went: its page is no longer ours."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
