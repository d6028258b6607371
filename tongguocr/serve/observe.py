"""What the service did, for those who run it: Prometheus's metrics, and a line in the log for each request.

In: every request that passes, pages that were read. Out: the text of GET /metrics; lines of words on standard
error, if they are asked for. Addresses count by their pattern (/v1/jobs/{id}), so that no client can make
metrics grow; a log line holds neither what is behind a question mark nor a key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongguocr.errors import InputError

Log: TypeAlias = Callable[[str], None]
"""Takes a line."""
METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
METHODS = ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH")
GONE = 499
"""The status of a request whose client left before there was an answer."""


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of_request = {"labelnames": ("method", "address"), "registry": self.registry}
        self.requests = Counter(
            "tongguocr_requests",
            "Requests that were answered",
            ("method", "address", "status"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "tongguocr_request_seconds",
            "From a request's headers to the end of its answer",
            buckets=SECONDS,
            **of_request,  # type: ignore[arg-type]
        )
        self.received = Counter("tongguocr_received_bytes", "Bytes of bodies", registry=self.registry)
        self.sent = Counter("tongguocr_sent_bytes", "Bytes of answers", registry=self.registry)
        self.pages = Counter("tongguocr_pages", "Pages and pictures", ("outcome",), registry=self.registry)
        self.reading_seconds = Histogram(
            "tongguocr_reading_seconds",
            "A page or picture, waiting included",
            buckets=SECONDS,
            registry=self.registry,
        )

    def watch(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """A number that is asked for whenever somebody looks."""
        Gauge(f"tongguocr_{name}", meaning, registry=self.registry).set_function(value)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count the page that is read meanwhile, and how it went."""
        start, outcome = time.perf_counter(), "failed"
        try:
            yield
            outcome = "read"
        except InputError as error:
            outcome = "given_up" if getattr(error, "status", 400) in (GONE, 503, 504) else "refused"
            raise
        finally:
            self.pages.labels(outcome).inc()
            self.reading_seconds.observe(time.perf_counter() - start)

    def render(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)


class Observed:
    """The service with metrics and a log around it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: Log | None = None) -> None:
        self.app, self.metrics, self.log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and count."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, received, sent = time.perf_counter(), GONE, 0, 0

        async def taking() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message

        async def giving(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, taking, giving)
        except Exception:
            # Answered further out, by a sentence that says no more than this.
            status = 500
            raise
        finally:
            self._note(scope, status, received, sent, time.perf_counter() - start)

    def _note(self, scope: Scope, status: int, received: int, sent: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        address = getattr(scope.get("route"), "path", "other")
        self.metrics.requests.labels(method, address, str(status)).inc()
        self.metrics.request_seconds.labels(method, address).observe(seconds)
        self.metrics.received.inc(received)
        self.metrics.sent.inc(sent)
        if self.log is not None:
            # As it came, percent signs and all: nothing in it can end the line.
            path = scope["raw_path"].decode("ascii", "backslashreplace")
            client = (scope.get("client") or ("-",))[0]
            when = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            words = (when, client, method, path, status, received, sent, f"{seconds:.3f}")
            self.log(" ".join(map(str, words)))
