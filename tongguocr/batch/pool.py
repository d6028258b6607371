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
from multiprocessing.process import BaseProcess
from time import monotonic
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from tongguocr.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")
Prepare: TypeAlias = Callable[[], Callable[[Task], Result]]
"""Makes the working function; it is sent to the processes, so it must be a function of a module."""

START_TIMEOUT = 600.0
"""Seconds until a process must have loaded its models."""
MAX_WAIT = 3600.0
"""Seconds; a limit without end is allowed, and no system can wait for that."""
KILL_TIMEOUT = 10.0
"""Seconds for a killed process to go. One that hangs in a lost network drive does not, and is left behind."""
MAX_FAILED_STARTS = 3
"""So many processes in a row may die while they load; then the job is given up."""
DEFAULT_MAX_WORKERS = 8
"""More processes than this are started only if they are asked for: each takes half a gigabyte."""


def share_cores(tasks: int, workers: int | None = None, threads: int | None = None) -> tuple[int, int]:
    """How many processes, and threads in each: one a core with one thread reads most."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers or max(min(cores // (threads or 1), DEFAULT_MAX_WORKERS), 1), max(tasks, 1))
    return workers, threads or max(cores // workers, 1)


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """A task without a result: its process died, or took too long."""

    reason: str
    """What became of it, to stand behind "it": "took longer than 300 seconds"."""


class Pool(Generic[Task, Result]):
    """A few processes, started when there is work for them and kept until the end."""

    def __init__(self, prepare: Prepare[Task, Result], workers: int, time_limit: float) -> None:
        self.prepare, self.max_workers, self.time_limit = prepare, workers, time_limit
        self.workers: list[_Worker] = []
        self.failed_starts = 0

    def __enter__(self) -> Pool[Task, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.kill()
        self.workers.clear()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result | WorkerFailure]]:
        """Run all tasks; the next one is asked for only when there is a process free for it."""
        waiting = iter(tasks)
        left = True
        while left or any(worker.busy for worker in self.workers):
            while left and (worker := self._idle_worker()) is not None:
                task = next(waiting, self)
                if isinstance(task, Pool):
                    left = False
                else:
                    self._assign(worker, task)
            yield from self._collect()

    def _idle_worker(self) -> _Worker | None:
        """A process without a task, a new one while there may be more."""
        idle = next((worker for worker in self.workers if not worker.busy), None)
        if idle is None and len(self.workers) < self.max_workers:
            # Not started before it has a task: a job with nothing to do loads no models.
            idle = _Worker(self.prepare, self.time_limit)
            self.workers.append(idle)
        return idle

    def _assign(self, worker: _Worker, task: Task) -> None:
        while not worker.send(task):
            # It died while it had nothing to do.
            worker = self._replace(worker)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.kill()
        new = _Worker(self.prepare, self.time_limit)
        self.workers[self.workers.index(worker)] = new
        return new

    def _collect(self) -> Iterator[tuple[Task, Result | WorkerFailure]]:
        """Results that have arrived, or the first that does; workers that died or are late are replaced."""
        busy = [worker for worker in self.workers if worker.busy]
        if not busy:
            return
        timeout = min(max(min(worker.deadline for worker in busy) - monotonic(), 0.0), MAX_WAIT)
        arrived = wait([worker.pipe for worker in busy], timeout)
        for worker in busy:
            if worker.pipe in arrived:
                yield from self._receive(worker)
            elif monotonic() >= worker.deadline:
                late = f"took longer than {worker.limit:g} seconds and was given up"
                yield from self._replace_failed(worker, late)

    def _receive(self, worker: _Worker) -> Iterator[tuple[Task, Result | WorkerFailure]]:
        try:
            word, value = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._replace_failed(
                worker, f"ended the process that read it ({exit_reason(worker.process)})"
            )
            return
        if word == "refused":
            raise InputError(value)
        if word == "ready":
            self.failed_starts = 0
            worker.start_clock()
        else:
            task = worker.task
            worker.task, worker.busy = None, False
            yield task, value

    def _replace_failed(self, worker: _Worker, reason: str) -> Iterator[tuple[Task, Result | WorkerFailure]]:
        """Start a new process for one that is gone; one that was still loading did not die of its task."""
        task = worker.task
        new = self._replace(worker)
        if worker.ready:
            yield task, WorkerFailure(reason)
            return
        self.failed_starts += 1
        if self.failed_starts >= MAX_FAILED_STARTS:
            raise InputError(f"No process that reads can be started ({exit_reason(worker.process)}).")
        self._assign(new, task)


class _Worker:
    """One process, seen from outside."""

    def __init__(self, prepare: Prepare[Any, Any], time_limit: float) -> None:
        # Fresh processes, on every system: a forked one may inherit a lock that a thread of ours held.
        context = get_context("spawn")
        self.pipe: Connection[Any, Any]
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_worker_main, args=(theirs, prepare), daemon=True)
        self.process.start()
        theirs.close()
        self.time_limit, self.limit = time_limit, START_TIMEOUT
        self.deadline = monotonic() + self.limit
        self.ready = self.busy = False
        self.task: Any = None

    def send(self, task: Any) -> bool:
        """Whether the process took the task."""
        try:
            self.pipe.send(task)
        except OSError:
            return False
        self.task, self.busy = task, True
        if self.ready:
            self.start_clock()
        return True

    def start_clock(self) -> None:
        """The task's time runs from here."""
        self.ready, self.limit = True, self.time_limit
        self.deadline = monotonic() + self.limit

    def kill(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join(KILL_TIMEOUT)


def exit_reason(process: BaseProcess) -> str:
    """How a process ended, in words; it is waited for."""
    process.join(KILL_TIMEOUT)
    code = process.exitcode or 0
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}, perhaps for want of memory" if name == "SIGKILL" else name


def _worker_main(pipe: Connection[Any, Any], prepare: Prepare[Any, Any]) -> None:
    """What a worker process does: load, then one task after the other until the pipe is closed."""
    isolate(signal.SIGINT)
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


def isolate(*signals: signal.Signals) -> None:
    """Make this process one that another leads: it ends with that one.

    The signals reach every process of a terminal or of a service; the one that leads the others decides.
    """
    for one in signals:
        signal.signal(one, signal.SIG_IGN)
    # Image libraries complain on standard error, past Python; what matters goes through the pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """End at once when the leading process is gone, however it went: its page is no longer ours."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
