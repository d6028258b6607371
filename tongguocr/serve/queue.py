"""As many readings at a time as there are workers: requests in, results in the order of coming, or a refusal.

Readings are done in threads of their own (each of which may lead a process), so that the server answers while
it reads. A request has its place once its body is there: a client that drips one keeps nobody waiting, and
what all bodies together take is bounded by a `Budget`. A reading that takes too long, or whose client has
gone, is told to stop; work that looks at `check` now and then does.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from tongguocr.errors import InputError

T = TypeVar("T")

POLL_SECONDS = 0.25
"""Seconds between two looks whether the client is still there."""
RETRY_AFTER = 2
"""Seconds after which a refused client may ask again."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one client may ask for, and all of them together."""

    body: int = 32_000_000
    """Bytes of a request."""
    pixels: int = 40_000_000
    lines: int = 2000
    """Of a page that comes with its lines."""
    tokens: int = 4096
    """Of a completion, where the client does not want fewer."""
    waiting: int = 32
    """Requests beside those that are read."""
    incoming: int = 1_056_000_000
    """Bytes of all bodies that are coming in, wait or are read: as many as 33 of the largest."""
    connections: int = 2000
    """Open at a time, as far as the system gives so many files to a process."""
    header_seconds: float = 10.0
    """From a connection's first moment, or a request's first byte, to the end of its headers."""
    upload_seconds: float = 60.0
    """For a body to arrive; and for a client to take any bit of an answer that is under way."""
    seconds: float = 300.0
    """For one request, from its first byte to the answer, waiting included."""
    grace: float = 30.0
    """Seconds for what is being read when the server is told to end."""
    jobs: int = 32
    """Jobs that are not finished yet."""
    job_body: int = 1_000_000_000
    """Bytes of a job's file, which lies on the disk."""
    job_unpacked: int = 4_000_000_000
    """Bytes of the images in a job's ZIP file."""
    job_incoming: int = 4_000_000_000
    """Bytes of all jobs' files that are coming in."""
    job_pages: int = 10_000
    job_upload_seconds: float = 1800.0
    job_kept_seconds: float = 7 * 86_400.0
    """How long a job and its results are kept after its last page."""


class StatusError(InputError):
    """A refusal that is not simply bad input: one sentence and the HTTP status that it goes with."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass
class Deadline:
    """How long one request may still take."""

    seconds: float
    """`math.inf` for pages of jobs: their time runs when they are begun."""
    stopped: bool = False
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds; 0 or less when there is no time left."""
        return 0.0 if self.stopped else self.start + self.seconds - time.monotonic()

    def begin(self, seconds: float) -> None:
        """From now on there are so many seconds."""
        self.seconds, self.start = seconds, time.monotonic()

    def check(self) -> None:
        """Raise a StatusError when there is no time left."""
        if self.left <= 0:
            raise StatusError(504, f"Reading took longer than {self.seconds:g} seconds and was given up.")


class Budget:
    """Bytes that all clients together may have the server hold."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0

    @contextmanager
    def account(self) -> Iterator[Callable[[int], None]]:
        """What takes bytes for one request, or refuses to; they are given back when it ends."""
        mine = 0

        def take(count: int) -> None:
            nonlocal mine
            if self.used + count > self.limit:
                raise StatusError(503, "Too much is coming in at once; try again in a moment.")
            self.used += count
            mine += count

        try:
            yield take
        finally:
            self.used -= mine


class RequestQueue:
    """The requests of all clients: some are read, one for each worker, the others wait their turn."""

    def __init__(self, bounds: Bounds = Bounds(), workers: int = 1) -> None:
        self.bounds, self.workers = bounds, workers
        self.pending = 0
        """Requests that have a place, those that are read included."""
        self.incoming = Budget(bounds.incoming)
        self._pool = ThreadPoolExecutor(workers, "reading")
        self._thread = threading.local()
        self._end = math.inf

    @property
    def ending(self) -> bool:
        """Whether the server is told to end."""
        return self._end < math.inf

    def refuse_if_full(self) -> None:
        """Raise a StatusError while there is no place."""
        if self.pending >= self.bounds.waiting + self.workers:
            raise StatusError(503, f"{self.pending} requests are waiting already; try again in a moment.")

    @contextmanager
    def admit(self, deadline: Deadline | None = None) -> Iterator[Deadline]:
        """A place in the queue, for as long as the request lasts; its time may run already."""
        self.refuse_if_full()
        self.pending += 1
        deadline = deadline or Deadline(self.bounds.seconds)
        try:
            yield deadline
        finally:
            deadline.stopped = True
            self.pending -= 1

    async def run(self, work: Callable[[], T], deadline: Deadline, gone: Callable[[], Awaitable[bool]]) -> T:
        """Do the work when its turn comes, in a thread that reads; what it gives."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._run, work, deadline)
        try:
            while not (await asyncio.wait({future}, timeout=max(min(POLL_SECONDS, deadline.left), 0.0)))[0]:
                deadline.check()
                if time.monotonic() > self._end:
                    raise StatusError(503, "The server is going down.")
                if await gone():
                    raise StatusError(499, "The client has gone.")
        finally:
            # Work that has begun cannot be cancelled; its deadline is stopped when its place is given up.
            future.cancel()
        return future.result()

    async def run_page(self, work: Callable[[], T], gone: Callable[[], Awaitable[bool]]) -> T:
        """Do the work of a job's page, whose time runs from when its turn has come."""
        deadline = Deadline(math.inf)

        def begun() -> T:
            deadline.begin(self.bounds.seconds)
            return work()

        try:
            return await self.run(begun, deadline, gone)
        finally:
            deadline.stopped = True

    def check(self) -> None:
        """Raise where the work that is being done should stop; called by that work itself, in its thread."""
        now: Deadline | None = getattr(self._thread, "now", None)
        if now:
            now.check()

    def end_soon(self) -> None:
        """The server is told to end: give what is being read the time of `grace`, and then no more."""
        self._end = min(self._end, time.monotonic() + self.bounds.grace)

    def close(self) -> None:
        """Begin nothing more; what is being read is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, work: Callable[[], T], deadline: Deadline) -> T:
        deadline.check()
        self._thread.now = deadline
        try:
            return work()
        except StopIteration as error:
            # asyncio passes this one on to nobody: who waits for it would wait until the time is over.
            raise RuntimeError("The work ended in a StopIteration.") from error
        finally:
            self._thread.now = None
