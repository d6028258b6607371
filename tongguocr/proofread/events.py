"""What happens, told to all who listen: events in from any thread, a stream of them out for each browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

from tongguocr.proofread.models import Event

HEARTBEAT = 15.0
"""Seconds after which something is said even if nothing happens, so that nobody takes the line for dead."""
MAX_WAITING = 10_000
"""Events that one listener may leave unheard; then its line is cut, and it begins anew."""


class Events:
    """Hands events on to everybody who listens."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Queue[str | None], asyncio.AbstractEventLoop] = {}
        self._closed = False

    def tell(self, event: Event) -> None:
        """Tell everybody; from any thread."""
        data = f"data: {event.model_dump_json(exclude_none=True)}\n\n"
        with self._lock:
            for queue, loop in self._listeners.items():
                loop.call_soon_threadsafe(_put, queue, data)

    def close(self) -> None:
        """End all streams."""
        with self._lock:
            self._closed = True
            for queue, loop in self._listeners.items():
                loop.call_soon_threadsafe(_put, queue, None)

    async def stream(self) -> AsyncIterator[str]:
        """The events from now on, as a browser's EventSource wants them."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING)
        with self._lock:
            if self._closed:
                return
            self._listeners[queue] = asyncio.get_running_loop()
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    data = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if data is None:
                    return
                yield data
        finally:
            with self._lock:
                self._listeners.pop(queue, None)


def _put(queue: asyncio.Queue[str | None], data: str | None) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        data = None
    queue.put_nowait(data)
