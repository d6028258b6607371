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

LOOK = 0.25
"""Seconds between two looks whether the client is still there."""
PATIENCE = 2
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
class Clock:
    """How long one request may still take."""

    seconds: float
    stopped: bool = False
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return 0.0 if self.stopped else self.start + self.seconds - time.monotonic()

    def check(self) -> None:
        if self.left <= 0:
            raise StatusError(504, f"Reading took longer than {self.seconds:g} seconds and was given up.")


class Turns:
    """Who reads now, and who waits."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self.held = 0
        """Requests that have a place, the one that is read included."""
        self._pool = ThreadPoolExecutor(1, "reading")
        self._now: Clock | None = None
        self._end = float("inf")

    @contextmanager
    def place(self) -> Iterator[Clock]:
        """A place in the queue, for as long as the request lasts."""
        if self.held > self.bounds.waiting:
            raise StatusError(503, f"{self.held} requests are waiting already; try again in a moment.")
        self.held += 1
        clock = Clock(self.bounds.seconds)
        try:
            yield clock
        finally:
            clock.stopped = True
            self.held -= 1

    async def take(self, work: Callable[[], T], clock: Clock, gone: Callable[[], Awaitable[bool]]) -> T:
        """What the work gives, once it is its turn."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._run, work, clock)
        try:
            while not (await asyncio.wait({future}, timeout=max(min(LOOK, clock.left), 0.0)))[0]:
                clock.check()
                if time.monotonic() > self._end:
                    raise StatusError(503, "The server is going down.")
                if await gone():
                    raise StatusError(499, "The client has gone.")
        finally:
            # Work that has begun cannot be cancelled; its clock is stopped when its place is given up.
            future.cancel()
        return future.result()

    def check(self) -> None:
        """For the work itself: raises where it should stop."""
        if now := self._now:
            now.check()

    def end_soon(self) -> None:
        """Give what is being read a little time, and then no more."""
        self._end = time.monotonic() + self.bounds.grace

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, work: Callable[[], T], clock: Clock) -> T:
        clock.check()
        self._now = clock
        try:
            return work()
        finally:
            self._now = None
