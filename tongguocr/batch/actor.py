"""What works on a machine of a Ray cluster: an actor, and the process that it keeps.

In: rows of a table, each with a task of a job (job.py). Out: the rows, each with the task as it goes on to
the next kind of actor, or with what became of it. An actor does not read itself: it keeps one process that
does (pool.py), so that a page that brings it down or hangs costs no more than that page, as in a job without
Ray. If an actor or its machine is lost, Ray starts it anew and gives it its task again; what is done stays
done.
"""

from __future__ import annotations

import os
import pickle
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from tongguocr.batch.job import (
    Outcome,
    ReadPage,
    Task,
    count_characters,
    failure_outcome,
    process_page,
)
from tongguocr.batch.locks import hashed_name
from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.batch.results import missing
from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.page import Page

Row: TypeAlias = dict[str, Any]
"""A task on its way through the cluster; with a state, it is done."""
Step: TypeAlias = Callable[[], Callable[[Task], Task | Outcome]]
"""Opens what an actor's process does; a function of a module, as it is sent there."""

TRIES = 2
"""A page whose process ended is tried again: where others work too, it may have been their fault."""


class PageActor:
    """A Ray actor: it keeps one process, gives it task after task, and outlives what a page does to it."""

    def __init__(self, step: Step, time_limit: float, folder: str, leader: str) -> None:
        # Paths may be relative to where the command was given.
        with suppress(OSError):
            os.chdir(folder)
        here = socket.gethostname()
        self.where = "" if here == leader else f" (on {here})"
        # Should Ray believe an actor dead that is not, two may write one page; never into one file.
        self.name = secrets.token_hex(8)
        self.time_limit = time_limit
        self.pool = Pool[Task, Task | Outcome](step, 1, time_limit)

    def __call__(self, table: Any) -> Any:
        """A table of rows in, one out; pyarrow's, as Ray Data keeps them."""
        arrow: Any = import_module("pyarrow")
        kinds = {
            "number": arrow.int64(),
            "task": arrow.large_binary(),
            "state": arrow.string(),
            "reason": arrow.string(),
            "characters": arrow.int64(),
            "warning": arrow.string(),
            "disk_full": arrow.bool_(),
        }
        rows = [self.process(row) for row in table.to_pylist()]
        return arrow.Table.from_pylist(rows, arrow.schema(kinds))

    def process(self, row: Row) -> Row:
        """The row with the task as this kind of actor leaves it, or with what became of it."""
        if row.get("state"):
            return row
        told = {"state": "", "reason": "", "characters": 0, "warning": "", "disk_full": False}
        result_row: Row = {"number": row["number"], "task": None, **told}
        try:
            result = self._run_task(pickle.loads(row["task"]))
        except InputError as error:
            return result_row | {"state": "refused", "reason": f"{str(error).rstrip('.')}{self.where}."}
        if isinstance(result, Task):
            return result_row | {"task": pickle.dumps(result, protocol=5)}
        if isinstance(result, WorkerFailure):
            return result_row | {"state": "lost", "reason": result.reason + self.where}
        return result_row | {
            "state": result.state,
            "reason": result.reason.encode(errors="replace").decode(),
            "characters": result.characters,
            "warning": result.warning,
            "disk_full": result.disk_full,
        }

    def _run_task(self, task: Task) -> Task | Outcome | WorkerFailure:
        if not task.unfinished.is_dir():
            out = task.unfinished.parent.parent
            raise InputError(f"{out}: it is not there; all machines of a cluster must see the same folders")
        folder = task.unfinished / self.name
        make_folder(folder)
        for _ in range(TRIES):
            start = monotonic()
            ((_, result),) = self.pool.run([replace(task, unfinished=folder)])
            if not isinstance(result, WorkerFailure) or monotonic() - start >= self.time_limit:
                break
        # The folder is this actor's own; the next one has another.
        return replace(result, unfinished=task.unfinished) if isinstance(result, Task) else result


def make_finder(prepare: Callable[[], ReadPage]) -> Callable[[Task], Task | Outcome]:
    """What an actor's process does that finds lines: the task, with its page loaded and the lines on it."""
    return partial(_find, prepare())


def _find(find: ReadPage, task: Task) -> Task | Outcome:
    try:
        return replace(task, loaded=find(task.page.load_page(), task.page.name))
    except Exception as error:
        return failure_outcome(error, task.page)


def make_reader(prepare: Callable[[], ReadPage]) -> Callable[[Task], Task | Outcome]:
    """What an actor's process does that reads: the page's files, and its outcome."""
    return partial(_read, prepare())


def _read(read: ReadPage, task: Task) -> Outcome:
    """Read what is missing: if an actor died after its last file was in place, nothing is."""
    record = count_path(task.page.name, task.unfinished.parent)
    if not (lacking := missing(task.paths)):
        count, warning = _recorded(record)
        return Outcome(task.page.name, "read", "", count, warning)

    def read_and_record(page: Page, name: str) -> Page:
        result = read(page, name)
        # Before the files, so that it is there if they are.
        write_bytes(f"{count_characters(result)} {' '.join(result.warnings)}".encode(), record)
        return result

    return process_page(read_and_record, replace(task, paths=lacking))


def count_path(name: str, unfinished: Path) -> Path:
    """The file with what is to be told of a page, there until the leading process has the outcome."""
    return unfinished / f"{hashed_name(name)}.characters"


def _recorded(record: Path) -> tuple[int, str]:
    """The number of a page's characters, and what is said against it."""
    try:
        count, _, warning = record.read_text(encoding="utf-8").partition(" ")
        return int(count), warning
    except (OSError, ValueError):
        return 0, ""
