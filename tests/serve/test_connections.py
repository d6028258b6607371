"""Connections that hold back: on a loop whose clock stands still, and a few over real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from recognise_pages import make_page
from serve_models import ask, fake_models, in_thread, png
from uvicorn.server import ServerState

from tongguocr.serve.connections import FEWEST, BoundedProtocol, most_connections, protocol_for
from tongguocr.serve.queue import Bounds

HALF = b"POST /v1/read HTTP/1.1\r\nHost: x\r\nContent-"
WHOLE = b"POST /v1/read HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
BOUNDS = Bounds(header_seconds=10, upload_seconds=60, connections=FEWEST)


@dataclass
class Timer:
    """What was to be done later."""

    seconds: float
    work: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class StillLoop:
    """A loop on which nothing happens by itself."""

    timers: list[Timer] = field(default_factory=list)

    def call_later(self, seconds: float, work: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, work))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **more: Any) -> asyncio.Future[None]:
        work.close()
        return asyncio.Future(loop=_LOOP)

    def after(self, seconds: float) -> None:
        """Do what is due by then, once; what that puts off stays."""
        for timer in list(self.timers):
            if timer.seconds <= seconds and not timer.cancelled:
                timer.cancel()
                timer.work()


@dataclass
class Wire:
    """A transport that remembers how it ended."""

    ended: str = ""
    unsent: int = 0

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def is_closing(self) -> bool:
        return bool(self.ended)

    def get_extra_info(self, name: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


_LOOP = asyncio.new_event_loop()


@pytest.fixture(autouse=True, scope="module")
def end_loop() -> Iterator[None]:
    yield
    _LOOP.close()


@dataclass
class Line:
    """One server's connections."""

    kind: type[BoundedProtocol] = field(default_factory=lambda: protocol_for(BOUNDS))
    loop: StillLoop = field(default_factory=StillLoop)
    state: ServerState = field(default_factory=ServerState)

    def connect(self, *sent: bytes) -> tuple[BoundedProtocol, Wire]:
        config = uvicorn.Config(_nothing, http=self.kind, ws="none", lifespan="off", log_config=None)
        protocol = self.kind(config, self.state, {}, _loop=self.loop)  # type: ignore[arg-type]
        wire = Wire()
        protocol.connection_made(wire)
        for data in sent:
            protocol.data_received(data)
        return protocol, wire


async def _nothing(scope: Any, receive: Any, send: Any) -> None: ...


@pytest.mark.parametrize("sent", [[], [HALF], [HALF[:5], HALF[5:9], HALF[9:]]])
def test_headers_must_be_whole_in_time_however_they_drip(sent: list[bytes]) -> None:
    line = Line()
    protocol, wire = line.connect(*sent)
    line.loop.after(9)
    assert not wire.ended
    protocol.data_received(b"x")
    line.loop.after(10)
    assert wire.ended == "closed"


def test_whole_headers_end_that_limit() -> None:
    line = Line()
    _, wire = line.connect(HALF, b"Length: 3\r\n\r\n")
    line.loop.after(10_000)
    assert not wire.ended


def respond(protocol: BoundedProtocol) -> None:
    """What uvicorn does at the end of an answer."""
    protocol.cycle.response_complete = True
    protocol.on_response_complete()


def test_after_an_answer_the_next_request_must_come_whole() -> None:
    line = Line()
    protocol, wire = line.connect(GET)
    respond(protocol)
    protocol.data_received(HALF)
    assert not wire.ended
    line.loop.after(10)
    assert wire.ended == "closed"


def test_a_body_that_nobody_reads_cannot_drip_for_ever() -> None:
    line = Line()
    protocol, wire = line.connect(WHOLE)
    respond(protocol)
    for _ in range(3):
        protocol.data_received(b"x")
    line.loop.after(10)
    assert wire.ended == "closed"


def test_a_client_that_takes_nothing_of_its_answer_is_cut_off() -> None:
    line = Line()
    protocol, wire = line.connect(GET)
    wire.unsent = 1000
    protocol.pause_writing()
    wire.unsent = 900
    line.loop.after(60)
    assert not wire.ended, "it takes little, but something"
    line.loop.after(60)
    assert wire.ended == "aborted"


def test_a_client_that_takes_its_answer_is_left_alone() -> None:
    line = Line()
    protocol, wire = line.connect(GET)
    wire.unsent = 1000
    protocol.pause_writing()
    protocol.resume_writing()
    line.loop.after(60)
    assert not wire.ended


def test_too_many_connections_cost_the_oldest_that_ask_for_nothing() -> None:
    line = Line()
    _, reading = line.connect(GET)
    dripping = [line.connect(WHOLE)[1] for _ in range(2)]
    half = [line.connect(HALF)[1] for _ in range(FEWEST - 3)]
    assert not any(wire.ended for wire in (reading, *dripping, *half))
    new = [line.connect(HALF)[1] for _ in range(2)]
    assert [wire.ended for wire in half[:3]] == ["aborted", "aborted", ""]
    whole = [line.connect(GET)[1] for _ in range(FEWEST - 3)]
    assert all(wire.ended for wire in (*half, *new)) and not any(wire.ended for wire in dripping)
    whole.append(line.connect(GET)[1])
    assert [wire.ended for wire in dripping] == ["aborted", ""], "then the oldest with half a body"
    line.connect(GET)
    _, last = line.connect(GET)
    assert last.ended == "closed" and not any(wire.ended for wire in (reading, *whole))


def test_places_come_back() -> None:
    line = Line()
    protocols = [line.connect(GET)[0] for _ in range(FEWEST)]
    protocols[0].connection_lost(None)
    assert not line.connect(GET)[1].ended


def test_no_more_connections_than_the_system_has_files() -> None:
    assert most_connections(Bounds(connections=20)) == 20
    assert FEWEST <= most_connections(Bounds(connections=10**9)) <= 10**9


def reach(url: str, sent: bytes) -> socket.socket:
    host, port = urlsplit(url).netloc.split(":")
    opened = socket.create_connection((host, int(port)), timeout=120)
    opened.sendall(sent)
    return opened


def test_half_headers_are_closed_for_real() -> None:
    with in_thread(fake_models(found=True), Bounds(header_seconds=0.2)) as url, reach(url, HALF) as half:
        assert half.recv(1) == b""


def test_clients_that_drip_keep_nobody_waiting() -> None:
    pixels = make_page(3).pixels
    assert pixels is not None
    with in_thread(fake_models(found=True), Bounds(waiting=0, connections=40)) as url:
        dripping = [reach(url, WHOLE) for _ in range(8)]
        half = [reach(url, HALF) for _ in range(50)]
        assert [ask(f"{url}/v1/read", png(pixels))[0] for _ in range(3)] == [200] * 3
        for opened in (*dripping, *half):
            opened.close()


def test_a_slow_upload_is_read_all_the_same() -> None:
    pixels = make_page(3).pixels
    assert pixels is not None
    body = png(pixels)
    head = f"POST /v1/read?format=txt HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with in_thread(fake_models(found=True)) as url, reach(url, head) as slow:
        pause = threading.Event()
        for start in range(0, len(body), 400):
            slow.sendall(body[start : start + 400])
            pause.wait(0.001)
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
