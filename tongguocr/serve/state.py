"""What the addresses of one server share: who reads, the queue, metrics, the key, jobs.

`make_app` puts a `State` into the app; each address finds it through its request.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from fastapi import Request

from tongguocr.serve.jobs import JobReader, JobStore
from tongguocr.serve.observe import Metrics
from tongguocr.serve.queue import Budget, RequestQueue, StatusError
from tongguocr.serve.workers import Readers

T = TypeVar("T")
LISTERS = 2
"""Files of jobs whose pages are listed at a time: one with many packed TIFFs takes a minute."""


@dataclass(frozen=True)
class Jobs:
    """Jobs, and who works on them besides the readers."""

    store: JobStore
    reader: JobReader
    incoming: Budget
    listings: RequestQueue
    pages: RequestQueue
    books: RequestQueue
    """Those who wait until the pages of a new job are listed, for a page, and for all pages of a job: each
    done by threads of its own, so that none of them is kept waiting by readings or by a large book."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read jobs meanwhile."""
        reading = asyncio.create_task(self.reader.run())
        try:
            yield
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            for queue in (self.listings, self.pages, self.books):
                queue.close()


@dataclass(frozen=True)
class State:
    """What one server has."""

    readers: Readers
    queue: RequestQueue
    metrics: Metrics
    key: str | None = None
    """What clients must have."""
    jobs: Jobs | None = None
    created: int = field(default_factory=lambda: int(time.time()))


def make_state(
    readers: Readers, queue: RequestQueue, key: str | None = None, store: JobStore | None = None
) -> State:
    """The state of a server, with metrics that tell of it; with a store, jobs are taken, too."""
    metrics = Metrics()
    metrics.watch("requests_pending", "Requests that are read or wait for it", lambda: queue.pending)
    metrics.watch("workers", "Pages that are read at a time", lambda: queue.workers)
    jobs = _make_jobs(store, readers, queue, metrics) if store is not None else None
    return State(readers, queue, metrics, key, jobs)


def _make_jobs(store: JobStore, readers: Readers, queue: RequestQueue, metrics: Metrics) -> Jobs:
    for state in ("waiting", "reading"):
        metrics.watch(f"jobs_{state}", f"Jobs that are {state}", partial(store.count, state))
    bounds, reader = queue.bounds, JobReader(store, readers, queue, metrics)
    listings, pages, books = (RequestQueue(bounds, workers) for workers in (LISTERS, 1, 1))
    return Jobs(store, reader, Budget(bounds.job_incoming), listings, pages, books)


def state_of(request: Request) -> State:
    """The state of the server that has this request."""
    state: State = request.app.state.shared
    return state


def jobs_of(request: Request) -> Jobs:
    """The jobs of the server that has this request; where there are none, nor are their addresses."""
    jobs = state_of(request).jobs
    assert jobs is not None
    return jobs


def check_key(request: Request) -> None:
    """Raise a StatusError if the client has not the key that is wanted."""
    key = state_of(request).key
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    wanted = key is None or (
        scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), key.encode())
    )
    if not wanted:
        raise StatusError(401, "This server wants a key: Authorization: Bearer KEY.")


async def receive_in_time(receiving: Awaitable[T], seconds: float) -> T:
    """What is received, if that takes no longer."""
    try:
        async with asyncio.timeout(seconds):
            return await receiving
    except TimeoutError:
        raise StatusError(408, f"The request did not arrive within {seconds:g} seconds.") from None
