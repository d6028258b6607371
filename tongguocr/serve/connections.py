"""Connections that cannot be held open for nothing: a protocol of uvicorn's with time limits and a cap.

uvicorn ends connections that are idle between requests, and no others. Here one that has no request under way
(headers that are not whole, the rest of a body that nobody reads) must get one within `header_seconds`, and a
client that takes nothing of its answer for `upload_seconds` is cut off. Bodies of requests have their time
limit where they are received (app.py). Beyond `connections` the oldest that has no request under way makes
room for a new one.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from tongguocr.serve.queue import Bounds

SPARE_FILES = 64
"""Files of a process that are not connections: libraries, temporary files, pipes to other processes."""
FEWEST = 16


def most_connections(bounds: Bounds) -> int:
    """How many connections may be open, by the bound and by what the system gives a process."""
    try:
        import resource
    except ImportError:  # Windows counts no files.
        return bounds.connections
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return bounds.connections
    return max(min(bounds.connections, files - SPARE_FILES), FEWEST)


def protocol_for(bounds: Bounds) -> type[BoundedProtocol]:
    """The protocol with these bounds, as uvicorn wants it: a class that it makes a connection of."""

    class Bounded(BoundedProtocol):
        header_seconds, stall_seconds = bounds.header_seconds, bounds.upload_seconds
        most = most_connections(bounds)
        by_age: ClassVar[dict[BoundedProtocol, None]] = {}

    return Bounded


class BoundedProtocol(H11Protocol):
    """One connection of HTTP/1.1."""

    header_seconds: float
    stall_seconds: float
    most: int
    by_age: ClassVar[dict[BoundedProtocol, None]]
    """All connections of one server, the oldest first."""
    _request_timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None
    _unsent = 0

    @property
    def busy(self) -> bool:
        """Whether a request with whole headers is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """A client has come; another goes, if there are too many."""
        super().connection_made(transport)
        if len(self.by_age) >= self.most and not self._make_room():
            transport.close()
            return
        self.by_age[self] = None
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was sent away."""
        self.by_age.pop(self, None)
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes have come, which may be a piece of anything."""
        super().data_received(data)
        if self.busy and self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def on_response_complete(self) -> None:
        """A request is answered; the next one may come, and will have to."""
        self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client takes its answer more slowly than it is given."""
        super().pause_writing()
        self._watch_answer()

    def resume_writing(self) -> None:
        """The client has taken most of what there was."""
        super().resume_writing()
        if self._answer_timer is not None:
            self._answer_timer.cancel()

    def _await_request(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
        self._request_timer = self.loop.call_later(self.header_seconds, self._end_idle)

    def _end_idle(self) -> None:
        """Close; an answer that is still on its way gets there."""
        if not self.busy:
            self.transport.close()

    def _watch_answer(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._answer_timer = self.loop.call_later(self.stall_seconds, self._end_stalled)

    def _end_stalled(self) -> None:
        """Cut off a client that has taken nothing since the last look."""
        if self.transport.get_write_buffer_size() >= self._unsent:
            self.transport.abort()
        else:
            self._watch_answer()

    def _make_room(self) -> bool:
        """Close the oldest connection without a request, or else the oldest whose body is not whole."""
        others = list(self.by_age)
        idle = (other for other in others if not other.busy)
        dripping = (other for other in others if other.busy and other.cycle.more_body)
        for other in (*islice(idle, 1), *islice(dripping, 1)):
            self.by_age.pop(other)
            other.transport.abort()
            return True
        return False

    def _cancel_timers(self) -> None:
        for timer in (self._request_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
