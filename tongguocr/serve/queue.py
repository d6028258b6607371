"""One reading at a time: requests in, their results out in the order in which they came, or a refusal.

Readings are done in one thread of their own, so that the server answers while it reads. A request has a place
before its body is taken, so that no more bodies lie in memory than there are places. One that takes too long,
or whose client has gone, is told to stop; work that looks at `check` now and then does.
"""

from __future__ import annotations

import asyncio
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
    """Requests beside the one that is read."""
    upload_seconds: float = 60.0
    seconds: float = 300.0
    """For one request, from its first byte to the answer, waiting included."""
    grace: float = 30.0
    """Seconds for what is being read when the server is told to end."""


class StatusError(InputError):
    """A refusal that is not simply bad input: one sentence and the HTTP status that it goes with."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass
class Deadline:
    """How long one request may still take."""

    seconds: float
    stopped: bool = False
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds; 0 or less when there is no time left."""
        return 0.0 if self.stopped else self.start + self.seconds - time.monotonic()

    def check(self) -> None:
        """Raise a StatusError when there is no time left."""
        if self.left <= 0:
            raise StatusError(504, f"Reading took longer than {self.seconds:g} seconds and was given up.")


class RequestQueue:
    """The requests of all clients: one is read, the others wait their turn."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self.pending = 0
        """Requests that have a place, the one that is read included."""
        self._pool = ThreadPoolExecutor(1, "reading")
        self._now: Deadline | None = None
        self._end = float("inf")

    @contextmanager
    def admit(self) -> Iterator[Deadline]:
        """A place in the queue, for as long as the request lasts."""
        if self.pending > self.bounds.waiting:
            raise StatusError(503, f"{self.pending} requests are waiting already; try again in a moment.")
        self.pending += 1
        deadline = Deadline(self.bounds.seconds)
        try:
            yield deadline
        finally:
            deadline.stopped = True
            self.pending -= 1

    async def run(self, work: Callable[[], T], deadline: Deadline, gone: Callable[[], Awaitable[bool]]) -> T:
        """Do the work when its turn comes, in the thread that reads; what it gives."""
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

    def check(self) -> None:
        """Raise where the work that is being done should stop; called by that work itself."""
        if now := self._now:
            now.check()

    def end_soon(self) -> None:
        """The server is told to end: give what is being read the time of `grace`, and then no more."""
        self._end = time.monotonic() + self.bounds.grace

    def close(self) -> None:
        """Begin nothing more; what is being read is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, work: Callable[[], T], deadline: Deadline) -> T:
        deadline.check()
        self._now = deadline
        try:
            return work()
        finally:
            self._now = None
