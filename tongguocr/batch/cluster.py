"""A job on a Ray cluster: the same pages, locks, files and outcomes, and the working processes anywhere.

In: the tasks of a job (run.py), which leads and locks as always. Out: each task with its outcome, once. Ray
Data brings the tasks to its actors (actor.py), on one machine or on many that see the same folders. Where
recognition has a GPU or a server, lines are found on processors first, in workers of their own (paper 3.1 and
3.2); otherwise one worker does both, and no page travels.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from tongguocr.batch.actor import PageActor, Row, Step, count_path, make_finder, make_reader
from tongguocr.batch.job import Cluster, Job, Outcome, ReadPage, Task
from tongguocr.batch.pool import WorkerFailure
from tongguocr.batch.results import one_line
from tongguocr.errors import InputError, need

WAVE = 20_000
"""Pages that are locked and handed to Ray at a time: few enough for its lists, and enough that loading the
models anew for each wave does not weigh."""
TASKS_PER_ACTOR = 2
"""Tasks that an actor has at a time, so that it need not wait for the next."""
CPUS_PER_SERVER_WORKER = 4
"""So many processors find the lines for one worker that asks a server."""
CONNECT_TIMEOUT = 30.0
"""Seconds for a cluster to answer."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of worker: what it does, how many there are, and what each takes."""

    step: Step
    min_workers: int
    max_workers: int
    cpus: float
    gpus: float = 0.0


class ClusterPool:
    """Runs tasks as `Pool` does, on a cluster; nothing is started before there is a task."""

    def __init__(self, prepare: Callable[[], ReadPage], job: Job, cluster: Cluster) -> None:
        need("Reading on a Ray cluster", "ray", "ray", "pyarrow")
        self.read = partial(make_reader, prepare)
        self.time_limit, self.cluster = job.time_limit, cluster
        self._open = ExitStack()
        self._ray: Any = None

    def __enter__(self) -> ClusterPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Outcome | WorkerFailure]]:
        """Each task with its outcome, once, in whichever order they come."""
        waiting = iter(tasks)
        while wave := list(islice(waiting, WAVE)):
            yield from self._run(wave)

    def _run(self, wave: Sequence[Task]) -> Iterator[tuple[Task, Outcome | WorkerFailure]]:
        left = dict(enumerate(wave))
        for row in self._rows(wave):
            if row["state"] == "refused":
                raise InputError(row["reason"])
            # A task that was done twice is gone from here the second time.
            if (task := left.pop(row["number"], None)) is not None:
                with suppress(OSError):
                    count_path(task.page.name, task.unfinished).unlink(missing_ok=True)
                if row["state"] == "lost":
                    yield task, WorkerFailure(row["reason"])
                else:
                    told = (row[key] for key in ("state", "reason", "characters", "warning", "disk_full"))
                    yield task, Outcome(task.page.name, *told)
        for task in left.values():
            yield task, WorkerFailure("was lost by the cluster")

    def _rows(self, wave: Sequence[Task]) -> Iterator[Row]:
        """A row for each task that was processed, as Ray Data brings them."""
        if self._ray is None:
            self._ray = self._connect(len(wave))
        ray = self._ray
        rows = [{"number": k, "task": pickle.dumps(task)} for k, task in enumerate(wave)]
        try:
            stages = plan(self.cluster, self.read, len(wave), ray.cluster_resources())
            # A page to a block: it is what is handed out, and what is done again after a death.
            data = ray.data.from_items(rows, override_num_blocks=len(rows))
            for stage in stages:
                data = self._add_stage(data, stage)
            yield from data.iter_rows()
        except InputError:
            raise
        except Exception as error:
            # Whatever Ray raises, and that is much: the job ends, and what is done stays.
            raise InputError(f"The Ray cluster gave up: {_last_line(error)}") from None

    def _add_stage(self, data: Any, stage: Stage) -> Any:
        pool = self._ray.data.ActorPoolStrategy(
            min_size=stage.min_workers,
            max_size=stage.max_workers,
            max_tasks_in_flight_per_actor=TASKS_PER_ACTOR,
        )
        return data.map_batches(
            PageActor,
            fn_constructor_args=(stage.step, self.time_limit, str(Path.cwd()), socket.gethostname()),
            compute=pool,
            batch_size=1,
            batch_format="pyarrow",
            num_cpus=stage.cpus,
            num_gpus=stage.gpus or None,
        )

    def _connect(self, tasks: int) -> Any:
        """Ray, connected or started. It tells its makers nothing, and what it prints is left to its logs."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        ray: Any = import_module("ray")
        self._open.enter_context(_discard_stdout())
        self._open.callback(ray.shutdown)
        address = self.cluster.address
        own = {"num_cpus": local_cpus(self.cluster, tasks), "include_dashboard": False}
        try:
            if address:
                _probe(address)
            with _discard_stderr(), _keep_signals():
                ray.init(
                    address=address or "local",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **({} if address else own),
                )
        except Exception as error:
            # Ray has no error of its own for this: ConnectionError, ValueError, RuntimeError … by address.
            where = f"{address}: no Ray cluster answers there" if address else "No Ray cluster can be started"
            raise InputError(f"{where} ({_last_line(error)}).") from None
        import_module("ray.data")
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        return ray


def local_cpus(cluster: Cluster, tasks: int) -> int:
    """Processors of a cluster of our own: those of this machine, or more if more workers are asked for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cluster.workers or 1, tasks) if cluster.find is None else 1
    return max(cores, workers * cluster.threads)


def plan(cluster: Cluster, read: Step, tasks: int, resources: dict[str, float]) -> list[Stage]:
    """The kinds of workers for so many tasks, in what the cluster has."""
    cpus, gpus = int(resources.get("CPU", 0)), resources.get("GPU", 0.0)
    if cluster.threads > cpus or cluster.gpus_each > gpus:
        raise InputError(f"The Ray cluster has {cpus} processors and {gpus:g} GPUs: too few for a worker.")
    if cluster.find is None:
        workers = min(cluster.workers or cpus // cluster.threads, tasks)
        return [Stage(read, workers, workers, cluster.threads)]
    room = int(gpus / cluster.gpus_each) if cluster.gpus_each else max(cpus // CPUS_PER_SERVER_WORKER, 1)
    workers = min(cluster.workers or room, tasks)
    # A worker with a GPU or a server reserves no processor, or there might be none; about one is left to it.
    finders = min(max((cpus - workers) // cluster.threads, 1), tasks)
    find = Stage(partial(make_finder, cluster.find), 1, finders, cluster.threads)
    return [find, Stage(read, workers, workers, 0, cluster.gpus_each)]


def _probe(address: str) -> None:
    """See whether a cluster answers, in a process that can be ended: Ray may wait without end."""
    program = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)"
    command = [sys.executable, "-c", program, address]
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_TIMEOUT, check=True)
    except subprocess.TimeoutExpired:
        raise ConnectionError(f"not within {CONNECT_TIMEOUT:g} seconds") from None
    except subprocess.CalledProcessError as error:
        raise ConnectionError(error.stderr) from None


@contextmanager
def _discard_stdout() -> Iterator[None]:
    """Nothing on standard output: Ray's threads print there."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield


@contextmanager
def _discard_stderr() -> Iterator[None]:
    """Nothing on standard error, past Python too: Ray's core greets there. What matters, it raises."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _keep_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself and dies of it; a job that is asked to end does so in order."""
    kept = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, kept)


def _last_line(error: BaseException) -> str:
    """The last line of an error of Ray's: before it stand other processes' tracebacks."""
    lines = [one_line(line).strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300].rstrip(".") if lines else type(error).__name__
